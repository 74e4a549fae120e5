# SPDX-License-Identifier: Apache-2.0
"""The steps of streams on each kind of nodes: from talker to listener, and through each bridge. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Summaries = Mapping[str, Mapping[str, Any]]  # of a run, by the kind of its nodes
QUANTILES = ("min", "p50", "p99", "max")


@dataclass(frozen=True)
class Step:
    """Of the frames of one stream on one kind of nodes; times in ns, none where nobody saw the step."""

    stream: str
    place: str  # "end to end", or BRIDGE.PORT by which they leave
    nodes: str
    frames: int  # that came through it
    of: int  # that came to it, or were sent
    times_ns: Mapping[str, float] | None
    bound_ns: float | None
    ok: bool

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the way."""
        return self.place == WHOLE


WHOLE = "end to end"


def steps(summaries: Summaries) -> list[Step]:
    """Stream by stream, step by step, in the order of the kinds.

    A bridge's time is from a frame's last bit in to its first bit out. Linux's own bridges tell nothing of it.
    """
    found: list[Step] = []
    for stream in _streams(summaries):
        runs = {
            nodes: summary["streams"][stream] for nodes, summary in summaries.items() if stream in summary["streams"]
        }
        for nodes, told in runs.items():
            found.append(_whole(stream, nodes, told))
        for bridge, port in _places(list(runs.values())):
            for nodes, told in runs.items():
                found.append(_through(stream, nodes, told, bridge, port))
    return found


def _streams(summaries: Summaries) -> list[str]:
    return list(dict.fromkeys(name for summary in summaries.values() for name in summary["streams"]))


def _places(runs: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    return list(dict.fromkeys((hop["bridge"], hop["port"]) for run in runs for hop in run["hops"] or ()))


def _whole(stream: str, nodes: str, told: Mapping[str, Any]) -> Step:
    bound = told["bound_ns"]
    return Step(
        stream, WHOLE, nodes, told["delivered"], told["copies"], _times(told["latency_ns"]), bound, bool(told["ok"])
    )


def _through(stream: str, nodes: str, told: Mapping[str, Any], bridge: str, port: int) -> Step:
    at = f"{bridge}.{port}"
    for hop in told["hops"] or ():
        if (hop["bridge"], hop["port"]) == (bridge, port) and hop["frames"]:
            bound, times = hop["bound_ns"], _times(hop["passing_ns"])
            ok = bound is None or times is None or times["max"] <= bound
            return Step(stream, at, nodes, hop["frames"], hop["frames"] + hop["dropped"], times, bound, ok)
    return Step(stream, at, nodes, 0, 0, None, None, True)


def _times(told: Mapping[str, float | None]) -> Mapping[str, float] | None:
    found = {key: value for key in QUANTILES if (value := told[key]) is not None}
    return found if len(found) == len(QUANTILES) else None


def rows(found: Sequence[Step]) -> Iterator[dict[str, Any]]:
    """As every comparing command has them."""
    for step in found:
        name, where = f"{step.stream}/{step.place}/{step.nodes}", f"{step.stream}, {step.place}, {step.nodes}"
        if step.times_ns is None and not step.is_whole:
            continue
        yield {
            "id": f"{name}/frames", "quantity": f"frames, {where}", "unit": "1",
            "measured": step.frames, "of": step.of, "ok": step.ok,
        }  # fmt: skip
        for key, value in (step.times_ns or {}).items():
            row: dict[str, Any] = {
                "id": f"{name}/{key}",
                "quantity": f"{key}, {where}",
                "unit": "ns",
                "measured": value,
            }
            if key == "max" and step.bound_ns is not None:
                yield row | {"bound": step.bound_ns, "ok": value <= step.bound_ns}
            else:
                yield row | {"ok": True}
