# SPDX-License-Identifier: Apache-2.0
"""Runs a checked network and writes what it left: trace, summary, captures and report, all or nothing.

The trace is written while the network runs. Ctrl-C ends a run early: its folder then holds what there was until then,
marked as partial. A run that is killed leaves a hidden folder only, which the next run with the same target removes.
"""

from __future__ import annotations

import hashlib
import json
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Literal, Protocol

import polars as pl

from penstock import plan, report, wave
from penstock.errors import EngineError, InputError, NoTraceError, RunError, check_known
from penstock.folder import replacing
from penstock.journeys import View
from penstock.kept import keep
from penstock.own import Own
from penstock.passing import asked
from penstock.scenario.limits import LONGEST_PS
from penstock.scenario.network import Network, TraceFilter
from penstock.scenario.units import TIME
from penstock.signals import handled
from penstock.summary import summarize, summarize_statistics
from penstock.trace import NO_STREAM, TraceWriter, read_trace, write_sorted
from penstock.wave import Wanted

Progress = Callable[[str, float], None]  # what is being done, and the part of it that is done
Sink = Callable[[dict[str, Any]], None]
TraceMode = Literal["full", "none"]

_SEEDS = 2**63  # as the engine takes them
TRACE_MODES: tuple[TraceMode, ...] = ("full", "none")
# Above this many rows statistics come from the engine, which has the same, and pictures from a part of the trace.
MOST_ROWS = 5_000_000
PICTURED_ROWS = 2_000_000


class Engine(Protocol):
    """What runs the network: the compiled engine, or a stand-in in tests."""

    @property
    def events(self) -> tuple[str, ...]:
        """Names of a trace's events."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Names of the reasons of drops."""

    def prepare(self, network: Network, progress: Progress) -> dict[str, Any]:
        """Builds what has to be built; gives the network as JSON."""

    def run(self, network_json: str, sink: Sink | None, progress: Callable[[float], bool]) -> dict[str, Any]:
        """Runs the network; gives statistics, and the trace in chunks to the sink. Stops when `progress` says no."""


class CompiledEngine:
    """The compiled engine, with models, Verilated hardware and objects of the caller's own as nodes.

    Networks of models run on so many cores, with the results of one; others run on one.
    """

    def __init__(self, own: Own | None = None, cores: int = 1) -> None:
        self._own = dict(own or {})
        self._cores = cores

    @property
    def events(self) -> tuple[str, ...]:
        """Names of a trace's events."""
        return tuple(_engine().EVENTS)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Names of the reasons of drops."""
        return tuple(_engine().REASONS)

    def prepare(self, network: Network, progress: Progress) -> dict[str, Any]:
        """Verilates switches and cards that are hardware on first use, and works out their register writes."""
        from penstock.hardware.model import build_card, build_model
        from penstock.hardware.tools import ToolError

        hardware = {name: bridge for name, bridge in network.bridges.items() if bridge.nodes == "rtl"}
        cards = {name: station.card for name, station in network.stations.items() if station.card is not None}
        cards = {name: card for name, card in cards.items() if card.is_hardware}
        if hardware or cards:
            progress("building the hardware model", 0.0)
        try:
            sizes = {(bridge.ports, bridge.has_host) for bridge in hardware.values()}
            built = {(ports, host): build_model(ports=ports, host=host) for ports, host in sizes}
            built_cards = {pairs: build_card(pairs=pairs) for pairs in {card.queues for card in cards.values()}}
        except ToolError as error:
            raise EngineError(str(error)) from error
        libraries = {name: built[bridge.ports, bridge.has_host] for name, bridge in hardware.items()}
        libraries |= {name: built_cards[card.queues] for name, card in cards.items()}
        writes = {name: plan.register_writes(network, bridge) for name, bridge in hardware.items()}
        return plan.network_json(network, libraries, writes)

    def run(self, network_json: str, sink: Sink | None, progress: Callable[[float], bool]) -> dict[str, Any]:
        """Runs in the engine."""
        engine = _engine()
        try:
            result: dict[str, Any] = engine.run(network_json, sink, progress, self._own, self._cores)
        except (engine.HardwareError, engine.ConservationError) as error:
            raise RunError(str(error)) from error
        except engine.InputError as error:
            raise EngineError(str(error)) from error
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # pyo3's, which no module exports
                raise
            raise EngineError(f"the engine failed: {error}; this is a fault of Penstock") from error
        return result


def _engine() -> Any:
    try:
        from penstock import _engine as module
    except ImportError as error:
        raise EngineError(f"the engine is not built ({error}); start Penstock by ./penstock") from error
    return module


@dataclass(frozen=True)
class Result:
    """What a run left."""

    summary: dict[str, Any]
    folder: Path

    @property
    def partial(self) -> bool:
        """Whether the run was interrupted."""
        return bool(self.summary["partial"])

    @property
    def trace(self) -> pl.DataFrame:
        """One row per frame event in the order of time, read from the folder."""
        file = self.folder / "trace.parquet"
        if not file.exists():
            raise NoTraceError("the run left no trace; run it with the trace on")
        return read_trace(file)


def _refuse_linux(network: Network) -> None:
    """Models in place of real hosts would be a lie."""
    if network.is_real:
        allowed = 'nodes = "model" or "rtl"; ./penstock lab or run --nodes linux|plane for real Linux'
        raise InputError("the nodes are real Linux, which the engine does not run", allowed=allowed, file=network.file)


def _refuse_trace(network: Network) -> None:
    """Of what counts with 128 bit."""
    if network.counts_years:
        most = TIME.write(LONGEST_PS)
        what = f"a trace holds times up to {most}, and the network counts more"
        raise InputError(what, allowed="none; the statistics are there without", file=network.file, key="trace")


def check_seed(seed: int | None) -> None:
    """Raises InputError where a number is no seed of a run."""
    if seed is not None and not 0 <= seed < _SEEDS:
        raise InputError(f"{seed} is no seed", allowed=f"0 to {_SEEDS - 1}", file="seed")


def run(
    network: Network,
    out: Path,
    engine: Engine | None = None,
    progress: Progress | None = None,
    trace: TraceMode | None = None,
    seed: int | None = None,
    captures: bool = True,
    figures: bool = False,
    notes: Sequence[str] = (),
) -> Result:
    """Runs a network and writes its folder, with captures of what the listeners heard unless they are not wanted.

    `trace` overrules what the scenario says of it; `seed` gives every source of chance another seed of its own.
    `figures` of ports, hops and shaping, which a whole trace has anyway, are worked out without one too. `notes` stand
    among the warnings of the summary.
    """
    _refuse_linux(network)
    if trace is not None:
        check_known(trace, TRACE_MODES, "trace")
        if trace == "full":
            _refuse_trace(network)
    check_seed(seed)
    engine = engine or CompiledEngine()
    tell: Progress = progress or (lambda _what, _part: None)
    with replacing(out) as folder:
        description = _with_trace(engine.prepare(network, tell), trace)
        if seed is not None:
            reseed(description, seed)
        description["captures"] = str(folder) if captures else None
        if figures:
            description["figures"] = asked(network)
        started = time.perf_counter()
        with _interruptible() as interrupted:

            def keep_on(part: float) -> bool:
                tell("simulating", float(part))
                return not interrupted.is_set()

            file = folder / "trace.parquet"
            result, rows = _run(engine, network, description, file, keep_on)
        simulation = {"seconds": round(time.perf_counter() - started, 3), "trace_rows": rows} | result["simulation"]
        tell("writing the report", 1.0)
        partial = bool(result["interrupted"])
        whole = _is_whole(description["trace"])
        view = None
        if description["trace"]["enabled"] and rows <= MOST_ROWS:
            table = read_trace(file)
            write_sorted(file, table)
            view = View(network, table) if whole else None
        if view is not None:
            summary = summarize(view, simulation, partial=partial)
        else:
            summary = summarize_statistics(network, result, simulation, partial=partial)
            if whole:
                view = View(network, report.part_of(file, PICTURED_ROWS))
        summary["warnings"] = [*summary["warnings"], *notes]
        keep(network, folder)
        (folder / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
        (folder / "report.html").write_text(report.render(network, view, summary), encoding="utf-8")
    return Result(summary, out)


def write_waves(
    network: Network,
    wanted: Wanted,
    result: Result,
    engine: Engine | None = None,
    progress: Progress | None = None,
    seed: int | None = None,
) -> list[Path]:
    """The hardware's signals around a frame or an instant of a run, by a second run: a file per bridge.

    Raises `InputError` if the run has no such frame.
    """
    engine = engine or CompiledEngine()
    tell: Progress = progress or (lambda _what, _part: None)
    windows = wanted.windows(network, pl.scan_parquet(result.folder / "trace.parquet"))
    tell("building the hardware model with waves", 0.0)
    description = wave.described(engine.prepare(network, tell), network, windows, result.folder.absolute())
    if seed is not None:
        reseed(description, seed)
    with _interruptible() as interrupted:

        def keep_on(part: float) -> bool:
            tell("simulating again, for the waves", float(part))
            return not interrupted.is_set()

        engine.run(json.dumps(description), None, keep_on)
    return [result.folder / wave.file_name(name) for name in windows]


def statistics(
    network: Network, engine: Engine | None = None, seed: int | None = None, *, figures: bool = False
) -> dict[str, Any]:
    """The summary of a run that leaves nothing else. `seed` gives every source of chance another seed of its own."""
    _refuse_linux(network)
    check_seed(seed)
    engine = engine or CompiledEngine()
    description = _with_trace(engine.prepare(network, lambda _what, _part: None), "none")
    if seed is not None:
        reseed(description, seed)
    if figures:
        description["figures"] = asked(network)
    started = time.perf_counter()
    result = engine.run(json.dumps(description), None, lambda _part: True)
    simulation = {"seconds": round(time.perf_counter() - started, 3)} | result["simulation"]
    return summarize_statistics(network, result, simulation, partial=bool(result["interrupted"]))


def observe(network: Network, engine: Engine | None = None) -> tuple[dict[str, Any], View]:
    """The summary and the trace of a run that leaves nothing else.

    The trace is whole, unless the scenario says which part is wanted: then statistics are what the engine counted.
    """
    _refuse_trace(network)
    engine = engine or CompiledEngine()
    description = engine.prepare(network, lambda _what, _part: None)
    in_part = network.trace.enabled and network.trace != TraceFilter()
    description = _with_trace(description, None if in_part else "full")
    description["captures"] = None
    with tempfile.TemporaryDirectory(prefix="penstock-") as folder:
        file = Path(folder) / "trace.parquet"
        started = time.perf_counter()
        result, rows = _run(engine, network, description, file, lambda _part: True)
        simulation = {"seconds": round(time.perf_counter() - started, 3), "trace_rows": rows} | result["simulation"]
        view = View(network, read_trace(file))
    if in_part:
        return summarize_statistics(network, result, simulation, partial=bool(result["interrupted"])), view
    return summarize(view, simulation), view


def reseed(description: dict[str, Any], seed: int) -> None:
    """Gives each source and each fault by chance the seed that follows from its own and from this one."""
    for stream in description["streams"]:
        source = stream["source"]
        source["seed"] = derived_seed(int(source.get("seed") or 0), seed)
    for fault in description.get("faults") or ():
        if "seed" in fault:
            fault["seed"] = derived_seed(fault["seed"], seed)


def derived_seed(own: int, seed: int) -> int:
    """63 bits that depend on both."""
    return int.from_bytes(hashlib.blake2b(f"{own} {seed}".encode(), digest_size=8).digest()) >> 1


def _run(
    engine: Engine, network: Network, description: dict[str, Any], file: Path, keep_on: Callable[[float], bool]
) -> tuple[dict[str, Any], int]:
    """The engine's answer, and how many rows the trace has."""
    if not description["trace"]["enabled"]:
        return engine.run(json.dumps(description), None, keep_on), 0
    names = {
        "stream": [*network.streams, NO_STREAM],
        "node": [*network.bridges, *network.stations],
        "event": engine.events,
        "reason": engine.reasons,
    }
    with TraceWriter(file, names) as writer:
        result = engine.run(json.dumps(description), writer.write, keep_on)
        if result["interrupted"]:
            writer.mark_partial()
    return result, writer.rows


def _with_trace(description: dict[str, Any], mode: TraceMode | None) -> dict[str, Any]:
    said: Mapping[str, Any] = description.get("trace") or {}
    if mode is not None:
        said = {"enabled": mode == "full"}
    default = {"enabled": True, "events": None, "nodes": None}
    return description | {"trace": default | dict(said)}


def _is_whole(trace: Mapping[str, Any]) -> bool:
    return bool(trace["enabled"]) and trace["events"] is None and trace["nodes"] is None


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """An event that Ctrl-C or a polite kill sets; a second one ends the program at once."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def ask(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    with handled(ask, signal.SIGINT, signal.SIGTERM):
        yield asked
