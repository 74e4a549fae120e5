# SPDX-License-Identifier: Apache-2.0
"""Generates what hardware knows of registers: `python hw/regs/generate.py FOLDER` writes that of all products there.

That is a package with their addresses. The registers of switch and network card stand in a memory: their packages have
functions for which there are, which bits are kept and what they are after reset. Those of the mailbox are flip-flops of
a register block.
"""

import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from peakrdl_regblock import RegblockExporter
from peakrdl_regblock.cpuif.passthrough import PassthroughCpuif
from peakrdl_regblock.udps import ALL_UDPS
from systemrdl import RDLCompiler
from systemrdl.node import AddressableNode, AddrmapNode, RegNode

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


def _addresses(top: AddrmapNode) -> list[str]:
    """The address of each register, of an array that of its first."""
    return [
        f"  localparam logic [15:0] REG_{node.inst_name.upper()} = 16'h{node.raw_address_offset:04X};"
        for node in top.children()
        if isinstance(node, AddressableNode)
    ]


def _function(name: str, width: int, values: Mapping[int, int]) -> list[str]:
    """A function of an address: these values of so many bits, zero elsewhere; by pages, so that it is shallow logic."""
    pages: dict[int, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for address, value in values.items():
        if value:
            pages[address >> 8][value].append(f"8'h{address & 0xFF:02X}")
    digits = width // 4 or 1
    none = f"default: return {width}'h{0:0{digits}X};"
    lines = [
        f"  function automatic logic [{width - 1}:0] {name}(input logic [15:0] address);",
        "    case (address[15:8])",
    ]
    for page, places in pages.items():
        lines += [f"      8'h{page:02X}:", "        case (address[7:0])"]
        for value, at in places.items():
            lines.append(f"          {', '.join(at)}:\n            return {width}'h{value:0{digits}X};")
        lines += [f"          {none}", "        endcase"]
    return [*lines, f"      {none}", "    endcase", "  endfunction"]


def _kept(top: AddrmapNode) -> list[str]:
    """What a memory that keeps the registers needs to know of them; units have what is external."""
    exists: dict[int, int] = {}
    mask: dict[int, int] = {}
    reset: dict[int, int] = {}
    blocks = []
    for node in top.children(unroll=True):
        if not isinstance(node, RegNode):
            if isinstance(node, AddressableNode):
                blocks.append((node.absolute_address, node.absolute_address + node.total_size - 1))
            continue
        exists[node.absolute_address] = 1
        if node.external:
            continue
        fields = list(node.fields())
        written = [field for field in fields if field.is_sw_writable]
        known = [(field.get_property("reset"), field.low) for field in fields]
        mask[node.absolute_address] = sum((1 << field.width) - 1 << field.low for field in written)
        reset[node.absolute_address] = sum(value << low for value, low in known if isinstance(value, int))
    of_blocks = " || ".join(f"address inside {{[16'h{low:04X}:16'h{high:04X}]}}" for low, high in blocks)
    return [
        *_function("is_register", 1, exists),
        "  function automatic logic is_of_block(input logic [15:0] address);",
        f"    return {of_blocks};",
        "  endfunction",
        *_function("kept_bits", 32, mask),
        *_function("reset_value", 32, reset),
    ]


def _package(name: str, lines: list[str]) -> str:
    return "\n".join(
        [
            f"package {name};",
            "  // verilator lint_off UNUSEDPARAM",
            *lines,
            "  // verilator lint_on UNUSEDPARAM",
            "endpackage",
            "",
        ]
    )


def generate_regblock(out: Path, source: Path = SOURCE) -> list[Path]:
    """Writes package, module and lint waivers into `out` and returns them in the order in which they are compiled.

    They have the name of the source; of switch and card there is the package alone. Files that would not change are
    left alone, so that builds that depend on them stay fresh.
    """
    out.mkdir(parents=True, exist_ok=True)
    module, addresses = f"{source.stem}_regs", f"{source.stem}_map_pkg"
    top = compile_registers(source)
    with tempfile.TemporaryDirectory(dir=out) as folder:
        fresh = Path(folder)
        if source.name in (SOURCE.name, CARD.name):
            names = [f"{addresses}.sv"]
            (fresh / names[0]).write_text(_package(addresses, [*_addresses(top), *_kept(top)]))
        else:
            names = [f"{module}.vlt", f"{addresses}.sv", f"{module}_pkg.sv", f"{module}.sv"]
            (fresh / names[1]).write_text(_package(addresses, _addresses(top)))
            (fresh / names[0]).write_text(WAIVERS.format(module=module))
            _export(top, module, fresh)
        for name in names:
            target = out / name
            if not target.exists() or target.read_bytes() != (fresh / name).read_bytes():
                (fresh / name).replace(target)
    return [out / name for name in names]


def _export(top: AddrmapNode, module: str, out: Path) -> None:
    """The register block and its package."""
    RegblockExporter().export(
        top,
        str(out),
        cpuif_cls=PassthroughCpuif,
        module_name=module,
        package_name=f"{module}_pkg",
        address_width=16,
        err_if_bad_addr=True,
        retime_read_fanin=True,  # a group of registers in one cycle, one of the groups in the next
        retime_read_response=True,  # the answer is chosen in one cycle and leaves in the next
    )
    path = out / f"{module}.sv"
    block = path.read_text()
    if block.count(KEPT_ADDRESS) != 1:
        raise ValueError(f"{module}: the way of the address to what is read is not as expected: {KEPT_ADDRESS}")
    path.write_text(block.replace(KEPT_ADDRESS, HELD_ADDRESS))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: generate.py FOLDER")
    for source in (SOURCE, MAILBOX, CARD):
        for path in generate_regblock(Path(sys.argv[1]), source):
            print(path)
