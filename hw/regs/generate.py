# SPDX-License-Identifier: Apache-2.0
"""Generates the register block of the switch: `python hw/regs/generate.py FOLDER` writes it there."""

import sys
import tempfile
from pathlib import Path

from peakrdl_regblock import RegblockExporter
from peakrdl_regblock.cpuif.axi4lite import AXI4Lite_Cpuif_flattened
from peakrdl_regblock.udps import ALL_UDPS
from systemrdl import RDLCompiler
from systemrdl.node import AddrmapNode

SOURCE = Path(__file__).resolve().parent / "pen_switch.rdl"
MODULE = "pen_switch_regs"
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


def _take_whole_words(module: Path) -> None:
    """Ignores the byte strobes, as AXI4-Lite allows: they cost a multiplexer for every bit of every register."""
    strobe, text = "{8{axil_wstrb[i]}}", module.read_text()
    if text.count(strobe) != 1:
        raise RuntimeError(f"{module.name}: the exporter no longer writes {strobe}; adapt {Path(__file__).name}")
    module.write_text(text.replace(strobe, "'1"))


def generate_regblock(out: Path, source: Path = SOURCE) -> list[Path]:
    """Writes package, module and lint waivers into `out` and returns them in the order in which they are compiled.

    Files that would not change are left alone, so that builds that depend on them stay fresh.
    """
    out.mkdir(parents=True, exist_ok=True)
    names = [f"{MODULE}.vlt", f"{MODULE}_pkg.sv", f"{MODULE}.sv"]
    with tempfile.TemporaryDirectory(dir=out) as folder:
        fresh = Path(folder)
        RegblockExporter().export(
            compile_registers(source),
            str(fresh),
            cpuif_cls=AXI4Lite_Cpuif_flattened,
            module_name=MODULE,
            package_name=f"{MODULE}_pkg",
            address_width=16,
            err_if_bad_addr=True,
            retime_read_fanin=True,  # a group of registers in one cycle, one of the groups in the next
            retime_read_response=True,  # the answer is chosen in one cycle and leaves in the next
        )
        _take_whole_words(fresh / names[2])
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
