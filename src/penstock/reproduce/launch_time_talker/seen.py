# SPDX-License-Identifier: Apache-2.0
"""What is read from runs on real Linux: what the model's rows have, and claims that hold on any processor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from penstock import delay_variation
from penstock.delay_variation import Instants
from penstock.end.trace import ORIGIN
from penstock.reproduce.experiment import Case, Found, Outcomes, Picture
from penstock.reproduce.laboratory import AHEAD
from penstock.reproduce.launch_time_talker import columns, interference, offset, printed, switches
from penstock.reproduce.launch_time_talker.laboratory import DELTA_NS, InLaboratory, factor
from penstock.reproduce.launch_time_talker.place import PERIOD_PS
from penstock.reproduce.outcome import Frames, Outcome
from penstock.reproduce.row import Row
from penstock.scenario import load
from penstock.scenario.windows import acting

# From a gate to the listener's stamp, at most: the kernel's work, also on an emulated processor.
BEHIND_GATE_US = 50.0
_LAST = ("switch2", 1)  # whose gate is the last on the way
_FEWEST = 3  # of which there is a change of a change
_OTHER_AS_BOUND = "measured at most the other's mean, shown as bound"


@dataclass(frozen=True)
class Seen:
    """A stream of a run: the frames that arrived, and what became of the others."""

    frames: Frames
    lost: int
    factor: int  # how many times as long as the scenario's its times are
    origin_ns: int  # of its times, in ns of TAI
    too_late: int  # frames that the kernel had only after their launch time

    @property
    def period_ps(self) -> int:
        """From frame to frame."""
        return PERIOD_PS * self.factor

    @property
    def is_whole(self) -> bool:
        """Whether there is enough to compute from."""
        return self.frames.bytes.size >= _FEWEST

    @property
    def late(self) -> int:
        """The frames that passed in a later window than that of the period in which they were constructed."""
        return int((self._number(self.frames.delivered_ps) > self._number(self.frames.created_ps)).sum())

    @property
    def transmit_ps(self) -> Instants:
        """From construction to reception."""
        return self.frames.delivered_ps - self.frames.created_ps

    @property
    def jitter_ps(self) -> Instants:
        """Equation 1."""
        return delay_variation.period_jitter(self.frames.delivered_ps, self.period_ps)

    def phase_ps(self, instants_ps: Instants) -> Instants:
        """After the last multiple of the period by TAI."""
        return (instants_ps + self.origin_ns * 1000 % self.period_ps) % self.period_ps

    def _number(self, instants_ps: Instants) -> Instants:
        """Of the period."""
        return (instants_ps + self.origin_ns * 1000 % self.period_ps) // self.period_ps


def seen(outcome: Outcome, stream: str, gated: bool) -> Seen:
    """A stream of a run."""
    told = outcome.summary["laboratory"]
    count = outcome.stream(stream)
    ahead_ns = np.asarray(told[AHEAD].get(stream, []))
    return Seen(
        outcome.frames[stream],
        count["sent"] - count["delivered"],
        factor(gated, bool(told["emulated"])),
        int(told["stamps"][ORIGIN]),
        int((ahead_ns < DELTA_NS).sum()),
    )


def switches_rows(outcomes: Outcomes) -> Found:
    """Table 1."""
    found = Found()
    runs: dict[bool, Seen] = {}
    for case, outcome in outcomes:
        launch = case.at["launch"]
        run = runs[launch] = seen(outcome, "tsn", gated=True)
        name, said = f"table1.{switches.NAMES[launch]}", switches.SAID[launch]
        found.rows += _arrived(name, said, run)
        if not run.is_whole:
            continue
        found.rows += switches.compared(name, launch, run.frames, run.period_ps)
        if launch:
            found.rows.append(_late(name, said, run))
            found.rows.append(_too_late(f"{name}.missed", "missed launch times", run, required=True))
        else:
            found.rows.append(Row.told(f"{name}.late", f"frames a window late, {said}", "frames", run.late).as_key())
        found.rows += _behind_gate(name, said, case, run)
    if all(run.is_whole for run in runs.values()):
        drawn = switches.drawn({launch: run.frames for launch, run in runs.items()}, runs[True].period_ps)
        found.pictures.append(
            Picture("Laboratory: period jitter through three gated switches", _note(runs[True]), drawn)
        )
    return found


def offset_rows(outcomes: Outcomes) -> Found:
    """Table 2."""
    found = Found()
    runs = {case.at["offset"]: seen(outcome, "tsn", gated=False) for case, outcome in outcomes}
    for at, run in runs.items():
        name, said = offset.key(at), offset.said(at)
        found.rows += _arrived(name, said, run)
        if not run.is_whole:
            continue
        found.rows += columns.rows(
            f"{name}.transmit", f"total transmit time, {said}", run.transmit_ps, printed.TRANSMIT[at]
        )
        found.rows += [
            Row.told(f"{name}.mean", f"mean total transmit time, {said}", "us", _mean_us(run.transmit_ps)).as_key(),
            Row.told(
                f"{name}.wake", f"mean time from waking up to construction, {said}", "us",
                _mean_us(run.phase_ps(run.frames.created_ps)),
            ),
            _jitter(name, said, run, None if at is None else runs[None]),
        ]  # fmt: skip
        if at is not None:
            found.rows += [
                _too_late(f"{name}.missed", f"missed launch times, {said}", run, required=False).as_key(),
                _early(name, said, at * 10**6, run),
            ]
    found.rows += _longer(runs)
    whole = {at: run for at, run in runs.items() if run.is_whole}
    if whole:
        drawn = offset.histogram({at: run.transmit_ps for at, run in whole.items()})
        note = f"From construction to the listener's program. {_note(next(iter(whole.values())))}"
        found.pictures.append(Picture("Laboratory: total transmit time", note, drawn))
    return found


def interference_rows(outcomes: Outcomes) -> Found:
    """Table 3."""
    found = Found()
    of: dict[tuple[str, bool], Seen] = {}
    for case, outcome in outcomes:
        disturbed = case.at["interference"]
        for stream in interference.STREAMS:
            run = of[stream, disturbed] = seen(outcome, stream, gated=True)
            name, said = interference.key(stream, disturbed), interference.said_of(stream, disturbed)
            found.rows += _arrived(name, said, run)
            if run.is_whole:
                found.rows += interference.compared(stream, disturbed, run.frames)
            if run.is_whole and stream == "tsn":
                found.rows += [_late(name, said, run), *_behind_gate(name, said, case, run)]
            if run.is_whole:
                found.rows.append(_early(name, said, _launch_ps(case, stream) * run.factor, run))
        if disturbed:
            count = outcome.stream("interference")["delivered"]
            row = Row.told("table3.interference", "interfering frames that arrived", "frames", count)
            found.rows.append(replace(row, requirement="above 0", ok=count > 0))
        frames = {key: run.frames for key, run in of.items() if run.is_whole}
        if len(frames) == len(of):
            picture = interference.picture(disturbed, frames)
            found.pictures.append(replace(picture, title=f"Laboratory, {picture.title.lower()}"))
    if all(run.is_whole for run in of.values()):
        found.rows += _disturbed(of)
    return found


def _note(run: Seen) -> str:
    note = InLaboratory().note(run.factor > 1)
    return "On real Linux." + (f" On an emulated processor: {note}." if note else "")


def _mean_us(times_ps: Instants) -> float:
    return float(times_ps.mean()) / 1e6


def _arrived(name: str, said: str, run: Seen) -> list[Row]:
    """Frames are constructed one after the other, and on one way they stay so."""
    out_of_order = int((np.diff(run.frames.created_ps) < 0).sum())
    before = int((run.transmit_ps <= 0).sum())
    return [
        Row.equals(f"{name}.lost", f"frames lost, {said}", "frames", run.lost, 0, 0),
        Row.equals(f"{name}.order", f"frames out of order, {said}", "frames", out_of_order, 0, 0),
        Row.equals(f"{name}.causal", f"frames received before they were constructed, {said}", "frames", before, 0, 0),
    ]


def _late(name: str, said: str, run: Seen) -> Row:
    return Row.equals(f"{name}.late", f"frames a window late, {said}", "frames", run.late, 0, 0).as_key()


def _too_late(name: str, label: str, run: Seen, required: bool) -> Row:
    """Frames that the kernel had after their launch time, so that it sent them at once."""
    if required:
        return Row.equals(name, label, "frames", run.too_late, 0, 0)
    return Row.told(name, label, "frames", run.too_late)


def _early(name: str, said: str, launch_ps: int, run: Seen) -> Row:
    """Nothing arrives before its launch time in its period; without etf all would, as software takes less."""
    early = int((run.phase_ps(run.frames.delivered_ps) < launch_ps).sum())
    return Row.equals(f"{name}.early", f"frames that arrive before their launch time, {said}", "frames", early, 0, 0)


def _launch_ps(case: Case, stream: str) -> int:
    """The scenario's, after the beginning of a period."""
    found = load(case.scenario).streams[stream]
    assert found.handover is not None
    assert found.handover.launch is not None
    return found.source.start + found.handover.launch.offset_ps


def _jitter(name: str, said: str, run: Seen, software: Seen | None) -> Row:
    """A launch time makes the period no worse than software does that sleeps."""
    place, label = f"{name}.jitter", f"mean period jitter, {said}"
    mean_ns = float(np.abs(run.jitter_ps).mean()) / 1000
    if software is None or not software.is_whole:
        return Row.told(place, label, "ns", mean_ns).as_key()
    row = Row.within(place, label, "ns", mean_ns, float(np.abs(software.jitter_ps).mean()) / 1000)
    return replace(row, requirement=_OTHER_AS_BOUND).as_key()


def _longer(runs: Mapping[int | None, Seen]) -> list[Row]:
    """A longer offset makes the time longer."""
    found = []
    for less, more in zip(offset.OFFSETS_US, offset.OFFSETS_US[1:], strict=False):
        if runs[less].is_whole and runs[more].is_whole:
            label = f"mean total transmit time, offset {less} us, at most that with {more} us"
            times = (_mean_us(runs[at].transmit_ps) for at in (less, more))
            row = Row.within(f"table2.{less}<{more}", label, "us", *times)
            found.append(replace(row, requirement=_OTHER_AS_BOUND))
    return found


def _behind_gate(name: str, said: str, case: Case, run: Seen) -> list[Row]:
    """Frames come while the last switch's gate is open for them or soon after it closed."""
    bridge, port = _LAST
    network = load(case.scenario)
    gates = network.bridges[bridge].gates[port]
    open_us = acting(gates).open_time(network.class_at(network.streams["tsn"], bridge)) / 1e3 * run.factor
    opens_ps = gates.base_time_ns * 1000 * run.factor % run.period_ps
    after_us = (run.phase_ps(run.frames.delivered_ps) - opens_ps) % run.period_ps / 1e6
    outside = int((after_us > open_us + BEHIND_GATE_US).sum())
    label = f"frames that come outside their window, or {BEHIND_GATE_US:g} us and more after it, {said}"
    window = Row.equals(f"{name}.window", label, "frames", outside, 0, 0).as_key()
    held = Row.within(
        f"{name}.held", f"largest time after the last gate's opening, {said}", "us",
        float(after_us.max()), open_us + BEHIND_GATE_US,
    )  # fmt: skip
    return [window, held]


def _disturbed(of: Mapping[tuple[str, bool], Seen]) -> list[Row]:
    """What interference does. A veth has no rate, so that best effort does not wait for the interfering frames.

    But gates take up what the way to them adds, and best effort has all of it.
    """
    mean = {key: _mean_us(run.transmit_ps) for key, run in of.items()}
    apart = {stream: float(np.ptp(of[stream, True].transmit_ps)) / 1000 for stream in interference.STREAMS}
    label = "peak to peak with interference: the time-sensitive stream's, at most that of best effort"
    spread = Row.within("table3.spread", label, "ns", apart["tsn"], apart["be"])
    added = [
        Row.told(
            f"table3.{stream}.added", f"what interference adds to the mean, {called}", "us",
            mean[stream, True] - mean[stream, False],
        ).as_key()
        for stream, called in interference.STREAMS.items()
    ]  # fmt: skip
    return [replace(spread, requirement="measured at most the other's, shown as bound").as_key(), *added]
