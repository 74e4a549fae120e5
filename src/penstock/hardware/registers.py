# SPDX-License-Identifier: Apache-2.0
"""The registers of the switch, read from the SystemRDL source that the hardware is made from."""

from __future__ import annotations

import hashlib
import importlib.util
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.hardware.tools import cache_folder, card_rtl_files, hardware_folder, locked, required, rtl_files

if TYPE_CHECKING:  # the register compiler is there for who has the extra hw
    from systemrdl.node import AddrmapNode, FieldNode, Node, RegfileNode, RegNode

BUS_BYTES = 4
MAILBOX = "pen_host_mailbox"
MAILBOX_BASE = 0x8000  # on boards, whose bus has it beside the switch
# What the generated register block depends on beside its sources.
_EXPORTERS = ("peakrdl-regblock", "systemrdl-compiler")


@dataclass(frozen=True)
class Field:
    name: str
    low: int
    width: int
    reset: int | None  # None: it has no value of its own
    access: str  # "r", "rw" or "w"
    description: str

    def insert(self, value: int) -> int:
        """The value at its place in the register."""
        if not 0 <= value < 1 << self.width:
            raise ValueError(f"{self.name}: {value} does not fit {self.width} bits")
        return value << self.low

    def extract(self, register: int) -> int:
        return register >> self.low & (1 << self.width) - 1


@dataclass(frozen=True)
class Register:
    name: str  # with its indices, such as "port_vlan[3]"
    address: int
    bits: int  # 32, or 64: two words, low one first
    fields: Mapping[str, Field]
    description: str

    @property
    def words(self) -> tuple[int, ...]:
        """The addresses of its words."""
        return tuple(range(self.address, self.address + self.bits // 8, BUS_BYTES))

    def pack(self, **values: int) -> int:
        """The register with these fields and all others as after reset."""
        unknown = values.keys() - self.fields.keys()
        if unknown:
            raise KeyError(f"{self.name} has no field {', '.join(sorted(unknown))}; it has {', '.join(self.fields)}")
        return sum(field.insert(values.get(name, field.reset or 0)) for name, field in self.fields.items())


class RegisterMap(Mapping[str, Register]):
    """All registers by name: `registers["port_vlan[3]"].address`."""

    def __init__(self, members: list[Register]) -> None:
        self._registers = {register.name: register for register in members}

    def __getitem__(self, name: str) -> Register:
        return self._registers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._registers)

    def __len__(self) -> int:
        return len(self._registers)

    def address(self, name: str) -> int:
        return self[name].address

    def write(self, name: str, **values: int) -> tuple[int, int]:
        """Address and value that set these fields."""
        return self[name].address, self[name].pack(**values)


@cache
def _generator() -> Any:
    # The generator stands with the hardware, so that the hardware can be used without this package.
    for package in ("systemrdl", "peakrdl_regblock"):
        required(package)
    spec = importlib.util.spec_from_file_location("penstock_hw_regs", hardware_folder() / "regs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def _top(product: str = "pen_switch") -> AddrmapNode:
    top: AddrmapNode = _generator().compile_registers(hardware_folder() / "regs" / f"{product}.rdl")
    return top


def _text(node: Node) -> str:
    return re.sub(r"\s+", " ", node.get_property("desc") or "").strip()


def _field(node: FieldNode) -> Field:
    reset = node.get_property("reset")
    access = ("r" if node.is_sw_readable else "") + ("w" if node.is_sw_writable else "")
    return Field(node.inst_name, node.low, node.width, reset if isinstance(reset, int) else None, access, _text(node))


def _registers(node: AddrmapNode | RegfileNode, prefix: str, base: int = 0) -> Iterator[Register]:
    """Of a memory, its first word."""
    from systemrdl.node import AddrmapNode, MemNode, RegfileNode, RegNode

    for child in node.children(unroll=True):
        name = prefix + child.get_path_segment()
        if isinstance(child, RegNode):
            address, width = base + child.absolute_address, child.get_property("regwidth")
            fields = {field.inst_name: _field(field) for field in child.fields()}
            yield Register(name, address, width, fields, _text(child))
        elif isinstance(child, MemNode):
            yield Register(name, base + child.absolute_address, child.get_property("memwidth"), {}, _text(child))
        elif isinstance(child, (AddrmapNode, RegfileNode)):
            yield from _registers(child, name + ".", base)


@cache
def registers() -> RegisterMap:
    """The register map of the switch."""
    return RegisterMap(list(_registers(_top(), "")))


@cache
def mailbox_registers() -> RegisterMap:
    """Those of the host port's mailbox, where a board has it."""
    return RegisterMap(list(_registers(_top(MAILBOX), "mailbox.", MAILBOX_BASE)))


def generate_regblock(out: Path, product: str = "pen_switch") -> list[Path]:
    """Writes the generated register block into `out`: lint waivers, package and module, in the order of compilation."""
    files: list[Path] = _generator().generate_regblock(out, hardware_folder() / "regs" / f"{product}.rdl")
    return files


def switch_files() -> list[Path]:
    """All of the switch, in the order of compilation: the generated register blocks, then hw/rtl/files.f."""
    return [*_generated("pen_switch"), *_generated(MAILBOX), *rtl_files()]


def card_files() -> list[Path]:
    """The network card with all that it has of the switch, in the order of compilation."""
    return [*switch_files(), *_generated("pen_nic"), *card_rtl_files()]


def files_of(top: str) -> list[Path]:
    """What a top and all that is in it is made of, in the order of compilation."""
    return card_files() if top == "pen_nic" else switch_files()


def _generated(product: str) -> list[Path]:
    source = hardware_folder() / "regs"
    _generator()
    digest = hashlib.sha256((source / "generate.py").read_bytes())
    for path in (source / f"{product}.rdl", *sorted(source.glob("pen_shaping*.rdl"))):
        digest.update(path.read_bytes())
    digest.update(" ".join(map(version, _EXPORTERS)).encode())
    folder = regblock_folder() / digest.hexdigest()[:16]
    order = folder / "files.f"  # written last: with it, all is there
    with locked(folder.with_suffix(".lock")):
        if not order.exists():
            fresh = folder / "files.tmp"
            fresh.write_text("\n".join(path.name for path in generate_regblock(folder, product)))
            fresh.replace(order)
        return [folder / name for name in order.read_text().split()]


def regblock_folder() -> Path:
    """Where all generated register blocks are."""
    return cache_folder() / "registers"


def write_c_header(path: Path) -> None:
    """Writes the C header for drivers."""
    required("peakrdl_cheader")
    from peakrdl_cheader.exporter import CHeaderExporter

    path.parent.mkdir(parents=True, exist_ok=True)
    CHeaderExporter().export(_top(), str(path), reuse_typedefs=False)
    path.write_text("// SPDX-License-Identifier: Apache-2.0\n" + path.read_text())


def _dimensions(node: RegNode | RegfileNode) -> str:
    return "".join(f"[{n}]" for n in node.array_dimensions or ())


def _rows(node: AddrmapNode | RegfileNode, base: int) -> Iterator[str]:
    from systemrdl.node import MemNode, RegNode

    for child in node.children():
        if isinstance(child, MemNode):
            offset, size = child.raw_address_offset + base, child.get_property("mementries")
            yield f"| `{offset:#06x}` + 4·n | `{child.inst_name}[{size}]` | 31:0 | | rw | | {_text(child)} |"
        if not isinstance(child, RegNode):
            continue
        fields = sorted((_field(field) for field in child.fields()), key=lambda field: field.low)
        offset = child.raw_address_offset + base
        step = f" + {child.array_stride}·n" if child.is_array else ""
        for first, field in zip([True] + [False] * len(fields), fields, strict=False):
            bits = f"{field.low}" if field.width == 1 else f"{field.low + field.width - 1}:{field.low}"
            reset = "" if field.reset is None else f"{field.reset:#x}" if field.width > 16 else f"{field.reset}"
            name = f"`{child.inst_name}{_dimensions(child)}`" if first else ""
            where = f"`{offset:#06x}`{step}" if first else ""
            text = f"{_text(child)} {field.description}" if first else field.description
            cells = [where, name, bits, f"`{field.name}`", field.access, reset, text]
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


HEAD = "| address | register | bits | field | access | after reset | what it is |\n|---|---|---|---|---|---|---|"


def documentation() -> str:
    """The register documentation in Markdown."""
    top = _top()
    from systemrdl.node import RegfileNode

    parts = [
        "# Registers of the switch",
        "Generated by `penstock hw docs` from `hw/regs/pen_switch.rdl`, the mailbox from "
        "`hw/regs/pen_host_mailbox.rdl`; the C header `hw/regs/pen_switch.h` comes from the first of them.",
        _text(top),
        HEAD + "\n" + "\n".join(_rows(top, 0)),
    ]
    for block in top.children():
        if not isinstance(block, RegfileNode):
            continue
        if rows := list(_rows(block, block.raw_address_offset)):
            parts += [f"## `{block.inst_name}`", _text(block), HEAD + "\n" + "\n".join(rows)]
        for child in block.children():
            if not isinstance(child, RegfileNode):
                continue
            title = f"## `{block.inst_name}.{child.inst_name}{_dimensions(child)}`"
            start = block.raw_address_offset + child.raw_address_offset
            where = f"At `{start:#06x}` + `{child.array_stride:#x}`·port. {_text(block)} {_text(child)}"
            parts += [title, where, HEAD + "\n" + "\n".join(_rows(child, 0))]
    mailbox = _top(MAILBOX)
    where = f"On a board, at `{MAILBOX_BASE:#06x}`: [frames of the host port](board.md#frames-over-a-serial-line)."
    parts += [
        "## `mailbox`",
        f"{where} {_text(mailbox)}",
        HEAD + "\n" + "\n".join(_rows(mailbox, MAILBOX_BASE)),
        TABLES,
    ]
    return "\n\n".join(parts) + "\n"


TABLES = """\
## Tables

A table entry is written to `table_data` (lowest word first) and `table_index`; then a write of the table's number to
`table_commit` puts it into the table in one cycle. That write is answered when the entry acts. `penstock` places the
entries of hashed tables itself (`penstock.hardware.configure`).

| `table_commit` | table | `table_index` | `table_data`, bits |
|---|---|---|---|
| 0 | stream keys | `{table[15], slot}` | 121 valid, 120:109 stream, 108:107 identify, 106:104 port, 103:0 fields |
| 1 | stream rates | stream | 95:44 `empty_to_full`, 43:0 `ns_per_byte`; the bucket becomes full |
| 2 | scheduler groups | `{port, class[2:0]}` | 31:0 maximum residence time in ns |
| 3 | VLANs | VLAN id | 7:0 member ports |
| 4 | forwarding database | `{way[15], set}` | 71 valid, 70 static, 69:68 age, 67:60 ports, 59:48 VLAN, 47:0 address |
| 5 | mask of IPv4 identification | 0 | IPv4 103:72 source, 71:40 destination, 39:32 protocol, ports 31:16, 15:0 |
| 6 | gate list being staged | entry, from 0 | 41:40 `operation`, 39:32 `states`, 31:0 `interval_ns` |
| 7 | credit-based shapers | `{port, class[2:0]}` | 96 `enable`, 27:0 `idle_slope`; the credit becomes zero |
| 8 | queueMaxSDU | `{port, class[2:0]}` | 10:0 `bytes` |
| 10 | numbered streams | stream | 0 `numbered`: its frames get an R-TAG with their sequence number |

- Stream keys: `identify` 0 is IPv4 with the fields of table 5, 1 destination address and 2 source address, both
  `{VLAN[59:48], address[47:0]}`. The key is bits 108:0. With `crc` the CRC-32 of its 14 bytes, lowest first, a key
  stands in table 0 at slot `crc`, or in table 1 at slot `crc >> 16`, both modulo the number of slots (twice `streams`).
  All keys that lead to one stream have the same port, as its scheduler belongs to a group of that port: of two frames
  that come by different ports at the same time only one would count.
- Stream rates: `ns_per_byte` in units of 2^-24 ns, rounded down; `empty_to_full`, the time in which an empty bucket of
  the committed burst size fills, in units of 2^-16 ns, rounded up.
- Scheduler groups: a maximum residence time above 10^9 ns acts as 10^9 ns.
- Forwarding database: the set is the CRC-32 of the 8 bytes of `{VLAN[59:48], address[47:0]}`, lowest first, modulo
  the number of sets; the first octet of an address on the wire is bits 47:40.
- Gate list: `operation` 0 is SetGateStates; 1 and 2, SetAndHoldMAC and SetAndReleaseMAC, do the same, as there is no
  preemption. Bit k of `states`: the gate of class k is open. The list is put into force by `gate_commit`.
- Credit-based shapers: `idle_slope` in units of 2^-24 bits a cycle of 8 ns, rounded down: 2^27 is 1 Gb/s. Without
  `enable` the class has no credit-based shaper. `credit_errors` says what was refused.
- queueMaxSDU: the longest frame, destination address to FCS, which is queueMaxSDU and 18 bytes.
"""
