# SPDX-License-Identifier: Apache-2.0
"""What nextpnr makes too much of in a netlist of Yosys: ends of carry chains, wires that thousands of cells read."""

from collections import defaultdict
from copy import deepcopy
from typing import Any

Netlist = dict[str, Any]  # in the form that Yosys writes as JSON

OPEN = "x"  # no wire
MOST_READERS = 100


def open_carry_ends(module: Netlist) -> None:
    """Takes the wires from both ends of each carry chain: nextpnr adds a cell for every one that it finds there.

    A chain may begin open if its first half carries what it has itself, as hw/synth/ecp5_sum.v makes it.
    """
    cells = module["cells"].values()
    read = {bit for port in module["ports"].values() for bit in port["bits"]}
    for cell in cells:
        directions = cell["port_directions"]
        read.update(bit for port, bits in cell["connections"].items() if directions[port] != "output" for bit in bits)
    for cell in cells:
        if cell["type"] != "CCU2C":
            continue
        wires = cell["connections"]
        if wires["CIN"] == ["0"] and wires["A0"] == wires["B0"] and wires["C0"] == ["0"]:
            wires["CIN"] = [OPEN]
        if not read.intersection(wires["COUT"]):
            wires["COUT"] = [OPEN]


def copy_wide_drivers(module: Netlist, most: int = MOST_READERS) -> None:
    """Flip-flops that more than so many inputs read get copies, each for inputs of cells that have names alike.

    When nextpnr needs one place of a wire for another, it takes away all of it. So a reset that goes to thousands of
    cells is laid again and again, and the router may come to no end. Clocks have wires of their own.
    """
    cells = module["cells"]
    readers = defaultdict(list)
    last = 0
    for _, cell in sorted(cells.items()):
        for port, bits in cell["connections"].items():
            last = max(last, *(bit for bit in bits if isinstance(bit, int)), 0)
            if cell["port_directions"][port] != "output":
                for index, bit in enumerate(bits):
                    readers[bit].append((bits, index))
    for name, cell in [(name, cell) for name, cell in cells.items() if cell["type"] == "TRELLIS_FF"]:
        read = readers[cell["connections"]["Q"][0]]
        drivers = -(-len(read) // most)
        for number in range(1, drivers):
            last += 1
            copy = deepcopy(cell)
            copy["connections"]["Q"] = [last]
            cells[f"{name}${number}"] = copy
            module["netnames"][f"{name}${number}"] = {"hide_name": 1, "bits": [last], "attributes": {}}
            for bits, index in read[number * len(read) // drivers : (number + 1) * len(read) // drivers]:
                bits[index] = last
