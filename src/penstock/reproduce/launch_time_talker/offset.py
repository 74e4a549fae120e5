# SPDX-License-Identifier: Apache-2.0
"""Table 2: the total transmit time back to back, without launch times and over the transmit offset."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]

from penstock import delay_variation
from penstock.delay_variation import Instants
from penstock.reproduce import drawing
from penstock.reproduce.experiment import Case, Experiment, Found, Options, Outcomes, Picture
from penstock.reproduce.launch_time_talker import columns, printed
from penstock.reproduce.launch_time_talker.place import FOLDER, PERIOD_PS
from penstock.reproduce.outcome import NONE, Frames
from penstock.reproduce.row import Row

OFFSETS_US = (65, 75, 85, 90, 95)
_FIT_MEAN_US, _FIT_JITTER_NS = 0.2, 100.0  # by how much the fit of the distributions may be off
_ENOUGH_FRAMES = 100_000  # for a mean in which a frame in a thousand counts
_LEAD_PS, _CABLE_PS, _TICK_PS = 64_000, 50_000, 8_000  # preamble and delimiter; the cable; a stamp's grid
_BINS = np.arange(0.0, 250.0, 0.25)

_CASES = (
    Case(FOLDER / "table2-software.toml", at={"offset": None}),
    *(
        Case(FOLDER / "table2.toml", {"streams.tsn.source.launch.offset": f"{offset}us"}, {"offset": offset})
        for offset in OFFSETS_US
    ),
)


def _arrived(frames: Frames) -> Instants:
    """At the end of the talker's cable."""
    return frames.at_bridge["received"]


def said(offset: int | None) -> str:
    """Which run, for people."""
    return "without launch times" if offset is None else f"offset {offset} us"


def _evaluate(outcomes: Outcomes, _options: Options) -> Found:
    found = Found()
    missed_before: int | None = None
    for case, outcome in outcomes:
        offset, frames = case.at["offset"], outcome.frames["tsn"]
        called, name = said(offset), key(offset)
        transmit = _arrived(frames) - frames.created_ps
        found.rows += columns.rows(
            f"{name}.transmit", f"total transmit time, {called}", transmit, printed.TRANSMIT[offset]
        )
        found.rows += _fit(name, called, offset, frames)
        if offset is not None:
            missed = int(outcome.stream("tsn")["launch"]["missed"])
            found.rows += _launched(name, called, offset, frames, missed, missed_before)
            missed_before = missed
    times = {case.at["offset"]: _arrived(run.frames["tsn"]) - run.frames["tsn"].created_ps for case, run in outcomes}
    note = "From construction to the end of the cable, frames in each quarter of a microsecond."
    found.pictures += [Picture("Total transmit time", note, histogram(times)), _sweep(found.rows)]
    return found


def key(offset: int | None) -> str:
    """The same in ids of rows."""
    return f"table2.{'software' if offset is None else offset}"


def histogram(transmit_ps: Mapping[int | None, Instants]) -> go.Figure:
    """Total transmit times by offset."""
    figure = drawing.figure("total transmit time / us", "frames", barmode="overlay")
    drawing.log_y(figure)
    for number, (offset, times) in enumerate(transmit_ps.items()):
        counts, edges = np.histogram(times / 1e6, _BINS)
        filled = counts > 0
        figure.add_bar(
            x=edges[:-1][filled] + 0.125, y=counts[filled], width=0.25, name=said(offset), opacity=0.75,
            marker_color=drawing.COLORS[number],
        )  # fmt: skip
    return figure


def _fit(name: str, said: str, offset: int | None, frames: Frames) -> list[Row]:
    """What the stated distributions have to bring back."""
    arrived = _arrived(frames)
    mean = float((arrived - frames.created_ps).mean()) / 1e6
    jitter = float(np.abs(delay_variation.period_jitter(arrived, PERIOD_PS)).mean()) / 1000
    theirs = printed.TRANSMIT[offset][1] / 1000
    rows = [Row.near(f"{name}.mean", f"mean total transmit time, {said}", "us", mean, theirs, _FIT_MEAN_US).as_key()]
    id_, label, theirs = f"{name}.jitter", f"mean period jitter, {said}", printed.MEAN_PERIOD_JITTER[offset]
    if arrived.size < _ENOUGH_FRAMES:
        return [*rows, Row.told(id_, label, "ns", jitter, paper=theirs).as_key()]
    tolerance = _FIT_JITTER_NS if offset is None else _FIT_JITTER_NS / 10
    return [*rows, Row.near(id_, label, "ns", jitter, theirs, tolerance).as_key()]


def _launched(name: str, said: str, offset: int, frames: Frames, missed: int, before: int | None) -> list[Row]:
    """A frame in time takes the offset less what it took to wake up; one that missed its launch time takes longer."""
    in_time = frames.missed_ps == NONE
    nominal = frames.created_ps // PERIOD_PS * PERIOD_PS
    theory = offset * 1_000_000 - (frames.created_ps - nominal)[in_time] + _LEAD_PS + _CABLE_PS
    error = (_arrived(frames) - frames.created_ps)[in_time] - theory
    late_ps = (frames.sent_ps - frames.missed_ps)[~in_time] - _LEAD_PS
    told = Row.told if before is None else Row.within
    more = {} if before is None else {"bound": before}
    rows = [
        told(f"{name}.missed", f"missed launch times, {said}", "frames", missed, **more).as_key(),
        Row.equals(
            f"{name}.launched", f"mean arrival of frames in time after their launch time, {said}", "us",
            float(error.mean()) / 1e6, _TICK_PS / 2 / 1e6, _TICK_PS / 2 / 1e6,
        ),
        Row.equals(
            f"{name}.traced", f"missed launch times in the trace, {said}", "frames", int(late_ps.size), missed, 0
        ),
    ]  # fmt: skip
    if late_ps.size:
        rows.append(Row.told(f"{name}.lateness", f"largest lateness, {said}", "us", float(late_ps.max()) / 1e6))
    if offset == OFFSETS_US[-1]:
        rows.append(Row.equals(f"{name}.none", f"missed launch times, {said}", "frames", missed, 0, 0))
    return rows


def _sweep(rows: list[Row]) -> Picture:
    """The mean period jitter over the offset."""
    by_name = {row.id: row for row in rows}
    figure = drawing.figure("transmit offset / us", "mean period jitter / ns")
    ours = [by_name[f"table2.{offset}.jitter"].measured for offset in OFFSETS_US]
    drawing.curve(figure, "ours", OFFSETS_US, ours, drawing.COLORS[0])
    drawing.paper(figure, "paper", OFFSETS_US, [printed.MEAN_PERIOD_JITTER[offset] for offset in OFFSETS_US])
    note = (
        "An offset that is too short lets frames miss their launch times; what is left is the controller's own error."
    )
    return Picture("Mean period jitter over the transmit offset", note, figure)


EXPERIMENT = Experiment("table2", "The transmit offset that launch times need", "Table 2", _CASES, _evaluate)
