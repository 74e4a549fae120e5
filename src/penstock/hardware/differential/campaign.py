# SPDX-License-Identifier: Apache-2.0
"""Many scenarios on all cores: whether hardware and model are equal, and whether all was met that should be met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock import _engine
from penstock.ethernet import R_TAG_BYTES, TAG_BYTES
from penstock.hardware.differential.compare import (
    COLUMNS,
    DROPPED,
    INPUT,
    OUTPUT,
    STAMP,
    VERDICT,
    Difference,
    compare,
    table,
)
from penstock.hardware.differential.draw import CHANGES, SHAPING, WITH_HOST, draw
from penstock.hardware.differential.play import Play, Record, play_model, play_rtl
from penstock.hardware.differential.scenario import Scenario
from penstock.hardware.pool import each
from penstock.hardware.traffic import RESERVED, library, refusals

SIZES = (2, 3, 4, 8)
ENOUGH_SCENARIOS = 100  # from this many on, all that should be met has to be met

# A frame is dropped for its age after a second: too long to simulate with traffic inside. hw/tb/pen_queue tests it.
NOT_DRAWN = ("none", "lifetime")
# So much longer a frame leaves that gets an R-TAG, and no tag, one more, or one less; or shorter that loses it.
WITH_R_TAG = (R_TAG_BYTES, R_TAG_BYTES + TAG_BYTES, R_TAG_BYTES - TAG_BYTES)
SHOULD_BE_MET = (
    *(f"fate.{reason}" for reason in _engine.HARDWARE_REASONS if reason not in NOT_DRAWN),
    "fate.sent", "fate.several_copies", "fate.short_gap", "dropped_queued.max_sdu",
    "r_tag.inserted", "r_tag.removed", "ptp.corrected",
    "stream.ipv4", "stream.destination", "stream.source", "stream.shaped", "stream.held", "stream.unshaped",
    *(f"change.{kind}" for kind in (*CHANGES, *SHAPING)),
    "aging.sweep", "host.received_at", "host.direct", "host.sent", "host.reserved",
    "host.stamped",
    *(f"judged.{way}" for way in ("staged", "kept", "read", "passed")),
)  # fmt: skip

Row = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What came of one scenario."""

    seed: int
    ports: int
    frames: int
    met: Counter[str]
    differences: tuple[Difference, ...]


def differ(scenario: Scenario, model: Play = play_model) -> tuple[list[Difference], Record]:
    """Plays a scenario on both sides. A side that fails differs as well. The record is the hardware's."""
    rtl = play_rtl(scenario)
    try:
        twin = model(scenario, rtl.end_cycle)
        return compare(scenario, rtl, twin), replace(rtl, judged=twin.judged)
    except BaseException as error:  # a panic of the engine is no Exception
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        return [Difference(0, f"the model fails: {error!r}")], rtl


def one(seed: int, ports: int, frames: int) -> Outcome:
    """Draws and plays one scenario."""
    scenario = draw(seed, ports, frames)
    differences, rtl = differ(scenario)
    return Outcome(seed, ports, len(scenario.arrivals), met(scenario, rtl), tuple(differences))


def met(scenario: Scenario, rtl: Record) -> Counter[str]:
    """What the frames of a scenario met, and what was changed meanwhile."""
    count = Counter[str]()
    ports = scenario.ports
    idle_cycles = 4 + 2 * ports + 19  # from the end of the last bit to the first cycle in which it may be selected
    entered: dict[int, int] = {}
    # Where no port tags, a frame that leaves with another content as long as it came is one that is corrected.
    tags = bool(scenario.config.tagging_ports) or any(change.kind == "vlan_tagging" for change in scenario.changes)
    for row in table(rtl).tolist():
        event = dict(zip(COLUMNS, row, strict=True))
        if event["kind"] == INPUT:
            entered[event["frame"]] = event["cycle"]
        elif event["kind"] == OUTPUT:
            count["fate.sent"] += 1
            longer = event["length"] - scenario.arrivals[event["frame"]].frame.size
            count["r_tag.inserted"] += longer in WITH_R_TAG
            count["r_tag.removed"] += -longer in WITH_R_TAG
            count["ptp.corrected"] += longer == 0 and not tags and bool(event["flags"] & _engine.FLAG_EDITED)
            count["host.sent"] += scenario.config.host and event["port"] == ports - 1
        elif event["kind"] == STAMP:
            count["host.stamped"] += 1
            count["host.stamps_lost"] += event["fcs"] >> 16 & 255
        elif event["kind"] == DROPPED:
            count[f"dropped_queued.{_engine.REASONS[event['reason']]}"] += 1
        elif event["kind"] == VERDICT:
            count["fate.several_copies"] += event["destination"].bit_count() > 1
            count["fate.short_gap"] += bool(event["flags"] & _engine.FLAG_SHORT_GAP)
            header = scenario.arrivals[event["frame"]].frame.host
            if header is not None and not event["reason"]:
                count["host.direct" if header[0] & 1 else "host.received_at"] += 1
            if event["reason"]:
                count[f"fate.{_engine.REASONS[event['reason']]}"] += 1
            if scenario.config.host and scenario.arrivals[event["frame"]].frame.head[:5] == RESERVED:
                count["host.reserved"] += event["destination"] == 1 << ports - 1
            for reason in refusals(event["refused"], event["refused_reasons"], ports).values():
                count[f"fate.{reason}"] += 1
            if event["flags"] & _engine.FLAG_STREAM:
                shaped = bool(event["flags"] & _engine.FLAG_SHAPED)
                arrival = entered[event["frame"]] + event["length"]
                count["stream.shaped" if shaped else "stream.unshaped"] += 1
                count["stream.held"] += shaped and event["visible"] > arrival + idle_cycles
                if event["stream"] < len(scenario.config.streams):
                    count[f"stream.{scenario.config.streams[event['stream']].identify}"] += 1
    for change in scenario.changes:
        count[f"change.{change.kind}"] += 1
    if 1 in (scenario.config.aging_period_ms, *(c.writes[0][1] for c in scenario.changes if c.kind == "aging_period")):
        count["aging.sweep"] += rtl.end_cycle // 125_000
    count.update({f"judged.{way}": times for way, times in rtl.judged.items()})
    return +count


@dataclass
class Report:
    """All scenarios together."""

    frames_each: int
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def met(self) -> Counter[str]:
        return sum((outcome.met for outcome in self.outcomes), Counter())

    @property
    def failed(self) -> list[Outcome]:
        return sorted((o for o in self.outcomes if o.differences), key=lambda outcome: outcome.seed)

    def rows(self) -> Iterator[Row]:
        """Differences for each size, then what was met."""
        for ports in sorted({outcome.ports for outcome in self.outcomes}):
            of_size = [outcome for outcome in self.outcomes if outcome.ports == ports]
            frames = sum(outcome.frames for outcome in of_size)
            unequal = sum(bool(outcome.differences) for outcome in of_size)
            quantity = f"scenarios that differ of {len(of_size)}, {ports} ports, {frames:,} frames"
            yield {
                "id": f"differential.{ports}_ports", "quantity": quantity, "unit": "scenarios", "measured": unequal,
                "goal": 0, "ok": unequal == 0,
            }  # fmt: skip
        met = self.met
        enough = len(self.outcomes) >= ENOUGH_SCENARIOS
        for name in dict.fromkeys([*SHOULD_BE_MET, *sorted(met)]):
            row = {"id": f"met.{name}", "quantity": f"met: {name}", "unit": "times", "measured": met[name], "ok": True}
            yield row | {"goal": 1, "ok": met[name] > 0} if enough and name in SHOULD_BE_MET else row


def campaign(
    scenarios: int,
    *,
    seed: int,
    frames: int,
    sizes: Sequence[int] = SIZES,
    jobs: int = 1,
    progress: Callable[[float], object] | None = None,
) -> Report:
    """Plays that many scenarios, one seed after the other, the sizes in turn."""
    for ports in sizes:
        library(ports=ports, host=ports in WITH_HOST)  # built here, once
    report = Report(frames)
    inputs = [(n, sizes[n % len(sizes)], frames) for n in range(seed, seed + scenarios)]
    for outcome in each(one, inputs, jobs):
        report.outcomes.append(outcome)
        if progress is not None:
            progress(len(report.outcomes) / scenarios)
    return report
