# SPDX-License-Identifier: Apache-2.0
"""Table 3 and figure 4: time-sensitive and best-effort frames through gated switches, interference at the second."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.reproduce import drawing
from penstock.reproduce.experiment import Case, Experiment, Found, Options, Outcomes, Picture
from penstock.reproduce.launch_time_talker import columns, printed
from penstock.reproduce.launch_time_talker.place import FOLDER, PERIOD_PS
from penstock.reproduce.outcome import Frames
from penstock.reproduce.row import Row

_NEVER = "100000s"
_CASES = (
    Case(FOLDER / "table3.toml", at={"interference": True}),
    Case(FOLDER / "table3.toml", {"streams.interference.source.start": _NEVER}, {"interference": False}),
)
STREAMS = {"tsn": "time-sensitive", "be": "best effort"}
_SHOWN = 3_000  # frames of each stream in the pictures


def key(stream: str, interference: bool) -> str:
    """Of a stream of a run, in ids of rows."""
    return f"table3.{stream}.{'interference' if interference else 'quiet'}"


def said_of(stream: str, interference: bool) -> str:
    """The same for people."""
    return f"{STREAMS[stream]}, {'with' if interference else 'without'} interference"


def compared(stream: str, interference: bool, frames: Frames) -> list[Row]:
    """Ours beside the paper's."""
    transmit, theirs = frames.delivered_ps - frames.created_ps, printed.CROSSING[stream, interference]
    name, said = key(stream, interference), said_of(stream, interference)
    apart = Row.told(
        f"{name}.apart", f"total transmission time, peak to peak, {said}", "ns", float(np.ptp(transmit)) / 1000,
        paper=theirs[2] - theirs[0],
    )  # fmt: skip
    times = columns.rows(f"{name}.transmit", f"total transmission time, {said}", transmit, theirs, key=True)
    return [*times, apart.as_key()]


def _evaluate(outcomes: Outcomes, _options: Options) -> Found:
    found = Found()
    of: dict[tuple[str, bool], Frames] = {}
    for case, outcome in outcomes:
        interference = case.at["interference"]
        for stream in STREAMS:
            frames = of[stream, interference] = outcome.frames[stream]
            said = said_of(stream, interference)
            name = key(stream, interference)
            found.rows += compared(stream, interference, frames)
            count = outcome.stream(stream)
            lost = count["sent"] - count["delivered"]
            found.rows.append(Row.equals(f"{name}.lost", f"frames lost, {said}", "frames", lost, 0, 0))
        found.pictures.append(picture(interference, of))
    found.rows += _claims(of)
    return found


def _claims(of: dict[tuple[str, bool], Frames]) -> list[Row]:
    """What the gates promise: interference is nothing to the time-sensitive stream and all to best effort."""
    with_it, without = of["tsn", True], of["tsn", False]
    same = with_it.delivered_ps.size == without.delivered_ps.size
    apart = float(np.abs(with_it.delivered_ps - without.delivered_ps).max()) / 1000 if same else None
    label = "largest difference that interference makes to a time-sensitive frame's arrival"
    quiet, disturbed = (float((of["be", on].delivered_ps - of["be", on].sent_ps).mean()) / 1e6 for on in (False, True))
    jitter = np.diff(with_it.delivered_ps) - PERIOD_PS
    return [
        Row.equals("table3.unharmed", label, "ns", apart, 0, 0).as_key(),
        Row.within(
            "table3.grows", "mean latency of best effort without interference, against that with it", "us",
            quiet, disturbed,
        ).as_key(),
        Row.within(
            "table3.period", "period jitter of the time-sensitive stream with interference, peak to peak", "ns",
            float(np.ptp(jitter)) / 1000, 16.0,
        ).as_key(),
    ]  # fmt: skip


def picture(interference: bool, of: Mapping[tuple[str, bool], Frames]) -> Picture:
    """Figure 4."""
    figure = drawing.figure("network time / s", "total transmission time / us")
    for number, (stream, called) in enumerate(reversed(STREAMS.items())):  # best effort below the other
        frames = of[stream, interference]
        times = (frames.delivered_ps - frames.created_ps)[:_SHOWN] / 1e6
        drawing.points(figure, called, frames.created_ps[:_SHOWN] / 1e12, times, drawing.COLORS[number])
    which = "with" if interference else "without"
    note = f"The first {min(_SHOWN, of['tsn', interference].bytes.size):,} frames of each stream."
    return Picture(f"Figure 4: {which} interfering traffic", note, figure)


EXPERIMENT = Experiment("table3", "Interfering traffic at the second switch", "Table 3, figure 4", _CASES, _evaluate)
