# SPDX-License-Identifier: Apache-2.0
"""Time: a network does the same at any time of a run, across each power of two that a counter has."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from penstock import run as runner
from penstock.scenario import limits, load

# All that repeats by itself does so in this time: gate cycles of 168 us, turns of the ports in 840 cycles of 8 ns.
COMMON_PS = 168_000_000
DAY_PS = 86_400 * 10**12
NETWORK = """
name = "shifted"
nodes = "model"
duration = "{end}ps"
[links]
delay = "50ns"
[bridges.ats]
ports = 4
classes.7 = {{ selection = "ats" }}
[bridges.gated]
ports = 4
processing_delay = "1us"
switching = "{switching}"
clock = {{ drift = "{drift}", sync = "{sync}" }}
[bridges.gated.port.1.gates]
entries = [{{ open = [7, 1], interval = "100us" }}, {{ open = [0, 3], interval = "68us" }}]
[bridges.gated.port.1.classes.3]
selection = "cbs"
idle_slope = "40Mb/s"
[bridges.credit]
ports = 4
[bridges.credit.port.1.gates]
entries = [{{ open = [7, 3, 1], interval = "120us" }}, {{ open = [0, 3], interval = "48us" }}]
[bridges.credit.port.1.classes.3]
selection = "cbs"
idle_slope = "40Mb/s"
[links.first]
between = ["ats.0", "gated.0"]
[links.second]
between = ["gated.1", "credit.0"]
[stations]
a = {{ at = "ats.1" }}
b = {{ at = "ats.2", clock = {{ drift = "{drift}" }} }}
c = {{ at = "ats.3" }}
z = {{ at = "credit.1" }}
[streams.shaped]
from = "a"
to = ["z"]
vlan = 1
pcp = 3
source = {{ frames = "300B", burst = 3, every = "{every}ps", start = "{start}ps" }}
ats = {{ rate = "20Mb/s", burst = "640B" }}
[streams.credit]
from = "b"
to = ["z"]
vlan = 1
pcp = 5
source = {{ frames = "1000B", burst = 2, every = "{every}ps", start = "{start_by_b}ps" }}
[streams.beside]
from = "c"
to = ["z"]
vlan = 1
pcp = 0
source = {{ frames = "1522B", every = "{every}ps", start = "{start}ps", jitter = {{ uniform = "30us" }}, seed = 4 }}
"""
# Powers of two in ps, ns and cycles of 8 ns: what registers, doubles and halves of words can count.
WRAPS = {
    "2^32 ns": 2**32 * 1000,
    "2^32 cycles": 2**32 * 8000,
    "2^48 ps": 2**48,
    "2^53 ps": 2**53,
    "2^42 ns": 2**42 * 1000,
    "2^48 ns": 2**48 * 1000,
    "2^62 ps": 2**62,
    "100 days": limits.LONGEST_PS - 5 * 10**9,
}


def trace(
    folder: Path, shift_ps: int, *, every: int, frames: int, drift: str = "0ppm", switching: str, sync: str = "none"
) -> pl.DataFrame:
    """Of a network whose sources start at a time, with the times of a network whose sources start at once."""
    end = shift_ps + frames * every
    by_b = shift_ps + shift_ps * int(drift.removesuffix("ppm")) // 10**6
    text = NETWORK.format(
        start=shift_ps, start_by_b=by_b, end=end, every=every, drift=drift, switching=switching, sync=sync
    )
    (folder / "scenario.toml").write_text(text)
    summary, view = runner.observe(load(folder))
    assert summary["conservation"]["ok"]
    assert all(of["delivered"] for of in summary["streams"].values())
    return view.trace.with_columns(pl.col("time_ps").cast(pl.Int64) - shift_ps)


@pytest.mark.parametrize("switching", ["store_and_forward", "cut_through"])
@pytest.mark.parametrize("wrap", WRAPS)
def test_a_network_does_the_same_on_both_sides_of_a_wrap(wrap: str, switching: str, tmp_path: Path) -> None:
    every, frames = 210_000_000, 10
    shift = (WRAPS[wrap] - every * frames // 2) // COMMON_PS * COMMON_PS
    shifted = trace(tmp_path, shift, every=every, frames=frames, switching=switching)
    times = shifted["time_ps"] + shift
    if wrap != "100 days":
        assert times.min() < WRAPS[wrap] < times.max()  # type: ignore[operator]
    assert shifted.equals(trace(tmp_path, 0, every=every, frames=frames, switching=switching))


@pytest.mark.parametrize("wrap", ["2^48 ps", "2^53 ps", "2^48 ns", "2^62 ps", "100 days"])
def test_clocks_that_drift_do_the_same_after_any_time(wrap: str, tmp_path: Path) -> None:
    # After 168 s a clock that is 1 ppm fast is ahead by 168 us, which is as good as nothing.
    step = COMMON_PS * 10**6
    every, frames = 21 * 10**12, 16
    shift = (min(WRAPS[wrap], limits.LONGEST_PS - 20 * every) - every * frames // 2) // step * step
    how = {"every": every, "frames": frames, "drift": "1ppm", "switching": "store_and_forward"}
    assert trace(tmp_path, shift, **how).equals(trace(tmp_path, 0, **how))  # type: ignore[arg-type]


def test_a_slow_talker_for_a_hundred_days(tmp_path: Path) -> None:
    """Addresses that age, drift and gates meanwhile: each frame takes as long as a drifting gate lets it."""
    found = trace(
        tmp_path, 0, every=DAY_PS // 2, frames=198, drift="20ppm", switching="store_and_forward", sync="ideal"
    )
    sent = found.filter((pl.col("event") == "sent") & (pl.col("node") == "b")).sort("time_ps")
    assert sent.height == 2 * 199, "its clock is ahead by 171 s at the end, when it sends once more"
    assert sent["time_ps"].to_list()[-1] > 98 * DAY_PS


def test_the_phase_of_a_clock_counts_picoseconds(tmp_path: Path) -> None:
    """A gate that a clock opens 300 ps early is open 300 ps early."""

    def leaves(offset: str) -> int:
        text = NETWORK.format(
            start=0, start_by_b=0, end=10**9, every=10**8, drift="0ppm", switching="store_and_forward", sync="none"
        )
        text = text.replace('sync = "none"', f'sync = "none", offset = "{offset}"')
        (tmp_path / "scenario.toml").write_text(text)
        rows = runner.observe(load(tmp_path))[1].trace
        first = rows.filter((pl.col("event") == "sent") & (pl.col("node") == "gated") & (pl.col("stream") == "credit"))
        times: list[int] = first["time_ps"].to_list()
        return min(times)

    assert leaves("0ns") - leaves("300ps") == 300
    assert leaves("-700ps") - leaves("0ns") == 700
