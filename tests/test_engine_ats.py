# SPDX-License-Identifier: Apache-2.0
"""The ATS twin against the standard's procedure in exact fractions."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import _engine

TICKS_PER_NS = 1 << 16


class Standard:
    """IEEE 802.1Q-2022 8.6.11.3.11 for one stream, in nanoseconds, without rounding."""

    def __init__(self, rate_bps: int, burst_bytes: int, max_residence_ns: int) -> None:
        self.ns_per_byte = Fraction(8 * 10**9, rate_bps)
        self.empty_to_full = burst_bytes * self.ns_per_byte
        self.max_residence = max_residence_ns
        self.bucket_empty = Fraction(-(10**30))
        self.group = Fraction(-(10**30))

    def frame(self, arrival: int, length: int) -> Fraction | None:
        scheduler = self.bucket_empty + length * self.ns_per_byte
        full = self.bucket_empty + self.empty_to_full
        eligible = max(Fraction(arrival), self.group, scheduler)
        if eligible > arrival + self.max_residence:
            return None
        self.group = eligible
        self.bucket_empty = scheduler if eligible < full else scheduler + eligible - full
        return eligible


@settings(max_examples=200, deadline=None)
@given(
    rate=st.integers(10_000, 10**9),
    burst=st.integers(1542, 20_000),
    frames=st.lists(st.tuples(st.integers(0, 2_000_000), st.integers(84, 1542)), min_size=1, max_size=40),
)
def test_eligibility_is_the_standards_to_the_rounding(rate: int, burst: int, frames: list[tuple[int, int]]) -> None:
    twin = _engine.Ats(ports=1, streams=1)
    twin.set_rate(0, *_engine.ats_rate(rate, burst))
    standard = Standard(rate, burst, 10**9)
    arrival = 1_000_000
    for count, (gap, length) in enumerate(frames, 1):
        arrival += gap
        expected = standard.frame(arrival, length)
        got = twin.frame(0, 7, 0, arrival, length)
        if expected is None or got is None:
            break  # at the very limit of residence the two may differ
        # Rounded down: one tick a frame, and the byte time by at most 2^-24 ns.
        early = expected - Fraction(got, TICKS_PER_NS)
        assert 0 <= early <= Fraction(2 * count, TICKS_PER_NS) + Fraction(count * 20_000, 1 << 24)


def test_residence_and_limits() -> None:
    twin = _engine.Ats()
    twin.set_rate(5, *_engine.ats_rate(1_000_000, 1542))
    twin.set_group(2, 6, 1000)
    assert twin.frame(2, 6, 5, 10_000, 1542) == 10_000 * TICKS_PER_NS
    assert twin.frame(2, 6, 5, 20_000, 1542) is None
    with pytest.raises(ValueError, match="no rate"):
        twin.frame(0, 0, 6, 0, 64)
    with pytest.raises(IndexError):
        twin.frame(4, 0, 5, 0, 64)
    with pytest.raises(ValueError, match="10000 b/s to 1 Gb/s"):
        _engine.ats_rate(9_999, 1542)


def test_visible_cycle_is_rounded_up() -> None:
    assert _engine.ats_visible_cycle(8 * TICKS_PER_NS) == 1
    assert _engine.ats_visible_cycle(8 * TICKS_PER_NS + 1) == 2
    assert _engine.ats_visible_cycle(0, 400) == 50
