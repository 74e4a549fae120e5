# SPDX-License-Identifier: Apache-2.0
"""Runs a checked network and writes what it left: trace, summary, captures and report, all or nothing."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from penstock import plan, report
from penstock.captures import CapturedFrame, write_pcapng
from penstock.errors import EngineError, InputError, RunError
from penstock.scenario.network import Network
from penstock.summary import summarize
from penstock.trace import EVENTS, REASONS, from_columns

FCS_BYTES = 4
Progress = Callable[[str, float], None]  # what is being done, and the part of it that is done


class Engine(Protocol):
    """What runs the network: the compiled engine, or a stand-in in tests."""

    def prepare(self, network: Network, progress: Progress) -> dict[str, Any]:
        """Builds what has to be built; gives the network as JSON."""

    def run(self, network_json: str, progress: Progress) -> dict[str, Any]:
        """Runs the network; gives the trace's columns and what the listeners heard."""


class HardwareEngine:
    """The compiled engine with Verilated hardware as nodes."""

    def prepare(self, network: Network, progress: Progress) -> dict[str, Any]:
        """Verilates the switch on first use and works out its register writes."""
        from penstock.hardware.model import build_model
        from penstock.hardware.tools import ToolError

        progress("building the hardware model", 0.0)
        try:
            libraries = {name: build_model(ports=bridge.ports) for name, bridge in network.bridges.items()}
        except ToolError as error:
            raise EngineError(str(error)) from error
        writes = {name: plan.register_writes(network, bridge) for name, bridge in network.bridges.items()}
        return plan.network_json(network, libraries, writes)

    def run(self, network_json: str, progress: Progress) -> dict[str, Any]:
        """Runs in the engine."""
        try:
            _engine: Any = import_module("penstock._engine")
        except ImportError as error:
            raise EngineError(f"the engine is not built ({error}); start Penstock by ./penstock") from error
        try:
            result: dict[str, Any] = _engine.run(network_json, lambda done: progress("simulating", float(done)))
        except (_engine.HardwareError, _engine.ConservationError) as error:
            raise RunError(str(error)) from error
        except _engine.InputError as error:
            raise EngineError(str(error)) from error
        return result


@dataclass(frozen=True)
class Result:
    """What a run left."""

    summary: dict[str, Any]
    trace: pl.DataFrame
    folder: Path


def run(network: Network, out: Path, engine: Engine | None = None, progress: Progress | None = None) -> Result:
    """Runs a network and writes its folder."""
    engine = engine or HardwareEngine()
    tell: Progress = progress or (lambda _what, _part: None)
    _check_target(out)
    description = engine.prepare(network, tell)
    started = time.perf_counter()
    tell("simulating", 0.0)
    result = engine.run(json.dumps(description), tell)
    seconds = time.perf_counter() - started
    tell("writing the report", 1.0)
    trace = trace_of(network, result)
    summary = summarize(network, trace, _simulation(result, seconds))
    with replacing(out) as folder:
        trace.write_parquet(folder / "trace.parquet")
        for station, frames in heard(network, result).items():
            write_pcapng(folder / f"{station}.pcapng", frames, interface=network.stations[station].name)
        (folder / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
        (folder / "report.html").write_text(report.render(network, trace, summary), encoding="utf-8")
    return Result(summary, trace, out)


def trace_of(network: Network, result: Mapping[str, Any]) -> pl.DataFrame:
    """The trace in the engine's answer."""
    return from_columns(
        result.get("trace", result),
        streams=list(network.streams),
        nodes=result.get("nodes", [*network.bridges, *network.stations]),
        events=result.get("events", EVENTS),
        reasons=result.get("reasons", REASONS),
    )


def heard(network: Network, result: Mapping[str, Any]) -> dict[str, Iterator[CapturedFrame]]:
    """What arrived at each listening port, without FCS as captures have it."""
    delivered = result["delivered"]

    def frames(name: str) -> Iterator[CapturedFrame]:
        for time_ps, data in sorted(delivered.get(name, ()), key=lambda f: f[0]):
            whole = bytes(data)[:-FCS_BYTES]
            yield CapturedFrame(int(time_ps), whole, len(whole))

    return {station.name: frames(station.name) for station in network.listening_ports()}


def _simulation(result: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    return {"seconds": round(seconds, 3)} | dict(result.get("simulation", {}))


def _check_target(out: Path) -> None:
    if out.exists() and not (out.is_dir() and (not any(out.iterdir()) or (out / "summary.json").exists())):
        raise InputError(
            "is there already and is not a run's folder", allowed="a new folder, or one that a run wrote", file=out
        )


@contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """A folder that takes the place of `out` once it is complete, and never before."""
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        partial.chmod(0o777 & ~_umask())
        yield partial
        if out.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{out.name}-old-", dir=out.parent))
            out.rename(old / out.name)
            partial.rename(out)
            shutil.rmtree(old)
        else:
            partial.rename(out)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
