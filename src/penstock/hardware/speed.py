# SPDX-License-Identifier: Apache-2.0
"""How fast the switch is simulated, against the switch of another revision: in turns, in one run, the same events."""

from __future__ import annotations

import io
import random
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from penstock import _engine
from penstock.data import checkout
from penstock.errors import InputError
from penstock.ethernet import AHEAD_BYTES, GAP_BYTES
from penstock.hardware.bench import known_switch, line_rate, unicast_frame
from penstock.hardware.model import build_model
from penstock.hardware.tools import ToolError, checked

OPTION = "--against"
ROUNDS = 5
CYCLES = 300_000
CONTROL_EVERY_CYCLES = 6_250  # 50 us
CONTROL_BYTES, GREEDY_BYTES = 79, 1_522

Load = Callable[[_engine.Switch], None]


def against(revision: str, ports: int = 4) -> Iterator[dict[str, Any]]:
    """Rows of the comparison with a revision of this repository; its model is built as it was then, and cached."""
    with _model_of(revision, ports) as before:
        after = build_model(ports=ports)
        for identity, what, load in (
            ("two_flows", "a small frame every 50 us and a flow that fills its link, to one port", _two_flows),
            ("line_rate", f"{ports} ports at line rate, 64 to 1522 bytes", _line_rate),
        ):
            yield from _compare(identity, what, load, before, after, revision)


def _compare(
    identity: str, what: str, load: Load, before: Path, after: Path, revision: str
) -> Iterator[dict[str, Any]]:
    seconds: dict[Path, list[float]] = {before: [], after: []}
    events: dict[Path, bytes] = {}
    for _ in range(ROUNDS):
        for library in (before, after):
            switch = known_switch(_engine.Switch(library))
            load(switch)
            started = time.process_time()
            switch.run(switch.cycle + CYCLES)
            seconds[library].append(time.process_time() - started)
            events[library] = b"".join(np.ascontiguousarray(column).tobytes() for column in switch.events().values())
    if events[before] != events[after]:
        raise ToolError(f"under {what} the switch does not do what it did at {revision}")
    then, now = (min(seconds[library]) for library in (before, after))
    speed = round(CYCLES / now)
    row = {"id": f"{identity}.speed", "quantity": f"{what}: cycles per second of processor time", "unit": "cycles/s"}
    yield row | {"measured": speed, "ok": True}
    row = {"id": f"{identity}.ratio", "quantity": f"{what}: times as fast as at {revision}", "unit": ""}
    yield row | {"measured": round(then / now, 2), "ok": True}


def _two_flows(switch: _engine.Switch) -> None:
    rng = random.Random(0)
    start = switch.cycle
    for at in range(start, start + CYCLES, CONTROL_EVERY_CYCLES):
        switch.push(0, at, unicast_frame(0, 2, CONTROL_BYTES, 3, rng))
    for at in range(start, start + CYCLES, AHEAD_BYTES + GREEDY_BYTES + GAP_BYTES):
        switch.push(1, at, unicast_frame(1, 2, GREEDY_BYTES, 0, rng))


def _line_rate(switch: _engine.Switch) -> None:
    line_rate(switch, None, random.Random(0), CYCLES)


@contextmanager
def _model_of(revision: str, ports: int) -> Iterator[Path]:
    """The library of that revision, built by its own sources in a folder of their own."""
    root = checkout()
    if root is None:
        raise InputError("there are no revisions", allowed="a checkout of the project", file=OPTION)
    command = ["git", "-C", str(root), "archive", "--end-of-options", revision, "hw", "src/penstock", "engine/rtl/shim"]
    try:
        archive = subprocess.run(command, capture_output=True, check=True).stdout
    except FileNotFoundError:
        raise ToolError("git is missing: apt-get install git") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode().strip().splitlines()[-1:]
        what = f"{revision} cannot be built: {''.join(said)}"
        raise InputError(what, allowed="a revision of this repository", file=OPTION) from None
    with tempfile.TemporaryDirectory(prefix="penstock-") as name:
        folder = Path(name)
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(folder, filter="data")
        program = f"from penstock.hardware.model import build_model; print(build_model(ports={ports}))"
        environment = {"PYTHONPATH": str(folder / "src"), "PENSTOCK_HW": str(folder / "hw")}
        printed = checked([sys.executable, "-c", program], f"building the switch of {revision}", environment)
        yield Path(printed.strip())
