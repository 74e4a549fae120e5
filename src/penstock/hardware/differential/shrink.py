# SPDX-License-Identifier: Apache-2.0
"""Makes a scenario smaller while hardware and model still differ: what is left is what the difference takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from penstock.ethernet import FCS_BYTES
from penstock.hardware.configure import CLASSES, SwitchConfig
from penstock.hardware.differential.compare import Difference
from penstock.hardware.differential.scenario import Scenario

MOST_RUNS = 400
LONGEST_FRAME_CYCLES = 2_200
PLAIN_SIZES = (64, 100, 500)

Item = TypeVar("Item")
Differ = Callable[[Scenario], list[Difference]]


@dataclass
class Shrinker:
    """Keeps the smallest scenario so far in which there is a difference, any difference."""

    differ: Differ
    best: Scenario
    differences: list[Difference]
    most_runs: int = MOST_RUNS
    runs: int = field(default=0, init=False)

    def shrink(self) -> None:
        """Until nothing more can be left out, or enough has been tried."""
        size = None
        while size != self._size() and self.runs < self.most_runs:
            size = self._size()
            self._drop_what_came_later()
            self._thin_out(self.best.arrivals, lambda rest: replace(self.best, arrivals=tuple(rest)))
            self._thin_out(self.best.changes, lambda rest: replace(self.best, changes=tuple(rest)))
            self._thin_out(self.best.config.streams, lambda rest: self._configured(streams=rest))
            self._thin_out(self.best.config.static_addresses, lambda rest: self._configured(static_addresses=rest))
            for settings in self._plainer():
                self._try(self._configured(**settings))
            for n in range(len(self.best.arrivals)):
                self._plainer_frame(n)
            first = min((arrival.at for arrival in self.best.arrivals), default=0)
            self._try(self._earlier(first))

    def _size(self) -> tuple[int, ...]:
        best = self.best
        return len(best.arrivals), len(best.changes), len(best.config.streams), len(best.config.static_addresses)

    def _try(self, scenario: Scenario) -> bool:
        if self.runs >= self.most_runs or scenario == self.best:
            return False
        self.runs += 1
        differences = self.differ(scenario)
        if differences:
            self.best, self.differences = scenario, differences
        return bool(differences)

    def _configured(self, **settings: Any) -> Scenario:
        return replace(self.best, config=replace(self.best.config, **settings))

    def _drop_what_came_later(self) -> None:
        end = self.differences[0].cycle
        for margin in (0, LONGEST_FRAME_CYCLES):
            arrivals = tuple(arrival for arrival in self.best.arrivals if arrival.at <= end + margin)
            changes = tuple(change for change in self.best.changes if change.at <= end + margin)
            if self._try(replace(self.best, arrivals=arrivals, changes=changes)):
                return

    def _thin_out(self, items: Sequence[Item], without: Callable[[list[Item]], Scenario]) -> None:
        """Delta debugging: leaves out parts, ever smaller ones, as long as there is a difference."""
        left = list(items)
        part = len(left)
        while part:
            start = 0
            while start < len(left) and self.runs < self.most_runs:
                rest = left[:start] + left[start + part :]
                if self._try(without(rest)):
                    left = rest
                else:
                    start += part
            part //= 2

    def _plainer(self) -> Iterator[dict[str, Any]]:
        """Settings that may not matter, as they are after reset."""
        plain = SwitchConfig()
        yield {"queue_guarantee_cells": None, "reception_guarantee_cells": None, "shared_limit_cells": None}
        for name in (
            "queue_limit_cells", "class_limit_cells", "enabled_ports", "overhead_bytes", "processing_delay_max_ns",
            "aging_period_ms", "max_frame_bytes", "port_vlan_id", "class_of_pcp", "class_of_untagged", "ats_classes",
            "pcp_of_untagged", "tagging_ports", "untagged", "translating_ports", "translations", "ipv4_fields",
            "r_tag_removal_ports", "ptp_correction_ports", "learning", "max_residence_ns",
        ):  # fmt: skip
            yield {name: getattr(plain, name)}
        config = self.best.config
        yield {"streams": [replace(entry, numbered=False) for entry in config.streams]}
        yield {"vlans": {vlan: set(range(config.ports)) for vlan in config.vlans}}
        for vlan in config.vlans:
            best = self.best.config
            yield {
                name: {v: entry for v, entry in entries.items() if v != vlan}
                for name, entries in (
                    ("vlans", best.vlans), ("untagged", best.untagged), ("translations", best.translations)
                )
            }  # fmt: skip
        for k in range(CLASSES):
            of_class = {group: ns for group, ns in self.best.config.max_residence_ns.items() if group[1] != k}
            yield {"max_residence_ns": of_class}

    def _plainer_frame(self, n: int) -> None:
        """The shortest that still shows it, filled with the first bytes."""
        frame = self.best.arrivals[n].frame
        sizes = [size for size in PLAIN_SIZES if len(frame.head) + FCS_BYTES <= size < frame.size]
        if any(self._with_frame(n, size=size) for size in sizes):
            self._with_frame(n, filler=0)

    def _with_frame(self, n: int, **changed: Any) -> bool:
        arrivals = [*self.best.arrivals]
        arrivals[n] = replace(arrivals[n], frame=replace(arrivals[n].frame, **changed))
        return self._try(replace(self.best, arrivals=tuple(arrivals)))

    def _earlier(self, cycles: int) -> Scenario:
        arrivals = tuple(replace(arrival, at=arrival.at - cycles) for arrival in self.best.arrivals)
        changes = tuple(replace(change, at=max(0, change.at - cycles)) for change in self.best.changes)
        return replace(self.best, arrivals=arrivals, changes=changes)


def shrink(
    scenario: Scenario, differences: list[Difference], differ: Differ, most_runs: int = MOST_RUNS
) -> tuple[Scenario, list[Difference]]:
    """A smaller scenario with a difference, and its differences."""
    shrinker = Shrinker(differ, scenario, differences, most_runs)
    shrinker.shrink()
    return shrinker.best, shrinker.differences
