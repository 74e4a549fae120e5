# SPDX-License-Identifier: Apache-2.0
"""Measures frame-hops per second of processor time: frames that left an egress port of a bridge or a station.

Each run has a process of its own, so that its memory can be told. The fastest of several is reported: what slows a run
down is what others do with the same caches and memory.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.bench.networks import NETWORKS
from penstock.run import CompiledEngine
from penstock.scenario import load
from penstock.trace import TraceWriter

Row = dict[str, Any]

STATISTICS_GOAL, TRACE_GOAL = 5_000_000, 2_000_000  # frame-hops a second
MEMORY_GOAL_MIB = 1024
TRACED = ("overloaded", "ring")
PS_PER_MS = 10**9
# A trace to the end would fill the disk and say no more.
TRACED_PART = 5
RUNS = 3


def bench(names: list[str] | None = None, duration_ms: int = 1_000) -> Iterator[Row]:
    """Two rows per measurement, of all networks or of these: speed and memory."""
    spawn = multiprocessing.get_context("spawn")
    for name, make in NETWORKS.items():
        if names and name not in names:
            continue
        for traced in (False, True) if name in TRACED else (False,):
            with spawn.Pool(1, maxtasksperchild=1) as pool:
                runs = [pool.apply(measure, (name, duration_ms, traced)) for _ in range(RUNS)]
            found = min(runs, key=lambda run: run["seconds"])
            what = "full trace to Parquet" if traced else "statistics, no trace"
            goal = TRACE_GOAL if traced else STATISTICS_GOAL
            identity = f"{name}.{'trace' if traced else 'statistics'}"
            purpose = (make.__doc__ or name).rstrip(".")
            speed = round(found["frame_hops"] / found["seconds"])
            yield {
                "id": f"{identity}.speed",
                "quantity": f"{name}, {what}: {found['frame_hops']:,} hops. {purpose}",
                "unit": "frame-hops/s",
                "measured": speed,
                "goal": goal,
                "ok": speed >= goal,
            }
            yield {
                "id": f"{identity}.memory",
                "quantity": f"{name}, {what}: memory of the whole process",
                "unit": "MiB",
                "measured": found["memory_mib"],
                "goal": MEMORY_GOAL_MIB,
                "ok": found["memory_mib"] <= MEMORY_GOAL_MIB,
            }


def description(name: str, duration_ms: int) -> Row:
    """A network as the engine takes it, without a trace."""
    network = load(NETWORKS[name]())
    described = CompiledEngine().prepare(network, lambda _what, _part: None)
    described["duration_ps"] = duration_ms * PS_PER_MS
    described["trace"] = {"enabled": False, "events": None, "nodes": None}
    return described


def measure(name: str, duration_ms: int, traced: bool) -> Row:
    """Runs one network in this process, on one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    described = description(name, duration_ms)
    if traced:
        described["trace"]["enabled"] = True
        described["duration_ps"] //= TRACED_PART
    text = json.dumps(described)
    engine = CompiledEngine()
    names = {
        "stream": [stream["name"] for stream in described["streams"]],
        "node": [node["name"] for node in described["bridges"] + described["stations"]],
        "event": engine.events,
        "reason": engine.reasons,
    }
    del described
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        if traced:
            with TraceWriter(Path(folder) / "trace.parquet", names) as writer:
                result = engine.run(text, writer.write, lambda _part: True)
        else:
            result = engine.run(text, None, lambda _part: True)
        seconds = time.process_time() - started
    return {
        "frame_hops": result["simulation"]["frame_hops"],
        "seconds": seconds,
        "memory_mib": _peak_mib(),
    }


def _peak_mib() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10))
