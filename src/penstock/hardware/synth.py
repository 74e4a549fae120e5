# SPDX-License-Identifier: Apache-2.0
"""Synthesis of the hardware by Yosys: what each block costs, no latch, every large memory a block RAM."""

import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock import data
from penstock.errors import InputError
from penstock.hardware.lint import TOP
from penstock.hardware.registers import files_of
from penstock.hardware.tools import ToolError, hardware_folder, run
from penstock.words import count

BLOCK_RAM_BITS = 8192  # a larger memory must become block RAM
LUT_RAM_BITS = 512  # and one larger than this must not become flip-flops
CARD = "pen_nic"
# Of the whole switch, its host port counted; of a card with one port and four queue pairs.
GOALS: Mapping[str, Mapping[tuple[str, str], float]] = {
    TOP: {("xc7", "lut"): 21_000.0, ("xc7", "bram36"): 72.0},
    CARD: {("xc7", "lut"): 15_000.0, ("xc7", "bram36"): 40.0},
}


def _map_twice(wire: str) -> str:
    """ABC maps twice: from what the first mapping found the second one gets to fewer levels and fewer LUTs."""
    once = ("&dch,-f,-r", f"&if,{wire},{{D}},{{R}},-v", "&mfs")
    return "scratchpad -set abc9.script +" + ";".join(["&scorr", "&sweep", "&dc2", *once, "&st", *once])


def _within(picoseconds: int) -> str:
    """No way has to be shorter than this: ABC saves LUTs instead."""
    return f"scratchpad -set abc9.D {picoseconds}"


# Placed in a device that is a third full, a wire takes 600 ps and more, twice what Yosys has ABC take it for.
MAP_ECP5 = _map_twice("-W,600")
SUMS_STEP = "map_gates"  # of synth_ecp5: it maps sums, if there are any left

# Modules that only join others: their parts are reported one by one.
COMPOSED = ("pen_ingress", "pen_buffer", "pen_egress_port", "pen_clock", "pen_nic_port")

QUANTITIES = {"lut": "LUT", "lutram": "of it LUTRAM", "ff": "FF", "bram36": "BRAM36", "dsp": "DSP"}


@dataclass(frozen=True)
class Target:
    """How Yosys maps to one family, and what its cells cost."""

    title: str
    command: str
    mapping: Sequence[str]  # what ABC is told
    ram_step: str  # the step that maps memories to block RAM and LUTRAM
    after_ram_step: str
    costs: Mapping[str, Mapping[str, float]]  # cell type: quantity: amount
    adder: str | None = None  # of hw/synth: what becomes of a sum that is marked use_dsp
    chain: str | None = None  # of hw/synth: how sums go onto a carry chain, in the place of what Yosys does


def _luts(names: Sequence[str], amount: float = 1) -> dict[str, Mapping[str, float]]:
    return {name: {"lut": amount} for name in names}


def _lut_rams(**amounts: float) -> dict[str, Mapping[str, float]]:
    return {name: {"lut": amount, "lutram": amount} for name, amount in amounts.items()}


def _flops(*names: str) -> dict[str, Mapping[str, float]]:
    return {name: {"ff": 1} for name in names}


TARGETS = {
    "xc7": Target(
        "Xilinx 7 series",
        "synth_xilinx -family xc7 -flatten -noiopad -noclkbuf -widemux 5",
        (_map_twice("{W}"), _within(5000)),  # of 8 ns; ABC takes a wire for 300 ps
        "map_memory",
        "map_ffram",
        {
            **_luts([f"LUT{n}" for n in range(1, 7)]),
            **_lut_rams(
                RAM32X1S=1, RAM64X1S=1, RAM32X1D=2, RAM64X1D=2, RAM128X1D=4, RAM32M=4, RAM64M=4, SRL16E=1, SRLC32E=1
            ),
            **_flops("FDRE", "FDSE", "FDCE", "FDPE", "FDRE_1", "FDSE_1", "FDCE_1", "FDPE_1"),
            "RAMB36E1": {"bram36": 1},
            "RAMB18E1": {"bram36": 0.5},
            "DSP48E1": {"dsp": 1},
        },
        "xc7_adder.v",
    ),
    "ecp5": Target(
        "Lattice ECP5",
        "synth_ecp5",
        (MAP_ECP5,),
        "map_ram",
        "map_ffram",
        {
            **_luts(["LUT4"]),
            **_luts(["CCU2C"], 2),
            **_lut_rams(TRELLIS_DPR16X4=6),  # four for the bits, two for the write port
            **_flops("TRELLIS_FF"),
            "DP16KD": {"bram36": 0.5},
            "PDPW16KD": {"bram36": 0.5},
            "MULT18X18D": {"dsp": 1},
            "ALU54B": {"dsp": 1},
        },
        chain="ecp5_sum.v",
    ),
}


@dataclass
class Block:
    """All instances of one module, with what is inside of them."""

    name: str
    instances: int = 0
    used: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Memory:
    """A memory as the source describes it, and what became of it."""

    name: str
    words: int
    width: int
    became: str  # "block", "lut" or "flip-flops"

    @property
    def bits(self) -> int:
        return self.words * self.width

    @property
    def ok(self) -> bool:
        limit = {"block": self.bits, "lut": BLOCK_RAM_BITS, "flip-flops": LUT_RAM_BITS}[self.became]
        return self.bits <= limit


@dataclass
class Synthesis:
    """What a synthesis found."""

    target: str
    top: str
    ports: int | None
    blocks: list[Block]
    memories: list[Memory]
    latches: list[str]
    host: bool = False  # the last port is the host's
    ats: bool = True  # of a card

    @property
    def title(self) -> str:
        ports = "" if self.ports is None else f" with {count(self.ports, 'port')}"
        return f"{TARGETS[self.target].title}, {self.top}{ports}{self._but}"

    @property
    def _but(self) -> str:
        return ", the last one for the host" if self.host else "" if self.ats else ", without ATS"

    @property
    def mark(self) -> str:
        """Where docs/synthesis.md has it."""
        return mark(self.target, self.top, self.ports)

    @property
    def goals(self) -> Mapping[tuple[str, str], float]:
        """What it may cost, by target and quantity; of a card with several ports nothing is said."""
        return {} if self.top == CARD and self.ports not in (None, 1) else GOALS.get(self.top, {})

    def total(self, quantity: str) -> float:
        return sum(block.used[quantity] for block in self.blocks)

    def rows(self) -> list[dict[str, Any]]:
        """One row per block and quantity, the whole, and all that must not be."""
        found = []
        for block in self.blocks:
            for quantity in QUANTITIES:
                row = {
                    "id": f"{self.target}.{block.name}.{quantity}",
                    "quantity": QUANTITIES[quantity],
                    "unit": "cells",
                }
                found.append({**row, "measured": block.used[quantity], "ok": True})
        for quantity, title in QUANTITIES.items():
            measured = self.total(quantity)
            goal = self.goals.get((self.target, quantity))
            row = {"id": f"{self.target}.total.{quantity}", "quantity": title, "unit": "cells"}
            known = {} if goal is None else {"goal": goal}
            found.append({**row, "measured": measured, **known, "ok": goal is None or measured <= goal})
        misplaced = [memory for memory in self.memories if not memory.ok]
        for name, things in (("latches", self.latches), ("misplaced_memories", misplaced)):
            row = {"id": f"{self.target}.{name}", "quantity": name.replace("_", " "), "unit": "count"}
            found.append({**row, "measured": len(things), "goal": 0, "ok": not things})
        return found

    @property
    def ok(self) -> bool:
        return all(row["ok"] for row in self.rows())


def mark(target: str, top: str = TOP, ports: int | None = None) -> str:
    """Between which marks docs/synthesis.md has the table of a top with so many ports."""
    several = f".{ports}" if ports is not None and ports > 1 else ""
    return f"{top}.{target}{several}" if top == CARD else target


def synthesize(
    target: str = "xc7",
    top: str = TOP,
    ports: int | None = 4,
    parameters: Mapping[str, int] | None = None,
    files: Sequence[Path] | None = None,
) -> Synthesis:
    """Synthesizes the hardware, or other files; raises ToolError with what Yosys said if it cannot."""
    if target not in TARGETS:
        raise InputError("there is no such target", allowed=", ".join(TARGETS), file=f"--target {target}")
    family = TARGETS[target]
    values = {**({} if ports is None else {"PORTS": ports}), **(parameters or {})}
    with tempfile.TemporaryDirectory(prefix="penstock-synth-") as name:
        folder = Path(name)  # Yosys as WebAssembly sees no other place than its own folder reliably
        files = [path for path in files or files_of(top) if path.suffix == ".sv"]
        for path in files:
            shutil.copyfile(path, folder / path.name)
        settings = "".join(f" -G {key}={value}" for key, value in values.items())
        yosys(
            folder,
            f"read_slang --threads 1 --keep-hierarchy --top {top}{settings} {' '.join(path.name for path in files)}",
            f"hierarchy -check -top {top}",
            "tee -q -o latches.txt select -list t:$dlatch t:$adlatch t:$dlatchsr",
            "tee -q -o modules.txt ls",
            "write_rtlil design.il",
        )
        kept = _kept((folder / "modules.txt").read_text().split()[2:], top)
        sums = []
        if family.adder is not None:
            shutil.copyfile(hardware_folder() / "synth" / family.adder, folder / family.adder)
            sums = [
                "opt_clean",  # what is marked is then what the sum drives
                "select -set sums a:use_dsp=yes %ci1 t:$add %i",
                f"techmap -map {family.adder} @sums",
            ]
        yosys(
            folder,
            "read_rtlil design.il",
            # ABC's check of its result aborts where carry chains look like a loop. What is made here is only counted,
            # and no memory may get lost.
            "scratchpad -set abc9.verify 0",
            *sums,
            *family.mapping,
            *(f"setattr -mod -set keep_hierarchy 1 {_escape(module)}" for module in kept),
            f"{family.command} -top {top} -run begin:{family.ram_step}",
            "tee -q -o memories.txt dump t:$mem_v2",
            "tee -q -o memory-names.txt select -list t:$mem_v2",
            f"tee -o mapping.txt {family.command} -top {top} -run {family.ram_step}:{family.after_ram_step}",
            *map_sums(family, folder, top, family.after_ram_step),
            f"{family.command} -top {top} -run {SUMS_STEP if family.chain else family.after_ram_step}:map_luts",
            "tee -q -o unmapped.json stat -json",
            f"{family.command} -top {top} -run map_luts:",
            "tee -q -o stat.json stat -json",
        )
        unmapped, blocks = (
            _blocks(json.loads((folder / f"{name}.json").read_text()), top, family) for name in ("unmapped", "stat")
        )
        check_kept(unmapped, blocks)
        texts = [(folder / f"{name}.txt").read_text() for name in ("memories", "memory-names", "mapping")]
        memories = _memories(*texts)
        latches = (folder / "latches.txt").read_text().split()
    return Synthesis(target, top, ports, blocks, memories, latches, bool(values.get("HOST")), values.get("ATS", 1) == 1)


def map_sums(family: Target, folder: Path, top: str, begin: str) -> list[str]:
    """The commands of Yosys from a step on until sums are mapped, if that is done by a file of hw/synth."""
    if family.chain is None:
        return []
    shutil.copyfile(hardware_folder() / "synth" / family.chain, folder / family.chain)
    return [f"{family.command} -top {top} -run {begin}:{SUMS_STEP}", f"techmap -map {family.chain}"]


def yosys(folder: Path, *commands: str) -> None:
    """Runs these commands in a folder that holds all they read and write; ToolError has what Yosys said."""
    (folder / "script.ys").write_text("\n".join(commands) + "\n")
    done = run(["yosys", "-q", "script.ys"], cwd=folder)
    if done.returncode:
        raise ToolError(f"synthesis failed:\n{done.stdout.strip()}")


def _escape(module: str) -> str:
    return re.sub(r"[\[\]]", "?", module)  # a name is a pattern there, and arrays of instances have brackets


def _base(module: str) -> str:
    return module.split("$")[0]


def _kept(modules: Sequence[str], top: str) -> list[str]:
    """The modules that stay modules: parts of the top and of what is only composed."""
    path_of = {module: module.partition("$")[2] for module in modules if "$" in module}
    by_path = {path: module for module, path in path_of.items()}
    kept = []
    for module, path in path_of.items():
        parent = path
        while "." in parent:
            parent = parent.rpartition(".")[0]
            if parent in by_path or parent == top:
                break
        if parent == top or _base(by_path.get(parent, "")) in COMPOSED:
            kept.append(module)
    return kept


def _blocks(stat: Mapping[str, Any], top: str, family: Target) -> list[Block]:
    blocks: dict[str, Block] = {}
    for module, counts in stat["modules"].items():
        name = _base(module.lstrip("\\"))
        block = blocks.setdefault(name, Block(name))
        block.instances += 1
        for cell, number in counts["num_cells_by_type"].items():
            for quantity, amount in family.costs.get(cell, {}).items():
                block.used[quantity] += amount * number
    return sorted(blocks.values(), key=lambda block: (block.name == top, -block.used["lut"]))


def check_kept(unmapped: Sequence[Block], blocks: Sequence[Block]) -> None:
    """Raises ToolError if a block lost block RAM as it was mapped to LUTs.

    ABC has been seen to find a unit with its memories to be for nothing, which it was not.
    """
    kept = {block.name: block.used["bram36"] for block in blocks}
    for block in unmapped:
        before, after = block.used["bram36"], kept.get(block.name, 0)
        if before != after:
            raise ToolError(
                f"{block.name} has lost block RAM, {before:g} and then {after:g} after it was mapped to LUTs"
            )


def _memories(dump: str, names: str, mapping: str) -> list[Memory]:
    became = {}
    for line in mapping.splitlines():
        if found := re.match(r"mapping memory (\S+) via (\S+)", line):
            became[found[1]] = "lut" if re.search(r"LUT|DPR16|DIST", found[2].upper()) else "block"
    memories = []
    if names.strip() and not re.search(r"^module ", dump, flags=re.MULTILINE):  # no heading if all are in one module
        dump = f"module {names.partition('/')[0].strip()}\n{dump}"
    for module in re.split(r"^module ", dump, flags=re.MULTILINE)[1:]:
        inside = module.split(maxsplit=1)[0].lstrip("\\")
        for text in re.split(r"^  cell \$mem_v2 ", module, flags=re.MULTILINE)[1:]:
            values = dict(re.findall(r"parameter \\(SIZE|WIDTH|MEMID) (.+)", text))
            name = inside + "." + values["MEMID"].strip('"').lstrip("\\")
            words, width = _number(values["SIZE"]), _number(values["WIDTH"])
            memories.append(Memory(name, words, width, became.get(name, "flip-flops")))
    return memories


def _number(text: str) -> int:
    size, tick, bits = text.partition("'")
    return int(bits.removeprefix("s"), 2) if tick else int(size)


def update_documentation(results: Sequence[Synthesis]) -> Path:
    """Puts the tables into docs/synthesis.md, each between its own marks."""
    path = data.page("synthesis.md")
    text = path.read_text() if path.exists() else HEAD
    for result in results:
        begin, end = f"<!-- begin {result.mark} -->", f"<!-- end {result.mark} -->"
        section = f"{begin}\n{markdown(result)}\n{end}"
        before, found, rest = text.partition(begin)
        text = before + section + rest.partition(end)[2] if found else f"{text}\n{section}\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def documented(target: str, text: str | None = None) -> dict[str, dict[str, float]]:
    """What docs/synthesis.md says of a target: of each block, what `QUANTITIES` names. ToolError if it says nothing."""
    path = data.PAGES / "synthesis.md"
    if text is None:
        text = path.read_text() if path.exists() else ""
    _, _, rest = text.partition(f"<!-- begin {target} -->")
    section, end, _ = rest.partition(f"<!-- end {target} -->")
    rows = re.findall(r"^\| `(\w+)` \| \d+ \|(.+)\|$", section, flags=re.MULTILINE)
    if not end or not rows:
        raise ToolError(f"{path} has no table of {target}: penstock hw synth --update-docs makes it")
    return {name: dict(zip(QUANTITIES, map(float, cells.split("|")), strict=True)) for name, cells in rows}


def update_section(mark: str, text: str) -> None:
    """Replaces what stands between the marks of that name in docs/synthesis.md."""
    page = data.page("synthesis.md")
    begin, end = f"<!-- begin {mark} -->", f"<!-- end {mark} -->"
    before, rest = page.read_text().split(begin)
    page.write_text(before + "\n".join([begin, text, end]) + rest.split(end)[1])


HEAD = """\
# What the hardware costs

Made by `penstock hw synth --update-docs` with Yosys. Blocks are synthesized one by one, so the sums are a little higher
than what a flow that optimizes across them would reach. LUT counts include LUTs used as memory; two block RAMs of
18 Kb count as one BRAM36.
"""


def markdown(result: Synthesis) -> str:
    """The table of one target."""
    lines = [
        f"## {result.title.replace(result.top, f'`{result.top}`')}",
        "",
        f"| block | instances | {' | '.join(QUANTITIES.values())} |",
        "|---|--:|" + "--:|" * len(QUANTITIES),
    ]
    for block in result.blocks:
        cells = [f"{block.used[quantity]:g}" for quantity in QUANTITIES]
        lines.append(f"| `{block.name}` | {block.instances} | {' | '.join(cells)} |")
    lines.append(f"| **all** | | {' | '.join(f'**{result.total(quantity):g}**' for quantity in QUANTITIES)} |")
    goals = [f"{QUANTITIES[q]} {goal:g}" for (target, q), goal in result.goals.items() if target == result.target]
    if goals:
        lines += ["", f"Goal of the finished {'card' if result.top == CARD else 'switch'}: {', '.join(goals)} at most."]
    return "\n".join(lines)
