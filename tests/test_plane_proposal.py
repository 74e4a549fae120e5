# SPDX-License-Identifier: Apache-2.0
"""Gate lists from arrivals: periods are found, each frame has its window, and what is not periodic is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.errors import InputError
from penstock.plane.flows import Flow, by_flow, periodic
from penstock.plane.proposal import Port, Proposal, propose

PORT = Port(traffic_class=7, rate_bps=1_000_000_000, tolerance_ns=20_000)
EPOCH_NS = 1_795_415_300_000_000_000
PERIODS_US = (250, 500, 800, 1000, 1250, 2000, 2500, 4000, 5000)


def made(period_ns: int, phases_ns: list[int], jitter_ns: int, seconds: float, seed: int, name: str = "flow") -> Flow:
    random = np.random.default_rng(seed)
    begins = np.arange(EPOCH_NS // period_ns + 1, (EPOCH_NS + int(seconds * 1e9)) // period_ns) * period_ns
    times = (begins[:, None] + np.array(phases_ns)[None, :]).ravel()
    return Flow(name, np.sort(times + random.integers(0, jitter_ns + 1, times.size)), 1000)


@st.composite
def mixes(draw: st.DrawFn) -> list[tuple[int, int, int, int]]:
    """Periods of one family, so that they have a short common multiple; phase, jitter and seed of each flow."""
    base = draw(st.sampled_from(PERIODS_US)) * 1000
    found = []
    for _ in range(draw(st.integers(1, 4))):
        period = base * draw(st.sampled_from((1, 2, 4)))
        phase = draw(st.integers(0, period - 1))
        found.append((period, phase, draw(st.integers(0, base // 40)), draw(st.integers(0, 1000))))
    return found


def waits_ns(flows: list[Flow], found: Proposal) -> list[int]:
    """Of each frame, from its arrival to its departure less what waits for frames of the class before it."""
    frames = sorted((int(at), PORT.wire_ns(flow.frame_bytes)) for flow in flows for at in flow.times_ns)
    free, late = 0, []
    for at, wire in frames:
        ready = max(at, free)
        begin = ready
        for _ in range(3):
            begin = min(opened(found, begin, wire, number) for number in range(len(found.windows)))
        free = begin + wire
        late.append(begin - ready)
    return late


def opened(found: Proposal, at: int, wire: int, number: int) -> int:
    """The first instant from `at` on at which a window has room for a frame."""
    window = found.windows[number]
    length, into = window.end_ns - window.start_ns, (at - window.start_ns) % found.cycle_ns
    return at if into + wire <= length else at + found.cycle_ns - into


@settings(max_examples=80, deadline=None)
@given(mixes())
@example([(5_000_000, 0, 109_989, 1), (5_000_000, 0, 0, 0), (20_000_000, 0, 0, 0)])  # few frames for so much jitter
def test_frames_that_come_as_before_never_wait_for_their_gate(mix: list[tuple[int, int, int, int]]) -> None:
    """Watched for a while, and then others of the same talkers, with jitter of their own."""
    seen = [made(period, [phase], jitter, 0.5, seed, f"flow{n}") for n, (period, phase, jitter, seed) in enumerate(mix)]
    found = propose(seen, PORT)
    assert [each.period_ns for each in found.flows] == [period for period, *_ in mix]
    assert found.cycle_ns == math.lcm(*(period for period, *_ in mix))
    intervals = [entry["interval"] for entry in found.gates["entries"]]
    assert sum(intervals) == found.cycle_ns
    assert min(intervals) >= 1_000
    assert found.inside == 1
    later = [
        made(period, [phase], jitter, 0.2, seed + 7, f"flow{n}") for n, (period, phase, jitter, seed) in enumerate(mix)
    ]
    # Jitter is drawn anew: a frame may be earlier or later than any that was seen, by far less than the tolerance.
    assert max(waits_ns(later, found)) == 0


@pytest.mark.parametrize("period_us", [800, 803, 1000.5, 333.3])
def test_the_period_is_the_roundest_that_fits(period_us: float) -> None:
    found = periodic(made(round(period_us * 1000), [100_000], 3_000, 2.0, 1))
    assert found is not None
    assert (found.period_ns, found.frames) == (round(period_us * 1000), 1)


def test_several_frames_in_a_period_and_one_in_every_fourth() -> None:
    """The aligned talker of the SmartNIC paper's testbed: 25 frames in 20 ms."""
    phases = [cycle * 5_000_000 + number * 480_000 for cycle in range(4) for number in range(6)] + [2_880_000]
    found = periodic(made(20_000_000, phases, 20_000, 1.0, 1))
    assert found is not None
    assert (found.period_ns, found.frames) == (20_000_000, 25)
    slow = Port(traffic_class=7, rate_bps=19_000_000, tolerance_ns=20_000)
    proposal = propose([found.flow], slow)
    # At 19 Mb/s a frame takes 430 us, so that the 50 us from one to the next are of no use: a window for each cycle.
    assert len(proposal.windows) == 4
    lengths = sorted(window.end_ns - window.start_ns for window in proposal.windows)
    assert lengths == pytest.approx([2_900_000, 2_900_000, 2_900_000, 3_400_000], abs=50_000)


def test_what_is_late_or_missing_now_and_then_changes_nothing() -> None:
    flow = made(1_000_000, [300_000], 5_000, 2.0, 1)
    times = np.delete(flow.times_ns, [10, 500, 501])
    times[[50, 900]] += 400_000
    proposal = propose([Flow("flow", np.sort(times), 1000)], PORT)
    assert proposal.flows[0].period_ns == 1_000_000
    (window,) = proposal.windows
    assert window.end_ns - window.start_ns < 100_000
    assert 0.99 < proposal.inside < 1


@pytest.mark.parametrize("seed", range(8))
def test_frames_by_chance_are_refused(seed: int) -> None:
    random = np.random.default_rng(seed)
    gaps = random.exponential(800_000, 2000) if seed % 2 else random.uniform(0, 1_600_000, 2000)
    flow = Flow("chance", EPOCH_NS + np.cumsum(gaps).astype(np.int64), 1000)
    assert periodic(flow) is None
    with pytest.raises(InputError, match="chance: its frames are not periodic"):
        propose([made(800_000, [0], 1_000, 1.0, seed), flow], PORT)


def test_what_no_list_fits_is_refused() -> None:
    with pytest.raises(InputError, match="nothing came"):
        propose([], PORT)
    few = Flow("few", EPOCH_NS + np.arange(5) * 1_000_000, 1000)
    with pytest.raises(InputError, match="few: 5 frames came"):
        propose([few], PORT)
    with pytest.raises(InputError, match="windows would take 100% of it"):
        propose([made(800_000, [0], 0, 1.0, 1)], Port(7, 10_000_000, 20_000))
    with pytest.raises(InputError, match=r"periods of 800 us, 809\.7 us repeat after"):
        propose([made(800_000, [0], 0, 2.0, 1), made(809_700, [0], 0, 2.0, 2)], PORT)
    at_once = Flow("once", np.full(20, EPOCH_NS), 1000)
    with pytest.raises(InputError, match="not periodic"):
        propose([at_once], PORT)


def test_a_window_over_the_end_of_the_cycle() -> None:
    proposal = propose([made(1_000_000, [998_000], 4_000, 1.0, 3)], PORT)
    (window,) = proposal.windows
    assert window.start_ns == 978_000
    assert window.end_ns > 1_000_000
    assert proposal.inside == 1
    assert proposal.gates["entries"][0] == {"open": [7], "interval": window.end_ns - window.start_ns}
    assert proposal.gates["base_time"] == 978_000
    assert 0 < proposal.open_part < 0.1


def test_flows_of_what_a_plane_noted() -> None:
    frames = [[5, 100, 1], [3, 64, 0], [9, 80, 1], [1, 70, 1]]
    first, second = by_flow(["a", "b"], frames)
    assert (first.name, first.times_ns.tolist(), first.frame_bytes) == ("a", [3], 64)
    assert (second.name, second.times_ns.tolist(), second.frame_bytes) == ("b", [1, 5, 9], 100)
