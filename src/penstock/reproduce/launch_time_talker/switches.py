# SPDX-License-Identifier: Apache-2.0
"""Table 1: the period through three gated switches, with launch times and without."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]
from numpy.typing import NDArray

from penstock import delay_variation
from penstock.reproduce import drawing
from penstock.reproduce.experiment import Case, Experiment, Found, Options, Outcomes, Picture
from penstock.reproduce.launch_time_talker import columns, printed
from penstock.reproduce.launch_time_talker.place import FOLDER, PERIOD_PS
from penstock.reproduce.outcome import Frames
from penstock.reproduce.row import Row

_CYCLE_NS = 8
# Where a frame comes in time it passes the third window so long after its opening; one that waited passes at once.
_EARLIER_NS = 10_248
_FRAME_WIRE_NS = (840 + 20) * 8
_CASES = (
    Case(FOLDER / "table1.toml", at={"launch": True}),
    Case(FOLDER / "table1-software.toml", at={"launch": False}),
)
NAMES = {True: "launch", False: "software"}
SAID = {True: "with launch times", False: "without"}
_MOST_POINTS = 3_000  # of frames that keep their period, in the picture
_SHOWN_NS = 100.0  # frames that are off by more are all shown


def late(frames: Frames) -> NDArray[np.bool_]:
    """The frames that passed in a later window than that of the period in which they were constructed."""
    found: NDArray[np.bool_] = frames.delivered_ps // PERIOD_PS > frames.created_ps // PERIOD_PS
    return found


def _evaluate(outcomes: Outcomes, _options: Options) -> Found:
    found = Found()
    for case, outcome in outcomes:
        launch, frames = case.at["launch"], outcome.frames["tsn"]
        name = f"table1.{NAMES[launch]}"
        found.rows += compared(name, launch, frames)
        found.rows += _with(name, frames, outcome.stream("tsn")) if launch else _without(name, frames)
    note = (
        "Time from arrival to arrival, less 1 ms. All frames that are off by more than 100 ns, and some of the others. "
        "A frame that misses its window is a cycle late, and so the next one seems early."
    )
    figure = drawn({case.at["launch"]: outcome.frames["tsn"] for case, outcome in outcomes})
    found.pictures.append(Picture("Period jitter through three gated switches", note, figure))
    return found


def compared(name: str, launch: bool, frames: Frames, period_ps: int = PERIOD_PS) -> list[Row]:
    """Ours beside the paper's."""
    said = SAID[launch]
    intervals = np.diff(frames.delivered_ps)
    jitter = delay_variation.period_jitter(frames.delivered_ps, period_ps)
    change = delay_variation.latency_change(frames.created_ps, frames.delivered_ps)
    variation = delay_variation.frame_delay_variation(frames.created_ps, frames.delivered_ps)
    paper = printed.DELAY_VARIATION[launch]
    peak_to_peak = Row.told(
        f"{name}.peak_to_peak", f"time since last packet, peak to peak, {said}", "ns", float(np.ptp(intervals)) / 1000,
        paper=printed.INTERVAL_PEAK_TO_PEAK[launch],
    )  # fmt: skip
    return [
        *columns.rows(f"{name}.interval", f"time since last packet, {said}", intervals, printed.INTERVAL[launch]),
        peak_to_peak.as_key(),
        *columns.rows(
            f"{name}.jitter", f"period jitter, {said}", np.abs(jitter), printed.PERIOD_JITTER[launch], key=True
        ),
        *columns.rows(f"{name}.change", f"change of latency, equations 2 and 3, {said}", np.abs(change), paper),
        *columns.rows(f"{name}.variation", f"frame delay variation, equation 4, {said}", np.abs(variation), paper),
    ]


def _with(name: str, frames: Frames, stream: dict[str, object]) -> list[Row]:
    """Every frame is there when its window opens, so that the gate's edge alone says when it leaves."""
    jitter = delay_variation.period_jitter(frames.delivered_ps, PERIOD_PS)
    launch = stream["launch"]
    assert isinstance(launch, dict)
    quantity = "period jitter, peak to peak, with launch times"
    return [
        Row.within(f"{name}.spread", quantity, "ns", float(np.ptp(jitter)) / 1000, 2.0 * _CYCLE_NS).as_key(),
        Row.equals(f"{name}.late", "frames a window late, with launch times", "frames", int(late(frames).sum()), 0, 0),
        Row.equals(f"{name}.missed", "missed launch times", "frames", int(launch["missed"]), 0, 0),
    ]


def _without(name: str, frames: Frames) -> list[Row]:
    """Which frames are late is decided by one instant, and each is late by one cycle."""
    behind = late(frames)
    count = int(behind.sum())
    scaled = printed.OUT_OF_STEP * frames.bytes.size / printed.FRAMES
    rows = [Row.told(f"{name}.late", "frames a window late, without", "frames", count, paper=scaled).as_key()]
    handed = frames.sent_ps % PERIOD_PS  # all are handed over in the period in which they were constructed
    wrong = int((handed[~behind] > handed[behind].min()).sum()) if count else 0
    label = "frames in time that were handed over after one that was late"
    rows.append(Row.equals(f"{name}.order", label, "frames", wrong, 0, 0))
    smallest = float(np.diff(frames.delivered_ps).min()) / 1000
    phase = frames.delivered_ps - frames.created_ps // PERIOD_PS * PERIOD_PS
    by_ns = float(phase[behind].min() - phase.min()) / 1000 if count else 0.0
    for id_, label, ours, theory, tolerance, paper in (
        ("smallest", "smallest time since last packet: a frame's own", smallest, _FRAME_WIRE_NS, _CYCLE_NS, 6_880),
        ("by", "by how much a frame is late that missed its window", by_ns, PERIOD_PS / 1000, _EARLIER_NS, 1_000_088),
    ):
        if count:
            rows.append(Row.equals(f"{name}.{id_}", label, "ns", ours, theory, tolerance, paper=paper))
        else:
            rows.append(Row.told(f"{name}.{id_}", label, "ns", ours, paper=paper))
    return rows


def drawn(runs: Mapping[bool, Frames], period_ps: int = PERIOD_PS) -> go.Figure:
    """The period jitter, by whether frames had launch times."""
    figure = drawing.figure("network time / s", "period jitter / us")
    for number, launch in enumerate(sorted(runs)):  # what scatters less is drawn above the other
        _draw(figure, f"ours, {SAID[launch]}", runs[launch], period_ps, drawing.COLORS[number])
    return figure


def _draw(figure: go.Figure, name: str, frames: Frames, period_ps: int, color: str) -> None:
    jitter = delay_variation.period_jitter(frames.delivered_ps, period_ps) / 1e6
    chosen = np.abs(jitter) * 1000 > _SHOWN_NS
    chosen[:: max(1, jitter.size // _MOST_POINTS)] = True
    drawing.points(figure, name, frames.delivered_ps[1:][chosen] / 1e12, jitter[chosen], color)


EXPERIMENT = Experiment("table1", "The period through three gated switches", "Table 1", _CASES, _evaluate)
