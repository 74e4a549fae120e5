# SPDX-License-Identifier: Apache-2.0
"""What changed from one run to another, stream by stream, and whether it is worse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from penstock.errors import InputError
from penstock.scenario.limits import DURATION
from penstock.scenario.units import Quantity, read_option, show_time
from penstock.table import us
from penstock.words import lasting

Change = Literal["worse", "better", "changed", "same", "gone", "new"]

_LATENCIES = ("p99", "max")


@dataclass(frozen=True)
class Tolerance:
    """By how much a latency may grow: a part of what it was, or a time."""

    part: float = 0.01
    ns: float | None = None

    @classmethod
    def of(cls, text: str) -> Tolerance:
        """`5%` or `200ns`; raises InputError."""
        if not text.endswith("%"):
            return cls(0.0, read_option(Quantity(DURATION.kind, 0, DURATION.most), text, "--tolerance") / 1000)
        try:
            part = float(text[:-1]) / 100
        except ValueError:
            part = -1.0
        if not 0 <= part <= 1000:
            what = f'"{text}" is no tolerance'
            raise InputError(
                what, allowed='a percentage from 0 to 100000, or a time, as "5%" or "200ns"', file="--tolerance"
            )
        return cls(part)

    def above(self, ns: float, error: float) -> float:
        """The most that is not worse; `error` is the relative one of the two values."""
        return ns + self.ns if self.ns is not None else ns * (1 + max(self.part, error))

    def __str__(self) -> str:
        return f"{self.part * 100:g}%" if self.ns is None else show_time(self.ns * 1000)


@dataclass(frozen=True)
class Value:
    """One quantity of a stream in both runs; `limit` is the most that is not worse, None where nothing is judged."""

    key: str
    quantity: str
    unit: str
    before: float | None
    after: float | None
    limit: float | None
    worse: bool

    @property
    def differs(self) -> bool:
        """Whether the two runs gave another value."""
        return self.before != self.after


@dataclass(frozen=True)
class Compared:
    """A stream in two runs."""

    name: str
    change: Change
    values: tuple[Value, ...]
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None

    @property
    def why(self) -> list[str]:
        """What changed, in words, what is worse first."""
        if self.change in ("gone", "new"):
            return ["is not in the second run" if self.change == "gone" else "is not in the first run"]
        return [_said(v) for v in sorted(self.values, key=lambda v: not v.worse) if v.differs]


@dataclass(frozen=True)
class Comparison:
    """Two runs."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]
    tolerance: Tolerance
    streams: tuple[Compared, ...]
    differences: tuple[str, ...]  # of the scenarios

    @property
    def worse(self) -> bool:
        """Whether some stream is."""
        return any(each.change in ("worse", "gone") for each in self.streams)

    @property
    def different(self) -> bool:
        """Whether anything is not the same."""
        return bool(self.differences) or any(each.change != "same" for each in self.streams)


def compare(before: Mapping[str, Any], after: Mapping[str, Any], tolerance: Tolerance) -> Comparison:
    """Holds the second run's summary against the first's.

    A stream is worse if its verdict was met and is not any more; if a greater part of its frames is late or dropped; if
    its p99 or largest latency grew by more than the tolerance; or if nothing of it arrives any more. A stream that the
    second run does not have is gone, which counts as worse.
    """
    error = max(run.get("statistics", {}).get("percentile_error", 0.0) for run in (before, after))
    names = [*before["streams"], *(name for name in after["streams"] if name not in before["streams"])]
    streams = []
    for name in names:
        a, b = before["streams"].get(name), after["streams"].get(name)
        if a is None or b is None:
            streams.append(Compared(name, "gone" if b is None else "new", (), a, b))
            continue
        values = _values(a, b, tolerance, error)
        change = _change(values, _values(b, a, tolerance, error))
        streams.append(Compared(name, change, tuple(values), a, b))
    return Comparison(before, after, tolerance, tuple(streams), tuple(_differences(before, after)))


def _change(values: list[Value], back: list[Value]) -> Change:
    """`back` are those from the second run to the first."""
    if any(value.worse for value in values):
        return "worse"
    if not any(value.differs for value in values):
        return "same"
    return "better" if any(value.worse for value in back) else "changed"


def _values(a: Mapping[str, Any], b: Mapping[str, Any], tolerance: Tolerance, error: float) -> list[Value]:
    def share(stream: Mapping[str, Any], count: int | None) -> float | None:
        return None if count is None else count / max(stream["copies"], 1)

    found = [
        Value(
            "verdict",
            "requirements not met",
            "",
            float(not a["ok"]),
            float(not b["ok"]),
            float(not a["ok"]),
            a["ok"] and not b["ok"],
        )
    ]
    for key, what, one, other in (
        ("late", "late or dropped frames", a["deadline_missed"], b["deadline_missed"]),
        ("dropped", "dropped frames", sum(a["dropped"].values()), sum(b["dropped"].values())),
    ):
        parts = share(a, one), share(b, other)
        worse = parts[0] is not None and parts[1] is not None and parts[1] > parts[0]
        found.append(Value(key, what, "1", one, other, one, worse))
    for key in _LATENCIES:
        one, other = a["latency_ns"][key], b["latency_ns"][key]
        found.append(_judged(key, f"{key} of latency", "ns", one, other, tolerance, error if key != "max" else 0.0))
    for key, what in (("sent", "frames sent"), ("delivered", "frames delivered")):
        found.append(Value(key, what, "1", a[key], b[key], None, False))
    for key, what in (("bound_ns", "bound"), ("deadline_ns", "deadline")):
        found.append(Value(key.removesuffix("_ns"), what, "ns", a[key], b[key], None, False))
    return found


def _judged(
    key: str, what: str, unit: str, one: float | None, other: float | None, tolerance: Tolerance, error: float
) -> Value:
    limit = None if one is None else tolerance.above(one, error)
    worse = limit is not None and (other is None or other > limit)
    return Value(key, what, unit, one, other, limit, worse)


def _said(value: Value) -> str:
    if value.key == "verdict":
        return "requirement not met any more" if value.worse else "requirement met now"

    def show(number: float | None) -> str:
        return f"{us(number)} us" if value.unit == "ns" else "none" if number is None else f"{number:,.0f}"

    grown = ""
    if value.unit == "ns" and value.before and value.after is not None:
        grown = f" ({(value.after / value.before - 1) * 100:+.1f}%)"
    return f"{value.quantity} {show(value.before)}, now {show(value.after)}{grown}"


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What the runs are of, where that is not the same."""
    said = []
    for key, what in (("name", "scenario"), ("nodes", "nodes")):
        if before.get(key) != after.get(key):
            said.append(f"{what}: {before.get(key)}, then {after.get(key)}")
    if before["duration_ns"] != after["duration_ns"]:
        said.append(f"duration: {lasting(before['duration_ns'])}, then {lasting(after['duration_ns'])}")
    for run, which in ((before, "first"), (after, "second")):
        if run["partial"]:
            said.append(f"the {which} run was interrupted")
    for name in (name for name in before["streams"] if name in after["streams"]):
        a, b = before["streams"][name], after["streams"][name]
        if (a.get("from"), a["to"]) != (b.get("from"), b["to"]):
            said.append(
                f"{name}: {a.get('from')} to {', '.join(a['to'])}, then {b.get('from')} to {', '.join(b['to'])}"
            )
    for change, names in (
        ("first", before["streams"].keys() - after["streams"].keys()),
        ("second", after["streams"].keys() - before["streams"].keys()),
    ):
        if names:
            said.append(f"only in the {change} run: {', '.join(sorted(names))}")
    return said
