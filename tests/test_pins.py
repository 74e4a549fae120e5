# SPDX-License-Identifier: Apache-2.0
"""A netlist between two pins: every input hangs on the chain, every output is seen at its end."""

import random
from typing import Any

from penstock.hardware.pins import put_between_pins
from penstock.hardware.place import place

CLOCK, OTHER_CLOCK, INPUTS, OUTPUTS = 2, 3, [4, 5, 6], [7, 8]


def inverter(output: int, source: int) -> dict[str, Any]:
    return {
        "type": "LUT4",
        "parameters": {"INIT": "01" * 8},
        "port_directions": {"A": "input", "B": "input", "C": "input", "D": "input", "Z": "output"},
        "connections": {"A": [source], "B": ["0"], "C": ["0"], "D": ["0"], "Z": [output]},
    }


def module() -> dict[str, Any]:
    return {
        "ports": {
            "clk_i": {"direction": "input", "bits": [CLOCK]},
            "rx_clk_i": {"direction": "input", "bits": [OTHER_CLOCK]},
            "a_i": {"direction": "input", "bits": INPUTS},
            "b_o": {"direction": "output", "bits": ["0", *OUTPUTS]},
        },
        "cells": {"first": inverter(OUTPUTS[0], INPUTS[0]), "second": inverter(OUTPUTS[1], INPUTS[2])},
        "netnames": {},
    }


def played(netlist: dict[str, Any], bits: list[int]) -> list[tuple[dict[int, int], int]]:
    """All wires and the serial output, cycle by cycle; flip-flops are 0 at first."""
    cells = netlist["cells"].values()
    flops = [cell["connections"] for cell in cells if cell["type"] == "TRELLIS_FF"]
    lookups = [cell for cell in cells if cell["type"] == "LUT4"]
    assert all(flop["CLK"] == [CLOCK] for flop in flops)
    driven = [flop["Q"][0] for flop in flops] + [cell["connections"]["Z"][0] for cell in lookups]
    assert len(driven) == len(set(driven))
    wires = dict.fromkeys(driven, 0)
    cycles = []
    for bit in bits:
        wires[netlist["ports"]["serial_i"]["bits"][0]] = bit
        for _ in lookups:  # as deep as they may be
            for cell in lookups:
                index = sum(
                    wires.get(cell["connections"][port][0], 0) << position for position, port in enumerate("ABCD")
                )
                wires[cell["connections"]["Z"][0]] = int(cell["parameters"]["INIT"][15 - index])
        cycles.append((dict(wires), wires[netlist["ports"]["serial_o"]["bits"][0]]))
        wires.update({flop["Q"][0]: cycles[-1][0][flop["DI"][0]] for flop in flops})
    return cycles


def test_inputs_come_from_the_chain_and_outputs_are_added_to_it() -> None:
    netlist = module()
    put_between_pins(netlist)
    assert list(netlist["ports"]) == ["clk_i", "rx_clk_i", "serial_i", "serial_o"]
    bits = random.Random(7).choices((0, 1), k=200)
    cycles = played(netlist, bits)
    # One flip-flop behind the pin, then for each input one of the chain and its own; at an output its own and one of
    # the chain.
    for position, wire in enumerate(INPUTS):
        assert [wires[wire] for wires, _ in cycles[10:]] == bits[10 - 3 - position : 200 - 3 - position]
    for cycle in range(10, 200):
        first, second = (cycles[cycle - back][0][wire] for wire, back in zip(OUTPUTS, (3, 2), strict=True))
        assert cycles[cycle][1] == bits[cycle - 6] ^ first ^ second


def test_a_module_is_placed_between_its_pins() -> None:
    placed = place("pen_timer")
    assert placed.clock_mhz > 100
    # 72 flip-flops of its own, all of which are outputs; at each output and at the reset two, and one behind the pin.
    assert placed.used["FF"][0] == 72 + 2 * (72 + 1) + 1
