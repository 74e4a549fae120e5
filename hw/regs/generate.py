# SPDX-License-Identifier: Apache-2.0
"""Generates register blocks and addresses: `python hw/regs/generate.py FOLDER` writes those of all products there."""

import sys
import tempfile
from pathlib import Path

from peakrdl_regblock import RegblockExporter
from peakrdl_regblock.cpuif.passthrough import PassthroughCpuif
from peakrdl_regblock.udps import ALL_UDPS
from systemrdl import RDLCompiler
from systemrdl.node import AddressableNode, AddrmapNode

FOLDER = Path(__file__).resolve().parent
SOURCE = FOLDER / "pen_switch.rdl"
CARD = FOLDER / "pen_nic.rdl"
MAILBOX = FOLDER / "pen_host_mailbox.rdl"
# The block has a register for the address of a read that a unit answers; whoever asks holds it until the answer.
KEPT_ADDRESS = "assign rd_mux_addr = decoded_req ? decoded_addr : pending_rd_addr;"
HELD_ADDRESS = "assign rd_mux_addr = decoded_addr;"
WAIVERS = """\
`verilator_config
lint_off -file "*{module}*.sv"
lint_off -rule MULTIDRIVEN -file "*{module}*.sv"
"""


def compile_registers(source: Path = SOURCE) -> AddrmapNode:
    """The elaborated address map; raises RDLCompileError if the source is wrong."""
    compiler = RDLCompiler()
    for property_of_exporter in ALL_UDPS:
        compiler.register_udp(property_of_exporter)
    compiler.compile_file(str(source))
    return compiler.elaborate().top


def _addresses(top: AddrmapNode, package: str) -> str:
    """A package with the address of each register, of an array that of its first."""
    names = [
        f"  localparam logic [15:0] REG_{node.inst_name.upper()} = 16'h{node.raw_address_offset:04X};"
        for node in top.children()
        if isinstance(node, AddressableNode)
    ]
    lines = [
        f"package {package};",
        "  // verilator lint_off UNUSEDPARAM",
        *names,
        "  // verilator lint_on UNUSEDPARAM",
        "endpackage",
    ]
    return "\n".join(lines) + "\n"


def generate_regblock(out: Path, source: Path = SOURCE) -> list[Path]:
    """Writes package, module and lint waivers into `out` and returns them in the order in which they are compiled.

    They have the name of the source. Files that would not change are left alone, so that builds that depend on them
    stay fresh.
    """
    out.mkdir(parents=True, exist_ok=True)
    module, addresses = f"{source.stem}_regs", f"{source.stem}_map_pkg"
    names = [f"{module}.vlt", f"{addresses}.sv", f"{module}_pkg.sv", f"{module}.sv"]
    with tempfile.TemporaryDirectory(dir=out) as folder:
        fresh = Path(folder)
        top = compile_registers(source)
        RegblockExporter().export(
            top,
            str(fresh),
            cpuif_cls=PassthroughCpuif,
            module_name=module,
            package_name=f"{module}_pkg",
            address_width=16,
            err_if_bad_addr=True,
            retime_read_fanin=True,  # a group of registers in one cycle, one of the groups in the next
            retime_read_response=True,  # the answer is chosen in one cycle and leaves in the next
        )
        (fresh / names[1]).write_text(_addresses(top, addresses))
        (fresh / names[0]).write_text(WAIVERS.format(module=module))
        block = (fresh / names[3]).read_text()
        if block.count(KEPT_ADDRESS) != 1:
            raise ValueError(f"{module}: the way of the address to what is read is not as expected: {KEPT_ADDRESS}")
        (fresh / names[3]).write_text(block.replace(KEPT_ADDRESS, HELD_ADDRESS))
        for name in names:
            target = out / name
            if not target.exists() or target.read_bytes() != (fresh / name).read_bytes():
                (fresh / name).replace(target)
    return [out / name for name in names]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: generate.py FOLDER")
    for source in (SOURCE, MAILBOX, CARD):
        for path in generate_regblock(Path(sys.argv[1]), source):
            print(path)
