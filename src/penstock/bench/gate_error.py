# SPDX-License-Identifier: Apache-2.0
"""How late frames that waited for a gate depart: through a data plane, and through the kernel's own taprio.

Both on one kernel, with the same hosts, the same frames and the same best effort beside them. Both are held against the
same stamp: the kernel's, when the frame comes to its listener.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from penstock.bench.plane import passing
from penstock.end.trace import ORIGIN
from penstock.errors import RunError
from penstock.lab import run as lab
from penstock.lab.machine import Machine
from penstock.lab.programs import How
from penstock.percentile import percentiles
from penstock.scenario import load
from penstock.scenario.network import Network

Tell = Callable[[str], None]
KINDS = {"plane": "a data plane", "linux": "taprio"}
CYCLE_NS, OPENS_NS, SENT_AT_NS = 2_000_000, 1_000_000, 400_000
_PARTS = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "largest": 1.0}
_NS = 1000


def network(nodes: str, seconds: float) -> Network:
    """One bridge; a frame of class 7 comes in each cycle before its gate opens, and best effort whenever it likes."""
    opens, rest = f"{OPENS_NS}ns", f"{CYCLE_NS - OPENS_NS}ns"
    gates = {
        "cycle_time": f"{CYCLE_NS}ns",
        "entries": [{"open": [0, 1, 2, 3, 4, 5, 6], "interval": opens}, {"open": [7], "interval": rest}],
    }
    waits = {"frames": "128B", "every": f"{CYCLE_NS}ns", "start": f"{SENT_AT_NS}ns"}
    streams = {
        "waits": {"from": "talker", "to": ["listener"], "vlan": 10, "pcp": 3, "source": waits},
        "bulk": {
            "from": "server", "to": ["listener"], "vlan": 10, "pcp": 0, "source": {"frames": "1000B", "every": "731us"},
        },
    }  # fmt: skip
    classes = {"7": {"selection": "strict"}, "1": {"selection": "strict"}}
    said = {
        "name": "gate-error",
        "nodes": nodes,
        "duration": f"{round(seconds * 1000)}ms",
        "bridges": {"sw": {"ports": 3, "classes": classes, "port": {"2": {"gates": gates}}}},
        "stations": {"talker": {"at": "sw.0"}, "server": {"at": "sw.1"}, "listener": {"at": "sw.2"}},
        "streams": streams,
    }
    return load(said)


def errors_ns(trace: pl.DataFrame, first_opening_ns: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Of the frames that waited: from the opening before it came to its listener; times are from the trace's origin.

    Raises RunError if none came.
    """
    came = trace.filter((pl.col("event") == "delivered") & (pl.col("stream").cast(pl.String) == "waits"))
    if not came.height:
        raise RunError("no frame that waited for its gate arrived")
    times: np.ndarray[Any, np.dtype[np.int64]] = (came["time_ps"].cast(pl.Int64) // _NS).to_numpy()
    return (times - first_opening_ns) % CYCLE_NS


def bench(rounds: int, seconds: float, where: lab.Where, tell: Tell) -> Iterator[dict[str, Any]]:
    """Rows of both, on a kernel that has taprio, and of what a frame costs there, through the bridge with priorities.

    Raises:
        RunError: There is no such kernel, or a run failed.

    """
    networks = {nodes: network(nodes, seconds) for nodes in KINDS}
    with lab.hosts(list(networks.values()), where, tell) as machine:
        found = {nodes: _played(machine, each, tell) for nodes, each in networks.items()}
        on = f"on Linux {machine.about.release}" + (f", {machine.about.emulation}" if machine.about.emulation else "")
        yield from rows(found, on)
        tell("what a frame costs there")
        for row in passing(machine, rounds, seconds / 5, ["AF_PACKET"]):
            yield row | {"id": f"beside_taprio_{row['id']}", "quantity": f"{row['quantity']}, {on}"}


def _played(machine: Machine, of: Network, tell: Tell) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="penstock-gate-error-") as folder:
        played = lab.play(machine, of, How(), Path(folder) / "ends", tell=tell)
    base_ns = played.summary["laboratory"]["base_tai_ns"] - int(played.metadata[ORIGIN])
    return quantiles_us(errors_ns(played.trace, base_ns + OPENS_NS))


def quantiles_us(errors: np.ndarray[Any, np.dtype[np.int64]]) -> dict[str, float]:
    """By the names of rows."""
    return dict(zip(_PARTS, (percentiles(errors, list(_PARTS.values())) / _NS).tolist(), strict=True))


def rows(found: Mapping[str, Mapping[str, float]], on: str) -> Iterator[dict[str, Any]]:
    """The plane's p99 has to be at most taprio's."""
    for nodes, quantiles in found.items():
        for name, value in quantiles.items():
            row: dict[str, Any] = {
                "id": f"beside_taprio_{nodes}_{name}",
                "quantity": f"frame by {KINDS[nodes]} at its listener after its gate opened, {name}, {on}",
                "unit": "us",
                "measured": round(value, 1),
                "ok": True,
            }
            if nodes == "plane" and name == "p99":
                goal = round(found["linux"][name], 1)
                row |= {"goal": goal, "ok": row["measured"] <= goal}
            yield row
