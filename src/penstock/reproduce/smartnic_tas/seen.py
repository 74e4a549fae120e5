# SPDX-License-Identifier: Apache-2.0
"""What is read from real packets: latencies, which frames the machine let go in time, and what queues held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from penstock.ethernet import WIRE_OVERHEAD_BYTES
from penstock.lab.planes import TOLERANCE_NS
from penstock.reproduce.outcome import Times
from penstock.reproduce.row import Row
from penstock.reproduce.smartnic_tas.flows import SLOW, Held
from penstock.reproduce.smartnic_tas.place import PRIORITIES
from penstock.reproduce.smartnic_tas.testbed import Played

TOLERANCE_PS = TOLERANCE_NS * 1000
# Where the machine may take its time: a plane decides that a frame departs, and then hands it over to a cable, as late
# as that again and still in time.
_DEPARTURES, _CABLES = 2, 2
_CABLE_PS = 2 * TOLERANCE_PS


def latency_us(played: Played, flow: str, *, from_program: bool = False) -> Times:
    """From the first switch to the listener, or from the talker's program, as Linux's own switches tell nothing."""
    begin = "created" if from_program else "received_nic1"
    rows = of_flow(played.frames, flow)
    return (rows["delivered"] - rows[begin]).to_numpy() / 1e6


def of_flow(frames: pl.DataFrame, flow: str) -> pl.DataFrame:
    """Its frames, as they were sent."""
    return frames.filter(pl.col("stream").str.starts_with(flow))


def later_than(ms: int) -> pl.Expr:
    """Frames that were due so long after the first one."""
    return pl.col("due") - pl.col("due").min() > ms * 10**9


def greatest_us(frames: pl.DataFrame) -> float | None:
    """From the first switch to the listener; None of no frames."""
    if not frames.height:
        return None
    return float((frames["delivered"] - frames["received_nic1"]).to_numpy().max()) / 1e6


def in_time(frames: pl.DataFrame, wire_ps: int, window_ps: int) -> pl.Series:
    """Whether the machine let each frame of an aligned ST go in time.

    It came while its window at the slow port had room for it, both planes sent it within the tolerance, both cables
    brought it at once, and it did not find on the slow link the frame before it, which something had made late.

    `wire_ps` is how long a frame takes on the slow link, whose gates open for ST in the first `window_ps` of each
    cycle; frames are in the order of being due.
    """
    cables = (
        pl.col("received_nic2") - pl.col("sent_nic1") <= _CABLE_PS,
        pl.col("delivered") - pl.col("sent_nic2") <= _CABLE_PS,
    )
    cycle = pl.col("due") - pl.col("in_cycle")
    room = pl.col("received_nic2") - cycle + wire_ps + TOLERANCE_PS <= window_ps
    free = (pl.col("received_nic2") >= pl.col("sent_nic2").shift(1) + wire_ps).fill_null(True)
    kept = ~pl.col("late_nic1") & ~pl.col("late_nic2")
    return frames.select(in_time=pl.all_horizontal(room, free, kept, *cables).fill_null(False)).to_series()


def bounded(name: str, called: str, played: Played, bound_us: float | None) -> list[Row]:
    """Each frame that the machine let go in time is within its bound; the others are counted.

    `bound_us` is that of the scenario, where a switch takes no time.
    """
    rows = of_flow(played.frames, "st")
    rate_bps = played.network.link_at[SLOW].rate_bps
    longest = max(stream.max_frame_bytes for stream in played.network.streams.values())
    wire_ps = (longest + WIRE_OVERHEAD_BYTES) * 8 * 10**12 // rate_bps
    gates = played.network.bridges[SLOW[0]].gates[SLOW[1]]
    window_ps = gates.entries[0][1] * 1000
    kept = in_time(rows, wire_ps, window_ps).to_numpy()
    latency = latency_us(played, "st")[kept]
    most = None if bound_us is None else bound_us + (_DEPARTURES * TOLERANCE_PS + _CABLES * _CABLE_PS) / 1e6
    label = f"greatest latency, ST, {called}, at most its bound"
    counts = {
        "kept": (f"frames of ST that the machine let go in time, {called}", kept),
        "others": (f"the other frames of ST, {called}", ~kept),
    }
    told = [Row.told(f"{name}.{key}", text, "frames", int(of.sum())).as_key() for key, (text, of) in counts.items()]
    return [
        Row.within(f"{name}.bound", label, "us", float(latency.max()) if latency.size else None, most).as_key(),
        *told,
    ]


def held(answers: Sequence[Mapping[str, Any]]) -> Held:
    """From readings of a plane: differences of an integral, so that nothing between two of them is missed."""
    told = [each["answer"] for each in answers if each["ask"] == {"do": "occupancy"}]
    port = f"port{SLOW[1]}"
    times = np.array([each["time_ns"] for each in told])
    mean, most = {}, {}
    for flow, traffic_class in PRIORITIES.items():
        levels = [each["ports"][port][traffic_class] for each in told]
        mean[flow] = (np.diff([level["integral_frame_ns"] for level in levels]) / np.diff(times)).tolist()
        most[flow] = max((level["most"] for level in levels), default=0)
    return Held(mean, most)
