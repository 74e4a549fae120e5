# SPDX-License-Identifier: Apache-2.0
"""Section IV: what a queue gets of the card, in turns and by time slots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.ethernet import WIRE_OVERHEAD_BYTES
from penstock.reproduce import drawing
from penstock.reproduce.experiment import Case, Experiment, Found, Options, Outcomes, Picture
from penstock.reproduce.outcome import Outcome
from penstock.reproduce.row import Row
from penstock.reproduce.time_aware_nic import printed
from penstock.reproduce.time_aware_nic.place import FOLDER

_FILE = FOLDER / "shares.toml"
_FLOWS = ("high", "middle", "low")
_NEVER = "1000s"  # after the run
_CYCLE_US = 1000
_FROM_PS, _TO_PS = 5 * 10**9, 45 * 10**9  # of 50 ms, when all queues are full
_NEAR_PERCENT = 1.0
_FRAME_US = (1522 + WIRE_OVERHEAD_BYTES) * 8 / (printed.PEAK_GBPS * 1000)
# What a run has: who sends, and the slots of the queues of high, middle and low, in us.
_RUNS: Mapping[str, tuple[tuple[str, ...], tuple[int, ...]]] = {
    "alone": (("high",), ()),
    "turns": (("high", "low"), ()),
    "slots": (("high", "low"), (900, 50, 50)),
    "empty": (("low",), (900, 50, 50)),
    "free": (("high", "middle", "low"), (500,)),
}


def _slots(slots: tuple[int, ...]) -> dict[str, Any]:
    """A slot for each of the first queues, and what is left of the cycle for the others."""
    queues = range(2, 2 - len(slots), -1)
    times = {str(queue): f"{us}us" for queue, us in zip(queues, slots, strict=True)}
    return {"cycle_time": f"{_CYCLE_US}us", "slots": {"times": times, "order": list(queues)}}


def _cases() -> list[Case]:
    found = []
    for name, (flows, slots) in _RUNS.items():
        values: dict[str, Any] = {f"streams.{flow}.source.start": _NEVER for flow in _FLOWS if flow not in flows}
        if slots:
            values["stations.client.gates"] = _slots(slots)
            # Only queues without a slot take turns.
            values |= {f"stations.client.classes.{2 - number}.selection": "strict" for number in range(len(slots))}
        found.append(Case(_FILE, values, {"run": name}))
    return found


def _gbps(outcome: Outcome, flow: str) -> float:
    """On the wire at the server, in whole cycles between the run's begin and end."""
    frames = outcome.frames[flow]
    inside = (frames.delivered_ps >= _FROM_PS) & (frames.delivered_ps < _TO_PS)
    bits = int((frames.bytes[inside] + WIRE_OVERHEAD_BYTES).sum()) * 8
    return bits * 1000 / (_TO_PS - _FROM_PS)


def _in_slot(slot_us: int) -> float:
    """The part of a cycle, in percent, that frames take of a slot: one that would not end in it is not begun."""
    return 100 * (slot_us // _FRAME_US) * _FRAME_US / _CYCLE_US


def _evaluate(outcomes: Outcomes, _options: Options) -> Found:
    rates = {case.at["run"]: {flow: _gbps(outcome, flow) for flow in _FLOWS} for case, outcome in outcomes}
    peak = rates["alone"]["high"]
    share = {run: {flow: 100 * rate / peak for flow, rate in flows.items()} for run, flows in rates.items()}
    slots, near = share["slots"], _NEAR_PERCENT
    rows = [
        Row.near("peak", "one flow alone, which is the host's limit", "Gb/s", peak, printed.PEAK_GBPS, 0.01).as_key(),
        Row.equals("turns.high", "one of two flows in turns", "%", share["turns"]["high"], 50, 0.1).as_key(),
        Row.equals("turns.low", "the other", "%", share["turns"]["low"], 50, 0.1).as_key(),
        Row.near(
            "slots.high", "the flow with a slot of 90 %", "%", slots["high"], printed.SHARE_PERCENT, near,
            theory=_in_slot(900),
        ).as_key(),
        Row.near("slots.gbps", "the same", "Gb/s", rates["slots"]["high"], printed.SHARE_GBPS, 0.03).as_key(),
        Row.equals("slots.low", "the flow with a slot of 5 % beside it", "%", slots["low"], _in_slot(50), 0.1).as_key(),
        Row.equals(
            "empty.low", "the same, while the queue with 90 % is empty: a slot stays with its queue", "%",
            share["empty"]["low"], _in_slot(50), 0.1,
        ).as_key(),
        Row.equals("free.high", "a slot of 50 %", "%", share["free"]["high"], _in_slot(500), 0.2).as_key(),
        Row.equals(
            "free.apart", "free time, shared in turns by two queues without a slot: the one less the other", "%",
            share["free"]["middle"] - share["free"]["low"], 0, 0.2,
        ).as_key(),
    ]  # fmt: skip
    figure = drawing.figure("", "part of what one flow gets alone / %", barmode="stack")
    for number, flow in enumerate(_FLOWS):
        said = [f"{run}: {', '.join(_RUNS[run][0])}" for run in rates]
        parts = [share[run][flow] for run in rates]
        figure.add_bar(x=said, y=parts, name=f"{flow}, queue {2 - number}", marker_color=drawing.COLORS[number])
    drawing.paper(figure, "the paper's, of high", [f"slots: {', '.join(_RUNS['slots'][0])}"], [printed.SHARE_PERCENT])
    note = "Slots are 900, 50 and 50 us of each millisecond; in the last run 500 us, and the rest is free."
    return Found(rows, [Picture("What each flow gets", note, figure)])


EXPERIMENTS = (Experiment("shares", "the share of a queue with time slots", "IV-A", _cases(), _evaluate),)
