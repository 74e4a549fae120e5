# SPDX-License-Identifier: Apache-2.0
"""A program that runs one network in the engine of the Python that started it, and prints what it took.

    python -P worker.py describe SCENARIO.json DURATION_PS DESCRIPTION.json
    python -P worker.py run DESCRIPTION.json statistics|trace CORES [ENGINE.so]

The Python of another build runs it too (`penstock bench engine --against`), so it imports nothing of its own folder.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import platform
import resource
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

# Of processor time: by then a rate is known, also of a build that needs hours for the whole.
MOST_SECONDS = 20.0


def describe(scenario: Path, duration_ps: int, description: Path) -> None:
    """A network as this build's engine takes it, without a trace."""
    from penstock.run import CompiledEngine
    from penstock.scenario import load

    described = CompiledEngine().prepare(load(json.loads(scenario.read_text())), lambda _what, _part: None)
    described["duration_ps"] = duration_ps
    described["trace"] = {"enabled": False, "events": None, "nodes": None}
    description.write_text(json.dumps(described))


def run(description: Path, traced: bool, cores: int, library: Path | None) -> dict[str, Any]:
    """What a run counted, and what it took of the machine."""
    engine = _engine(library)
    described = json.loads(description.read_text())
    described["trace"]["enabled"] = traced
    text = json.dumps(described)
    names = {
        "stream": [*(stream["name"] for stream in described["streams"]), ""],
        "node": [node["name"] for node in described["bridges"] + described["stations"]],
        "event": engine.EVENTS,
        "reason": engine.REASONS,
    }
    del described
    limit = time.process_time() + MOST_SECONDS * cores
    # Builds of before several cores take no number of them.
    several = {"cores": cores} if cores > 1 else {}
    with contextlib.ExitStack() as stack:
        sink = _sink(names, stack) if traced else None
        count = instructions()
        started, counted = time.process_time(), count and count()
        began = time.perf_counter()
        result = engine.run(text, sink, lambda _part: time.process_time() < limit, **several)
        stack.close()  # what is still to be written of the trace belongs to it
        seconds = time.process_time() - started
        wall_seconds = time.perf_counter() - began
        used = count() - counted if count and counted is not None else None
    streams = result["statistics"].values()
    return {
        "hops": result["simulation"]["frame_hops"],
        "sends": sum(stream["talker_wait_ps"]["count"] for stream in streams),
        "streams": len(streams),
        "sketched": sum(stream["latency_ps"]["percentile_error"] > 0 for stream in streams),
        "dropped": sum(sum(stream["dropped"].values()) for stream in streams),
        "interrupted": result["interrupted"],
        "seconds": seconds,
        "wall_seconds": wall_seconds,
        "instructions": used,
        "memory_mib": _peak_mib(),
    }


def _engine(library: Path | None) -> Any:
    if library is None:
        from penstock import _engine as module

        return module
    spec = spec_from_loader("penstock._engine", ExtensionFileLoader("penstock._engine", str(library)))
    assert spec is not None
    assert spec.loader is not None
    loaded = module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def _sink(names: dict[str, Any], stack: contextlib.ExitStack) -> Callable[[Any], None]:
    from penstock.trace import TraceWriter

    folder = stack.enter_context(tempfile.TemporaryDirectory())
    return stack.enter_context(TraceWriter(Path(folder) / "trace.parquet", names)).write


def _peak_mib() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10))


def instructions() -> Callable[[], int] | None:
    """Reads the instructions that this process has retired in user mode; None where the machine does not count them.

    perf_event_open(2): PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, without kernel and hypervisor, with what is
    started later. A virtual machine often has no such counter.
    """
    number = {"x86_64": 298, "aarch64": 241}.get(platform.machine())
    if sys.platform != "linux" or number is None:
        return None
    inherit, exclude_kernel, exclude_hypervisor = 1 << 1, 1 << 5, 1 << 6
    size = 64  # PERF_ATTR_SIZE_VER0
    attributes = struct.pack("=IIQQQQQ", 0, size, 1, 0, 0, 0, inherit | exclude_kernel | exclude_hypervisor).ljust(
        size, b"\0"
    )
    counter = ctypes.CDLL(None).syscall(number, attributes, 0, -1, -1, 0)
    if counter < 0:
        return None
    return lambda: int.from_bytes(os.read(counter, 8), sys.byteorder)


def _main(arguments: list[str]) -> None:
    match arguments:
        case ["describe", scenario, duration_ps, description]:
            describe(Path(scenario), int(duration_ps), Path(description))
        case ["run", description, what, cores, *library]:
            engine = Path(library[0]) if library else None
            print(json.dumps(run(Path(description), what == "trace", int(cores), engine)))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    _main(sys.argv[1:])
