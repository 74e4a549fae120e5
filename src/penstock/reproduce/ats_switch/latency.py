# SPDX-License-Identifier: Apache-2.0
"""Tables 2, 3 and 4, figures 10 and 11: the latency of an idle switch, block by block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from penstock.reproduce import drawing
from penstock.reproduce.ats_switch import printed
from penstock.reproduce.ats_switch.place import FOLDER
from penstock.reproduce.experiment import Case, Experiment, Found, Options, Outcomes, Picture
from penstock.reproduce.outcome import Frames, Outcome
from penstock.reproduce.row import Row

_AROUND_PAYLOAD_BYTES = 22  # header with tag, FCS
DELAYS_US = (0, 10, 20, 30, 40, 50)

# Our blocks: a name, between which instants of the trace a frame is in it, and the paper's blocks (columns of tables
# 2 to 4) that do the same. A frame of a strict class has no instant at which it becomes eligible.
Block = tuple[str, str, str, tuple[int, ...]]
_RECEPTION: Block = ("reception", "received", "arrived", (0, 1))
_DECISION: Block = ("decision", "arrived", "queued", (2, 3, 4))
_ATS_BLOCKS = (_RECEPTION, _DECISION, ("queue", "queued", "eligible", (5,)), ("egress", "eligible", "sent", (6,)))
_STRICT_BLOCKS = (_RECEPTION, _DECISION, ("queue and egress", "queued", "sent", (5, 6)))
_PAPERS_BLOCKS = ("Eth_Ctrl", "Pre-Sw FIFO", "Set A.T.", "Calc. E.T.", "FDB", "queue", "FIFO")
_TOTAL = 7


def _frame(payload: int) -> str:
    return f"{payload + _AROUND_PAYLOAD_BYTES}B"


def _ats_cases(delays: Sequence[int], scenario: str = "table2", rates: Sequence[str] = ("100Mb/s",)) -> list[Case]:
    return [
        Case(
            FOLDER / f"{scenario}.toml",
            {
                "streams.ats.source.frames": _frame(payload),
                "bridges.switch.processing_delay_max": f"{delay}us",
                "streams.ats.ats.rate": rate,
            },
            {"payload": payload, "delay": delay, "rate": rate},
        )
        for rate in rates
        for delay in delays
        for payload in printed.PAYLOADS
    ]


def _strict_cases() -> list[Case]:
    return [
        Case(FOLDER / "table3.toml", {"streams.strict.source.frames": _frame(payload)}, {"payload": payload})
        for payload in printed.PAYLOADS
    ]


def _only(outcome: Outcome) -> Frames:
    (frames,) = outcome.frames.values()
    return frames


def _ns(frames: Frames, begin: str, end: str) -> float:
    at = frames.at_bridge
    return float(at[end][0] - at[begin][0]) / 1000


def _table(
    table: Mapping[int, tuple[int, ...]], name: str, blocks: Sequence[Block], outcomes: Outcomes, _options: Options
) -> Found:
    found = Found()
    shares: dict[str, list[float]] = {}
    for case, outcome in outcomes:
        payload = case.at["payload"]
        frames = _only(outcome)
        what = f"{payload} B"
        for block, begin, end, columns in blocks:
            theirs = sum(table[payload][column] for column in columns)
            cycles = _ns(frames, begin, end) / printed.CYCLE_NS
            shares.setdefault(block, []).append(cycles)
            label = f"{block}, {what} ({' + '.join(_PAPERS_BLOCKS[column] for column in columns)})"
            row = Row.told(f"{name}.{payload}.{block.replace(' ', '_')}", label, "cycles", cycles, paper=theirs)
            found.rows.append(row)
        total = _ns(frames, "received", "sent") / 1000
        row = Row.at_most(
            f"{name}.{payload}.total", f"total latency, {what}", "us", total, table[payload][_TOTAL] / 1000
        )
        found.rows.append(row.as_key() if payload in (64, 1500) else row)
    figure = drawing.figure("payload / B", "cycles of 8 ns", barmode="stack", bargap=0.35)
    x = [str(case.at["payload"]) for case, _ in outcomes]
    for number, (block, cycles_of) in enumerate(shares.items()):
        figure.add_bar(x=x, y=cycles_of, name=f"ours: {block}", marker_color=drawing.COLORS[number], offsetgroup="ours")
    greys = ("#D9DDE2", "#C3C9D0", "#ADB5BE", "#98A2AC", "#848F9B", "#717D89", "#5F6B77")
    for column, block in enumerate(_PAPERS_BLOCKS):
        y = [table[case.at["payload"]][column] for case, _ in outcomes]
        figure.add_bar(x=x, y=y, name=f"paper: {block}", marker_color=greys[column], offsetgroup="paper")
    note = "Cycles in each block, ours beside the paper's, from a frame's first bit in to its first bit out."
    found.pictures.append(Picture("Time in each block", note, figure))
    return found


def _over_delays(name: str, outcomes: Outcomes, _options: Options) -> Found:
    """Figures 10 and 11: total latency over the payload, a curve for each ProcessingDelayMax."""
    found = Found()
    tables = {0: printed.TABLE_2, 50: printed.TABLE_4}
    at_card = name == "fig11"
    curves: dict[tuple[int, str], list[float]] = {}
    deviation = 0.0
    for case, outcome in outcomes:
        payload, delay, rate = (case.at[key] for key in ("payload", "delay", "rate"))
        frames = _only(outcome)
        total = float(frames.latency_us.mean()) if at_card else _ns(frames, "received", "sent") / 1000
        deviation = max(deviation, float(frames.latency_us.std()) * 1000)
        curves.setdefault((delay, rate), []).append(total)
        at_rate = "" if rate == "100Mb/s" else f".{rate.removesuffix('Mb/s')}"
        label = f"{'mean latency' if at_card else 'total latency'}, {payload} B, ProcessingDelayMax {delay} us"
        label += f", CIR {rate}" if at_rate else ""
        theirs = tables[delay][payload][_TOTAL] / 1000 if delay in tables else None
        id_ = f"{name}{at_rate}.{delay}.{payload}"
        row = Row.told(id_, label, "us", total) if theirs is None else Row.at_most(id_, label, "us", total, theirs)
        found.rows.append(row.as_key() if payload == 1500 and delay in tables else row)
    figure = drawing.figure("payload / B", "latency / us")
    for number, delay in enumerate(DELAYS_US):
        label = f"ours, {delay} us"
        drawing.curve(figure, label, printed.PAYLOADS, curves[delay, "100Mb/s"], drawing.COLORS[number])
    for delay, table in tables.items():
        y = [table[payload][_TOTAL] / 1000 for payload in printed.PAYLOADS]
        drawing.paper(figure, f"paper, {delay} us", printed.PAYLOADS, y)
    found.pictures.append(Picture("Latency over ProcessingDelayMax", "A curve for each ProcessingDelayMax.", figure))
    if at_card:
        same = max(abs(a - b) for a, b in zip(curves[0, "10Mb/s"], curves[0, "100Mb/s"], strict=True))
        label = "difference of mean latency between CIR 10 Mb/s and 100 Mb/s"
        found.rows.append(Row.equals("fig11.committed_rate", label, "us", same, 0.0, 0.0))
        label = "largest standard deviation of latency"
        theirs = printed.LARGEST_DEVIATION_FIG_11_NS
        found.rows.append(Row.at_most("fig11.deviation", label, "ns", deviation, theirs).as_key())
    else:
        found.rows.append(_smallest_delay(outcomes))
    return found


def _smallest_delay(outcomes: Outcomes) -> Row:
    """The time in which a frame is as far as it can be, of all lengths: a larger delay makes it wait."""
    frames = [_only(outcome) for case, outcome in outcomes if case.at["delay"] == 0]
    needed = float(np.max([_ns(each, "arrived", "eligible") for each in frames])) / 1000
    label = "smallest ProcessingDelayMax that is late for no frame"
    return Row.at_most("fig10.smallest_delay", label, "us", needed, printed.SMALLEST_DELAY_US).as_key()


EXPERIMENTS = (
    Experiment(
        "table2",
        "Cycles in each block, ATS, ProcessingDelayMax 0",
        "Table 2",
        _ats_cases([0]),
        partial(_table, printed.TABLE_2, "table2", _ATS_BLOCKS),
    ),
    Experiment(
        "table3",
        "Cycles in each block, strict priority",
        "Table 3",
        _strict_cases(),
        partial(_table, printed.TABLE_3, "table3", _STRICT_BLOCKS),
    ),
    Experiment(
        "table4",
        "Cycles in each block, ATS, ProcessingDelayMax 50 us",
        "Table 4",
        _ats_cases([50]),
        partial(_table, printed.TABLE_4, "table4", _ATS_BLOCKS),
    ),
    Experiment(
        "fig10",
        "Latency of the switch over ProcessingDelayMax",
        "Figure 10",
        _ats_cases(DELAYS_US),
        partial(_over_delays, "fig10"),
    ),
    Experiment(
        "fig11",
        "Latency from card to card over ProcessingDelayMax",
        "Figure 11",
        [*_ats_cases(DELAYS_US, "fig11"), *_ats_cases([0], "fig11", ["10Mb/s"])],
        partial(_over_delays, "fig11"),
    ),
)
