# SPDX-License-Identifier: Apache-2.0
"""Measures frame-hops per second of processor time: frames that left an egress port of a bridge or a station.

Each measurement has a process of its own, so that its memory can be told.
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
PS_PER_S = 10**12
# A trace to the end would fill the disk and say no more.
TRACED_PS = PS_PER_S // 5


def bench(names: list[str] | None = None) -> Iterator[Row]:
    """A row per measurement, of all networks or of these."""
    spawn = multiprocessing.get_context("spawn")
    for name, make in NETWORKS.items():
        if names and name not in names:
            continue
        for traced in (False, True) if name in TRACED else (False,):
            with spawn.Pool(1) as pool:
                found = pool.apply(measure, (name, traced))
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


def measure(name: str, traced: bool) -> Row:
    """Runs one network in this process, on one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    engine = CompiledEngine()
    network = load(NETWORKS[name]())
    description = engine.prepare(network, lambda _what, _part: None)
    description["trace"] = {"enabled": traced, "events": None, "nodes": None}
    if traced:
        description["duration_ps"] = TRACED_PS
    text = json.dumps(description)
    del description
    names = {
        "stream": list(network.streams),
        "node": [*network.bridges, *network.stations],
        "event": engine.events,
        "reason": engine.reasons,
    }
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
