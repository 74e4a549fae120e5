# SPDX-License-Identifier: Apache-2.0
"""Generates register block and addresses of the switch: `python hw/regs/generate.py FOLDER` writes them there."""

import sys
import tempfile
from pathlib import Path

from peakrdl_regblock import RegblockExporter
from peakrdl_regblock.cpuif.passthrough import PassthroughCpuif
from peakrdl_regblock.udps import ALL_UDPS
from systemrdl import RDLCompiler
from systemrdl.node import AddressableNode, AddrmapNode

SOURCE = Path(__file__).resolve().parent / "pen_switch.rdl"
MODULE = "pen_switch_regs"
ADDRESSES = "pen_switch_map_pkg"
WAIVERS = f"""\
`verilator_config
lint_off -file "*{MODULE}*.sv"
lint_off -rule MULTIDRIVEN -file "*{MODULE}*.sv"
"""


def compile_registers(source: Path = SOURCE) -> AddrmapNode:
    """The elaborated address map; raises RDLCompileError if the source is wrong."""
    compiler = RDLCompiler()
    for property_of_exporter in ALL_UDPS:
        compiler.register_udp(property_of_exporter)
    compiler.compile_file(str(source))
    return compiler.elaborate().top


def _addresses(top: AddrmapNode) -> str:
    """A package with the address of each register, of an array that of its first."""
    names = [
        f"  localparam logic [15:0] REG_{node.inst_name.upper()} = 16'h{node.raw_address_offset:04X};"
        for node in top.children()
        if isinstance(node, AddressableNode)
    ]
    lines = [
        f"package {ADDRESSES};",
        "  // verilator lint_off UNUSEDPARAM",
        *names,
        "  // verilator lint_on UNUSEDPARAM",
        "endpackage",
    ]
    return "\n".join(lines) + "\n"


def generate_regblock(out: Path, source: Path = SOURCE) -> list[Path]:
    """Writes package, module and lint waivers into `out` and returns them in the order in which they are compiled.

    Files that would not change are left alone, so that builds that depend on them stay fresh.
    """
    out.mkdir(parents=True, exist_ok=True)
    names = [f"{MODULE}.vlt", f"{ADDRESSES}.sv", f"{MODULE}_pkg.sv", f"{MODULE}.sv"]
    with tempfile.TemporaryDirectory(dir=out) as folder:
        fresh = Path(folder)
        top = compile_registers(source)
        RegblockExporter().export(
            top,
            str(fresh),
            cpuif_cls=PassthroughCpuif,
            module_name=MODULE,
            package_name=f"{MODULE}_pkg",
            address_width=16,
            err_if_bad_addr=True,
            retime_read_fanin=True,  # a group of registers in one cycle, one of the groups in the next
            retime_read_response=True,  # the answer is chosen in one cycle and leaves in the next
        )
        (fresh / names[1]).write_text(_addresses(top))
        (fresh / names[0]).write_text(WAIVERS)
        for name in names:
            target = out / name
            if not target.exists() or target.read_bytes() != (fresh / name).read_bytes():
                (fresh / name).replace(target)
    return [out / name for name in names]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: generate.py FOLDER")
    for path in generate_regblock(Path(sys.argv[1])):
        print(path)
