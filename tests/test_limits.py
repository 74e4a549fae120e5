# SPDX-License-Identifier: Apache-2.0
"""Scenarios at their limits: what `check` accepts the engine runs, and all that is written of it can be read."""

from __future__ import annotations

import copy
import json
import re
import typing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock import run
from penstock.check.checked import check
from penstock.errors import InputError
from penstock.scenario import limits, load
from penstock.scenario.network import Network
from penstock.scenario.units import Quantity

Values = dict[str, Any]
_SETTINGS = settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
_DISTRIBUTIONS = ("normal", "uniform", "exponential")


def quantity(kind: Any) -> Quantity:
    """Of a type of `limits`."""
    return next(part for part in typing.get_args(kind) if isinstance(part, Quantity))


def at(kind: Any) -> st.SearchStrategy[str]:
    """Texts of a quantity: its ends, what is beside them, and a few between."""
    known = quantity(kind)
    step = known.kind.units[known.step] if known.step else 1
    ends = {known.least, known.least + step, known.most - step, known.most}
    between = {value for value in (0, 1000, 10**6, 10**9, 10**12) if known.least <= value <= known.most}
    # The far end first: it is drawn most often.
    return st.sampled_from(sorted(ends | between, reverse=True)).map(lambda value: f"{value}{_smallest(known)}")


def _smallest(known: Quantity) -> str:
    return next(unit for unit, size in known.kind.units.items() if size == 1)


def some(**keys: st.SearchStrategy[Any]) -> st.SearchStrategy[Values]:
    """A table with any of the keys."""
    return st.fixed_dictionaries({}, optional=keys)


def _distribution(sign: bool) -> st.SearchStrategy[Values]:
    """A jitter; of software without times below zero."""
    values = at(limits.Displacement) if sign else at(limits.SoftwareTime)
    one = [
        st.fixed_dictionaries({kind: at(limits.SoftwareTime)}) for kind in _DISTRIBUTIONS if sign or kind != "normal"
    ]
    several = st.lists(values, min_size=1, max_size=3).map(lambda times: {"values": times})
    ends = at(limits.SoftwareTime).map(lambda time: {"quantiles": [[0, "-1000s" if sign else "0s"], [1, time]]})
    return st.one_of(*one, several, ends)


CLOCK = some(
    offset=at(limits.ClockOffset),
    drift=at(limits.ClockDrift),
    sync=st.one_of(st.sampled_from(["ideal", "none"]), at(limits.SyncErrorTime).map(lambda error: {"error": error})),
)
ENTRY = st.fixed_dictionaries({"open": st.sampled_from(["all", [3], [7, 0]]), "interval": at(limits.Interval)})
GATES = st.fixed_dictionaries(
    {"entries": st.lists(ENTRY, max_size=3).map(lambda found: [*found, {"open": "all", "interval": "100us"}])},
    optional={
        "cycle_time": at(limits.Interval),
        "base_time": at(limits.BaseTime),
        "cycle_time_extension": at(limits.Extension),
    },
)
CREDIT = st.fixed_dictionaries({"selection": st.just("cbs"), "idle_slope": at(limits.TrafficRate)})
LINK = some(rate=at(limits.LinkRate), delay=at(limits.Delay))
QUEUE_LIMIT = st.one_of(
    st.sampled_from([{"frames": 1}, {"frames": 10**9}]), at(limits.QueueBytes).map(lambda size: {"bytes": size})
)
SWITCHING = st.one_of(
    st.sampled_from([{}, {"switching": "store_and_forward"}, {"switching": "cut_through"}]),
    at(limits.HeaderBytes).map(lambda size: {"switching": "cut_through", "cut_through_header": size}),
)
_BRIDGE = st.fixed_dictionaries(
    {"ports": st.just(4)},
    optional={
        "clock": CLOCK,
        "gates": GATES,
        "processing_delay": at(limits.Delay),
        "processing_delay_max": at(limits.StatedDelay),
        "max_frame": at(limits.FrameBytes),
        "overhead": at(limits.Overhead),
        "classes": st.fixed_dictionaries(
            {},
            optional={
                "7": st.fixed_dictionaries({"selection": st.just("ats"), "max_residence": at(limits.Residence)}),
                "5": CREDIT,
                "1": some(max_sdu=at(limits.ServiceDataUnit), queue_limit=QUEUE_LIMIT),
            },
        ),
    },
)
BRIDGE = st.tuples(_BRIDGE, SWITCHING).map(lambda both: both[0] | both[1])
STATION = some(
    clock=CLOCK,
    gates=GATES,
    rate=at(limits.LinkRate),
    delay=at(limits.Delay),
    classes=some(**{"5": CREDIT, "1": some(queue_limit=QUEUE_LIMIT)}),
)
TIMINGS = [
    st.fixed_dictionaries({"frames": at(limits.FrameBytes), "every": at(limits.Duration)}),
    st.fixed_dictionaries({"frames": at(limits.FrameBytes), "every": at(limits.Duration), "burst": st.just(3)}),
    st.fixed_dictionaries({"frames": at(limits.FrameBytes), "back_to_back": st.just(True)}),
    st.fixed_dictionaries({"frames": at(limits.FrameBytes), "poisson": at(limits.Duration)}),
    st.fixed_dictionaries(
        {
            "frames": at(limits.FrameBytes),
            "normal": st.fixed_dictionaries({"mean": at(limits.Duration), "deviation": at(limits.Start)}),
        }
    ),
    st.fixed_dictionaries(
        {
            "audio": st.fixed_dictionaries(
                {"sample_rate": at(limits.SampleRate)},
                optional={"packet": at(limits.PacketTime), "channels": st.sampled_from([1, 64])},
            )
        }
    ),
    st.fixed_dictionaries(
        {
            "video": st.fixed_dictionaries(
                {"pictures": at(limits.PictureRate), "rate": at(limits.TrafficRate)},
                optional={"packet": at(limits.PacketBytes), "spacing": at(limits.SoftwareTime)},
            )
        }
    ),
]
SOURCE = st.builds(
    lambda timing, common: timing | common,
    st.one_of(TIMINGS),
    st.fixed_dictionaries(
        {"count": st.integers(1, 4)},
        optional={
            "start": at(limits.Start),
            "jitter": _distribution(sign=True),
            "software": _distribution(sign=False).map(lambda delay: {"delay": delay}),
            "launch": st.one_of(
                at(limits.SoftwareTime),
                st.fixed_dictionaries({"offset": at(limits.SoftwareTime), "error": _distribution(sign=True)}),
            ),
            "seed": st.sampled_from([0, 2**63 - 1]),
        },
    ),
)
ATS = st.fixed_dictionaries({"rate": at(limits.AtsRate), "burst": at(limits.Burst)})
STREAM = st.fixed_dictionaries(
    {
        "from": st.just("a"),
        "to": st.just(["b"]),
        "vlan": st.just(5),
        "pcp": st.sampled_from([0, 3, 7]),
        "source": SOURCE,
    },
    optional={"deadline": at(limits.Deadline), "ats": ATS},
)
ANSWER = at(limits.SoftwareTime).map(
    lambda after: {
        "from": "b",
        "to": ["a"],
        "vlan": 5,
        "source": {"response_to": "s0", "after": after, "frames": "64B"},
    }
)


@st.composite
def scenarios(draw: st.DrawFn) -> Values:
    """Two stations at two bridges, everything about them at the ends of what may be said."""
    streams = {f"s{n}": stream for n, stream in enumerate(draw(st.lists(STREAM, min_size=1, max_size=2)))}
    if draw(st.booleans()):
        streams["answer"] = draw(ANSWER)
    return {
        "name": "limits",
        "nodes": "model",
        "duration": draw(at(limits.Duration)),
        "links": draw(LINK) | {"between": {"between": ["x.1", "y.1"]} | draw(LINK)},
        "bridges": {"x": draw(BRIDGE), "y": draw(BRIDGE)},
        "stations": {"a": {"at": "x.0"} | draw(STATION), "b": {"at": "y.0"} | draw(STATION)},
        "streams": streams,
    }


_USUAL = {
    "source": {"frames": "64B", "every": "1s", "count": 2},
    "frames": "64B",
    "every": "1s",
    "poisson": "1s",
    "normal": {"mean": "1s", "deviation": "1ms"},
    "duration": "1s",
}


def accepted(values: Values) -> Network:
    """The network, without what is refused: that goes, or says the usual, and the rest is at its limits still."""
    for _ in range(100):
        try:
            return load(values)
        except InputError as error:
            refused = error
        assert all(found.key and found.allowed for found in refused.errors), refused
        _forget(values, re.split(r"[.\[\]]+", str(refused.key)))
    raise AssertionError(f"refused whatever is left out: {values}")


def _forget(values: Values, path: list[str]) -> None:
    """Takes out what a key says; of what has to be there, the table that says it."""
    tables: list[tuple[Values, str]] = []
    here: Any = values
    for part in path:
        if not isinstance(here, dict) or part not in here:
            break
        tables.append((here, part))
        here = here[part]
    table, key = tables[-1]
    whole = key in ("idle_slope", "selection", "entries", "rate", "burst", "error") and len(tables) > 3
    if whole or "queue_limit" in path:
        table, key = tables[-2]
    if key in _USUAL and table[key] == _USUAL[key]:
        table, key = next((t, k) for t, k in reversed(tables[:-1]) if k in ("source", *values["streams"]))
    if table is values["streams"]:
        table[key] = {"from": "a", "to": ["b"], "source": copy.deepcopy(_USUAL["source"])}
    elif key in _USUAL:
        table[key] = copy.deepcopy(_USUAL[key])
    else:
        del table[key]


@settings(_SETTINGS, max_examples=60)
@given(values=scenarios())
def test_what_is_accepted_runs(values: Values) -> None:
    network = accepted(values)
    told = check(network).as_json()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    summary = run.statistics(network)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    for stream in summary["streams"].values():
        assert stream["sent"] <= 4 * 3


@settings(_SETTINGS, max_examples=8)
@given(values=scenarios())
def test_what_is_accepted_is_written(values: Values, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Trace, captures, summary and report; of what counts years no trace."""
    network = accepted(values)
    result = run.run(network, tmp_path_factory.mktemp("limits") / "run")
    if not network.counts_years:
        assert all(0 <= time < 2**63 for time in result.trace["time_ps"])
    assert (result.folder / "report.html").stat().st_size > 0


@pytest.mark.parametrize(
    ("source", "clock"),
    [
        ({"frames": "65B", "every": "1ps", "burst": 2}, {}),
        ({"frames": "65B", "every": "1ps", "count": 2}, {"drift": "1000ppm"}),
        ({"frames": "65B", "every": "1ps"}, {"drift": "1000ppm"}),
    ],
)
def test_the_analysis_takes_sources_that_no_link_carries(source: Values, clock: Values) -> None:
    stream = {"from": "a", "to": ["b"], "source": source}
    values = {
        "name": "fast",
        "nodes": "model",
        "duration": "1us",
        "bridges": {"sw": {"ports": 2}},
        "stations": {"a": {"at": "sw.0", "clock": clock}, "b": {"at": "sw.1"}},
        "streams": {"s": stream},
    }
    assert check(load(values)).as_json()["ok"]


def test_the_report_shows_gates_beside_the_fastest_slope(tmp_path: Path) -> None:
    gates = {"entries": [{"open": "all", "interval": "1us"}, {"open": [], "interval": "1us"}]}
    values = {
        "name": "fast",
        "nodes": "model",
        "duration": "10us",
        "links": {"rate": "100Gb/s"},
        "bridges": {
            "sw": {
                "ports": 2,
                "gates": gates,
                "classes": {"5": {"selection": "cbs", "idle_slope": "100Gb/s"}},
            }
        },
        "stations": {"a": {"at": "sw.0"}, "b": {"at": "sw.1"}},
        "streams": {"s": {"from": "a", "to": ["b"], "source": {"frames": "65B", "every": "1us"}, "deadline": "1us"}},
    }
    assert (run.run(load(values), tmp_path / "run").folder / "report.html").stat().st_size > 0


def test_the_far_ends_are_taken() -> None:
    """Nothing here is forgotten: the longest run, period, start, launch time, delays, and clocks that are far off."""
    longest, software, delay = (quantity(kind) for kind in (limits.Duration, limits.SoftwareTime, limits.Delay))
    most = f"{longest.most}ps"
    clock = {"offset": "-1000s", "drift": "1000ppm", "sync": {"error": "1ms"}}
    gates = {
        "base_time": most,
        "cycle_time_extension": "4294967295ns",
        "entries": [{"open": "all", "interval": "4294967295ns"}],
    }
    bridge = {"ports": 2, "clock": clock, "gates": gates, "processing_delay": f"{delay.most}ps", "max_frame": "2000B"}
    jitter = {"values": ["1000s"]}
    launch = {"offset": f"{software.most}ps", "error": jitter}
    slow = {"frames": "2000B", "every": most, "launch": launch, "software": {"delay": {"uniform": "1000s"}}}
    values = {
        "name": "far",
        "nodes": "model",
        "duration": most,
        "links": {"delay": "1ms", "rate": "10Mb/s"},
        "bridges": {"sw": bridge},
        "stations": {"a": {"at": "sw.0", "clock": clock, "gates": gates}, "b": {"at": "sw.1"}},
        "streams": {
            "slow": {"from": "a", "to": ["b"], "source": slow, "deadline": f"{quantity(limits.Deadline).most}ps"},
            "late": {
                "from": "a",
                "to": ["b"],
                "source": {"frames": "64B", "every": "1s", "start": f"{longest.most - 10}ps"},
            },
            "poisson": {
                "from": "a",
                "to": ["b"],
                "source": {"frames": "64B", "poisson": most, "jitter": {"normal": "1000s"}},
            },
        },
    }
    streams = run.statistics(load(values))["streams"]
    # The talker's clock gains 3,153,600 s on its way, and was 1000 s behind.
    assert {name: stream["sent"] for name, stream in streams.items()} == {"slow": 2, "late": 3_152_601, "poisson": 1}
    assert streams["slow"]["delivered"] == 2
