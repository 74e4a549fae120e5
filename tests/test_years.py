# SPDX-License-Identifier: Apache-2.0
"""Runs of years: with 128 bit a network does what it does with 64, whenever that is."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from penstock import _engine
from penstock import run as runner
from penstock.bound.drawn import drawn
from penstock.errors import InputError, NoTraceError
from penstock.passing import asked
from penstock.run import CompiledEngine
from penstock.scenario import load
from penstock.scenario.network import Network
from test_time_range import COMMON_PS, DAY_PS, NETWORK

SCENARIOS = Path(__file__).parents[1] / "scenarios"
PAPERS = SCENARIOS / "papers"
LONGEST_PS = 20_000_000_000  # of a kept scenario, here
YEAR_PS = 365 * DAY_PS
HOUR_PS = 3600 * 10**12


def with_both(network: Network, folder: Path) -> None:
    """Runs a network with each width of times: whatever is left is the same."""
    description = CompiledEngine().prepare(network, lambda _what, _part: None)
    description |= {"duration_ps": min(description["duration_ps"], LONGEST_PS), "figures": asked(network)}
    left, captures = [], []
    for years in (False, True):
        own = folder / str(years)
        own.mkdir()
        wanted = description | {"years": years, "captures": str(own)}
        left.append(_engine.run(json.dumps(wanted)))
        captures.append({file.name: file.read_bytes() for file in own.iterdir()})
    assert left[0]["simulation"]["frame_hops"] > 0
    assert left[0] == left[1]
    assert captures[0] == captures[1]
    assert captures[0]


@pytest.mark.parametrize(
    "file",
    [
        *(SCENARIOS / name for name in ("hello", "line5", "cbs", "tas", "mixed", "ring", "numbers", "tags")),
        *(SCENARIOS / name for name in ("round-robin", "torus")),
        PAPERS / "ats-switch" / "fig11.toml",
        PAPERS / "launch-time-talker" / "table1.toml",
        PAPERS / "linux-shapers" / "cbs-taprio.toml",
        PAPERS / "smartnic-tas" / "testbed.toml",
        PAPERS / "time-aware-nic" / "tiles.toml",
    ],
    ids=lambda file: str(file.relative_to(SCENARIOS)),
)
def test_kept_scenarios_do_the_same_with_both_widths(file: Path, tmp_path: Path) -> None:
    with_both(load(file, nodes="model"), tmp_path)


# Of the others the scenario's own checks refuse something.
@pytest.mark.parametrize("seed", sorted({*range(1, 25)} - {5, 15, 22}))
def test_drawn_networks_do_the_same_with_both_widths(seed: int, tmp_path: Path) -> None:
    with_both(load(drawn(seed)), tmp_path)


# What words of 64 bit can count, signed or not, of ps and of eighths of ps; and years.
WRAPS = {"2^63 ps": 2**63, "2^64 ps": 2**64, "2^67 ps": 2**67, "3 years": 3 * YEAR_PS, "99 years": 99 * YEAR_PS}


@pytest.mark.parametrize("switching", ["store_and_forward", "cut_through"])
@pytest.mark.parametrize("wrap", WRAPS)
def test_a_network_does_the_same_on_both_sides_of_a_wrap(wrap: str, switching: str) -> None:
    every, frames = 210_000_000, 10
    shift = (WRAPS[wrap] - every * frames // 2) // COMMON_PS * COMMON_PS

    def left(start: int) -> dict[str, Any]:
        text = NETWORK.format(
            start=start,
            start_by_b=start,
            end=start + frames * every,
            every=every,
            drift="0ppm",
            switching=switching,
            sync="none",
        )
        streams: dict[str, Any] = statistics(text)["statistics"]
        for of in streams.values():
            assert of["delivered"]
            for key in ("first_delivered_ps", "last_delivered_ps"):
                of[key] -= start
        return streams

    assert left(shift) == left(0)


def statistics(text: str) -> dict[str, Any]:
    """What the engine counts of a scenario."""
    description = CompiledEngine().prepare(load(tomllib.loads(text)), lambda _what, _part: None)
    return dict(_engine.run(json.dumps(description)))


SPARSE = """
name = "sparse"
nodes = "model"
duration = "{duration}ps"
[bridges.ats]
ports = 4
classes.7 = {{ selection = "ats" }}
class_of_priority = "identity"
[bridges.gated]
ports = 4
class_of_priority = "identity"
processing_delay = "1us"
clock = {{ sync = "ideal" }}
[bridges.gated.port.1.gates]
base_time = "{base}ps"
entries = [{{ open = [0], interval = "60us" }}, {{ open = [7], interval = "40us" }}]
[links.first]
between = ["ats.0", "gated.0"]
[stations]
a = {{ at = "ats.1", class_of_priority = "identity" }}
b = {{ at = "ats.2", clock = {{ drift = "-5ppm" }}, class_of_priority = "identity" }}
z = {{ at = "gated.1" }}
[streams.hourly]
from = "a"
to = ["z"]
vlan = 1
pcp = 7
source = {{ frames = "300B", burst = 3, every = "3600s" }}
ats = {{ rate = "20Mb/s", burst = "640B" }}
[streams.daily]
from = "b"
to = ["z"]
vlan = 1
pcp = 0
source = {{ frames = "1000B", every = "86400s", start = "1800s" }}
[[faults]]
link = "first"
at = "{fault}ps"
until = "{until}ps"
"""


def told(duration: int, base: int, fault: int) -> dict[str, Any]:
    """Of the sparse network; the list begins at `base`, the link is down for two seconds at `fault`."""
    text = SPARSE.format(duration=duration, base=base, fault=fault, until=fault + 2 * 10**12)
    return dict(statistics(text)["statistics"])


def total_ps(of: dict[str, Any]) -> float:
    """Of all delays."""
    return float(of["latency_ps"]["mean"] * of["latency_ps"]["count"])


def test_a_frame_an_hour_for_five_years() -> None:
    """Delays are those of the first hour until a gate list begins in year 3, and those of such a gate behind it."""
    never = 100 * YEAR_PS - 10**13
    ungated, gated = (told(HOUR_PS, base, never)["hourly"] for base in (never, 0))
    streams = told(5 * YEAR_PS, 3 * YEAR_PS, never)
    hourly, daily = streams["hourly"], streams["daily"]
    hours = 365 * 24
    assert hourly["delivered"] == hourly["frames"] == 3 * 5 * hours
    assert ungated["delivered"] == gated["delivered"] == 3
    assert total_ps(gated) > total_ps(ungated) + 60_000_000
    assert hourly["latency_ps"]["min"] == ungated["latency_ps"]["min"]
    assert hourly["latency_ps"]["max"] == gated["latency_ps"]["max"]
    assert total_ps(hourly) == pytest.approx(hours * (3 * total_ps(ungated) + 2 * total_ps(gated)), rel=1e-12)
    assert 0 < hourly["last_delivered_ps"] - (5 * YEAR_PS - HOUR_PS) < 10**9
    # What a slow clock calls a day lasts longer; so many of them, after the first 1800 s.
    assert daily["frames"] == (5 * YEAR_PS * (10**6 - 5) // 10**6 - HOUR_PS // 2) // DAY_PS + 1
    day = daily["interval_ps"]
    assert abs(day["min"] - DAY_PS * 10**6 / (10**6 - 5)) < 60_000_000 > day["max"] - day["min"]


def test_a_link_is_down_for_two_seconds_in_year_two() -> None:
    """The frames of one hour wait for a second, and none of another."""
    never = 100 * YEAR_PS - 10**13
    whole = told(4 * YEAR_PS, never, never)["hourly"]
    broken = told(4 * YEAR_PS, never, 2 * YEAR_PS - 10**12)["hourly"]
    assert broken["delivered"] == whole["delivered"] == 3 * 4 * 365 * 24
    assert 10**12 <= broken["latency_ps"]["max"] < 10**12 + 10**9
    late = total_ps(broken) - total_ps(whole)
    assert 2 * 10**12 < late < 3 * 10**12


def test_a_frame_waits_for_longer_than_64_bit_count() -> None:
    """A link is down for 365 days: what the bridge before it still holds is late by as much, and so are the figures."""
    text = SPARSE.format(duration=3 * YEAR_PS, base=100 * YEAR_PS, fault=YEAR_PS - 10**12, until=2 * YEAR_PS)
    network = load(tomllib.loads(text))
    assert YEAR_PS > 2**64
    summary = runner.statistics(network, figures=True)
    hourly = summary["streams"]["hourly"]
    year_ns = YEAR_PS / 1000
    assert year_ns <= hourly["latency_ns"]["max"] < year_ns + 10**9
    assert hourly["interval_ns"]["max"] > year_ns
    (passing,) = (hop["passing_ns"]["max"] for hop in hourly["hops"] if hop["bridge"] == "ats")
    assert abs(passing - year_ns) < 10**9


# What is changed in the sparse network, the key that is named, and what is said of it.
REFUSED = {
    "hardware": ('nodes = "model"', 'nodes = "rtl"', "duration", 'the bridge "ats" is no model'),
    "real hosts": ('nodes = "model"', 'nodes = "plane"', "duration", "the nodes are real hosts"),
    "a trace": ('nodes = "model"', 'nodes = "model"\ntrace = { enabled = true }', "trace", "up to 8640000s"),
    "a period": ("duration = ", 'duration = "1s" #', "streams.hourly.source.every", "is beyond 8640000s"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_count_years_is_refused(case: str, tmp_path: Path) -> None:
    old, new, key, said = REFUSED[case]
    text = SPARSE.format(duration=5 * YEAR_PS, base=0, fault=0, until=1)
    if case == "a period":
        text = text.replace('"3600s"', '"9000000s"').replace('nodes = "model"', 'nodes = "rtl"')
    (tmp_path / "scenario.toml").write_text(text.replace(old, new))
    with pytest.raises(InputError) as refused:
        load(tmp_path)
    found = {error.key: error for error in refused.value.errors}
    assert said in found[key].what
    assert found[key].allowed


def test_a_trace_that_is_asked_for_is_refused(tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(SPARSE.format(duration=5 * YEAR_PS, base=0, fault=0, until=1))
    network = load(tmp_path)
    assert not network.trace.enabled
    for ask in (lambda: runner.run(network, tmp_path / "out", trace="full"), lambda: runner.observe(network)):
        with pytest.raises(InputError, match="a trace holds times up to 8640000s"):
            ask()


def test_a_user_runs_years(tmp_path: Path) -> None:
    """Summary, captures and report; times beyond 64 bit stay whole."""
    (tmp_path / "scenario.toml").write_text(
        SPARSE.format(duration=3 * YEAR_PS, base=0, fault=2 * YEAR_PS, until=2 * YEAR_PS + 10**12)
    )
    network = load(tmp_path)
    assert network.counts_years
    assert any("no trace" in warning for warning in network.warnings)
    result = runner.run(network, tmp_path / "out", figures=True)
    assert result.summary["simulation"]["end_ps"] > 2**64
    assert result.summary["streams"]["hourly"]["hops"]
    assert "1095 days of network time" in (result.folder / "report.html").read_text()
    assert (result.folder / "z.pcapng").stat().st_size > 0
    with pytest.raises(NoTraceError):
        _ = result.trace
