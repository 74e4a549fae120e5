# SPDX-License-Identifier: Apache-2.0
"""A netlist for the ECP5 between two pins and its clocks, so that it is placed as in a device.

A module has more ports than a device has pins. Placed without pins, its clocks would not get the device's clock trees,
and nothing would hold its cells apart. So its inputs come from a chain of flip-flops behind one pin, and its outputs go
into that chain before another pin. Each port has a register of its own beside it. The two pins are neighbours, as
a chain from one edge of the device to another would pull the module apart.
"""

from typing import Any

from penstock.hardware.netlist import Netlist

SERIAL_IN, SERIAL_OUT = "serial_i", "serial_o"
# For nextpnr, of the package CABGA381.
CONSTRAINTS = "".join(
    f'LOCATE COMP "{name}" SITE "{site}";\n' for name, site in ((SERIAL_IN, "N19"), (SERIAL_OUT, "N20"))
)


def put_between_pins(module: Netlist) -> None:
    """Leaves the module its clocks as ports, all named `..clk_i`, and two serial pins of the clock `clk_i`."""
    chain = _Chain(module)
    ports = module["ports"]
    module["ports"] = {name: port for name, port in ports.items() if name.endswith("clk_i")}
    pin = chain.wire(SERIAL_IN)
    module["ports"][SERIAL_IN] = {"direction": "input", "bits": [pin]}
    chain.end = chain.flip_flop("chain$begin", pin)
    for name, port in ports.items():
        if name in module["ports"]:
            continue
        for index, bit in enumerate(port["bits"]):
            if not isinstance(bit, int):  # a constant
                continue
            if port["direction"] == "input":
                chain.feed(f"{name}${index}", bit)
            else:
                chain.collect(f"{name}${index}", bit)
    module["ports"][SERIAL_OUT] = {"direction": "output", "bits": [chain.end]}


class _Chain:
    """Flip-flops of one module, one after the other."""

    end: int  # the output of the last one

    def __init__(self, module: Netlist) -> None:
        self.module = module
        self.clock = module["ports"]["clk_i"]["bits"][0]
        bits = [bit for cell in module["cells"].values() for wires in cell["connections"].values() for bit in wires]
        bits += [bit for port in module["ports"].values() for bit in port["bits"]]
        self.fresh = max(bit for bit in bits if isinstance(bit, int)) + 1

    def feed(self, name: str, to: int) -> None:
        """An input has what the chain had two cycles ago."""
        self.end = self.flip_flop(f"chain${name}", self.end)
        self.flip_flop(f"port${name}", self.end, to)

    def collect(self, name: str, bit: int) -> None:
        """An output, in the cycle after it, is added to what is in the chain."""
        registered = self.flip_flop(f"port${name}", bit)
        added = self.wire(f"added${name}")
        either = {"INIT": "0110" * 4}  # of A and B
        inputs = {"A": self.end, "B": registered, "C": "0", "D": "0"}
        self._cell(f"added${name}", "LUT4", either, inputs, "Z", added)
        self.end = self.flip_flop(f"chain${name}", added)

    def flip_flop(self, name: str, source: int, to: int | None = None) -> int:
        """Gives its output: `to`, or a new wire."""
        output = self.wire(name) if to is None else to
        modes = {"GSR": "DISABLED", "CEMUX": "1 ", "CLKMUX": "CLK", "LSRMUX": "LSR", "REGSET": "RESET"}
        self._cell(name, "TRELLIS_FF", modes, {"CLK": self.clock, "DI": source}, "Q", output)
        return output

    def wire(self, name: str) -> int:
        wire, self.fresh = self.fresh, self.fresh + 1
        self.module["netnames"][name] = {"hide_name": 1, "bits": [wire], "attributes": {}}
        return wire

    def _cell(
        self, name: str, kind: str, parameters: dict[str, str], inputs: dict[str, Any], output: str, to: int
    ) -> None:
        self.module["cells"][name] = {
            "hide_name": 0,
            "type": kind,
            "parameters": parameters,
            "attributes": {},
            "port_directions": {**dict.fromkeys(inputs, "input"), output: "output"},
            "connections": {**{port: [bit] for port, bit in inputs.items()}, output: [to]},
        }
