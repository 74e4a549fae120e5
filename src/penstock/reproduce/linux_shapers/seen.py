# SPDX-License-Identifier: Apache-2.0
"""What is read from runs on real Linux: what the model's rows have, and claims that hold on any processor."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from penstock.end.trace import ORIGIN
from penstock.percentile import percentile
from penstock.reproduce.experiment import Found, Outcomes, Picture
from penstock.reproduce.linux_shapers import panels
from penstock.reproduce.linux_shapers.laboratory import slower
from penstock.reproduce.linux_shapers.packets import STREAMS, Packets, packets
from penstock.reproduce.linux_shapers.place import BACKGROUND, CONFIGURATIONS, FOLDER, by_configuration, key, said
from penstock.reproduce.outcome import Outcome, Times
from penstock.reproduce.row import Row
from penstock.scenario import load
from penstock.scenario.windows import acting

Order = tuple[tuple[str, str], ...]

GATED = "taprio"
# From the gate to the listener's stamp, at most: the kernel's work, also on an emulated processor.
BEHIND_GATE_US = 50.0


def delays(mixed: bool, order: Order, outcomes: Outcomes) -> Found:
    """Figures 2 and 5."""
    found, runs = Found(), by_configuration(outcomes, mixed)
    of = arrived(runs)
    name_of = key(mixed)
    for name, called in CONFIGURATIONS.items():
        mean = of[name].mean_us if name in of else None
        longest = float(of[name].delay_us.max()) if name in of else None
        found.rows += [
            Row.told(f"{name_of}.{name}.mean", f"mean delay, {called}", "us", mean).as_key(),
            Row.told(f"{name_of}.{name}.max", f"longest delay, {called}", "us", longest).as_key(),
            _lost(name_of, name, called, runs[name]),
        ]
    for less, more in order:
        if less in of and more in of:
            label = f"mean delay of {CONFIGURATIONS[less]}, at most that of {CONFIGURATIONS[more]}"
            row = Row.within(f"{name_of}.{less}<{more}", label, "us", of[less].mean_us, of[more].mean_us)
            found.rows.append(replace(row, requirement="measured at most the other's mean, shown as bound").as_key())
    found.rows += [_closed(name, mixed, of[name], runs[name]) for name in ("mqprio", GATED) if name in of]
    if mixed:
        found.rows += [_beside(name, kind, runs[name]) for name in CONFIGURATIONS for kind in BACKGROUND]
    values = {name: each.delay_us for name, each in of.items()}
    found.pictures.append(panels.series("Laboratory: delay of each packet", "delay / us", values, _note(mixed), {}))
    return found


def jitters(mixed: bool, outcomes: Outcomes) -> Found:
    """Figures 3 and 6."""
    found = Found()
    of = {name: each.jitter_us for name, each in arrived(by_configuration(outcomes, mixed)).items()}
    for name, jitter in of.items():
        called, place = CONFIGURATIONS[name], f"{key(mixed)}.{name}.jitter"
        largest = float(np.abs(jitter).max())
        found.rows.append(Row.told(place, f"largest jitter, either way, {called}", "us", largest).as_key())
        label = f"standard deviation of jitter, {called}"
        found.rows.append(Row.told(f"{place}.deviation", label, "us", float(jitter.std())))
    found.pictures.append(panels.series("Laboratory: jitter of each packet", "jitter / us", of, _note(mixed), {}))
    return found


def distributions(mixed: bool, steady_us: float, outcomes: Outcomes) -> Found:
    """Figures 4 and 7."""
    found = Found()
    of = arrived(by_configuration(outcomes, mixed))
    for name, each in of.items():
        called = CONFIGURATIONS[name]
        for part in (0.5, 0.99):
            label = f"{part * 100:g} % of the delays are below, {called}"
            value = percentile(each.delay_us, part)
            found.rows.append(Row.told(f"{key(mixed)}.{name}.p{part * 100:g}", label, "us", value))
        steady = float((np.abs(each.jitter_us) < steady_us).mean()) * 100
        label = f"packets whose jitter is below {steady_us:g} us, {called}"
        found.rows.append(Row.told(f"{key(mixed)}.{name}.steady", label, "%", steady).as_key())
    found.pictures += [
        _distribution("delay", {name: each.delay_us for name, each in of.items()}, mixed),
        _distribution("jitter", {name: each.jitter_us for name, each in of.items()}, mixed),
    ]
    return found


def arrived(runs: Mapping[str, Outcome]) -> dict[str, Packets]:
    """The packets of each configuration of which all streams arrived."""
    whole = {name: all(run.frames[stream].bytes.size > 1 for stream in STREAMS) for name, run in runs.items()}
    return {name: packets(runs[name]) for name in CONFIGURATIONS if whole[name]}


def _distribution(what: str, values: Mapping[str, Times], mixed: bool) -> Picture:
    return panels.distribution(f"Laboratory: {what}", f"{what} / us", values, _note(mixed))


def _note(mixed: bool) -> str:
    return (
        f"On real Linux, with {said(mixed)}. On an emulated processor absolute times are not the paper's, and periods, "
        f"gates and the time that a packet's credit takes are {slower(True)} times as long: compare orders."
    )


def _lost(name_of: str, name: str, called: str, outcome: Outcome) -> Row:
    lost = sum(outcome.stream(stream)["sent"] - outcome.stream(stream)["delivered"] for stream in STREAMS)
    return Row.equals(f"{name_of}.{name}.lost", f"packets lost, {called}", "packets", lost, 0, 0)


def _closed(name: str, mixed: bool, of: Packets, outcome: Outcome) -> Row:
    """Packets that came when taprio's gate for audio had been closed for longer than their way takes."""
    label = (
        f"packets that come {BEHIND_GATE_US:g} us or more after taprio's gate for audio closed, {CONFIGURATIONS[name]}"
    )
    told = outcome.summary["laboratory"]
    open_us, cycle_us = (time * slower(bool(told["emulated"])) for time in _gate_us())
    phase_us = int(told["stamps"][ORIGIN]) / 1e3 % cycle_us + of.created_ps / 1e6 + of.delay_us
    share = float((phase_us % cycle_us > open_us + BEHIND_GATE_US).mean()) * 100
    place = f"{key(mixed)}.{name}.closed"
    if name == GATED and not mixed:
        return Row.equals(place, label, "%", share, 0, 0).as_key()
    return Row.told(place, label, "%", share).as_key()


def _gate_us() -> tuple[float, float]:
    """For how long the gate for audio is open from the start of each cycle, and the cycle."""
    network = load(FOLDER / f"{GATED}.toml")
    stream = network.streams[STREAMS[0]]
    talker = network.stations[stream.talker]
    gates = talker.gates[0]
    return acting(gates).open_time(network.class_at_talker(stream)) / 1e3, gates.cycle_time_ns / 1e3


def _beside(name: str, kind: str, outcome: Outcome) -> Row:
    """What iperf3 says that its server got."""
    program = outcome.summary["beside"][f"iperf3-{kind}"]
    label = f"{kind.upper()} of iperf3 beside, {CONFIGURATIONS[name]}"
    try:
        rate = float(json.loads(program["stdout"])["end"]["sum_received"]["bits_per_second"]) / 1e6
    except (ValueError, KeyError):
        rate = 0.0
    row = Row.told(f"mix.{name}.{kind}", label, "Mb/s", rate)
    return replace(row, requirement="above 0", ok=rate > 0)
