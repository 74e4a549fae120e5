# SPDX-License-Identifier: Apache-2.0
"""A stream without a bound is told the condition that fails, and what would mend it."""

from __future__ import annotations

from penstock.bound.campaign import described
from penstock.bound.way import ways_of
from penstock.errors import InputError
from penstock.scenario import load

SAID = {"idleSlope": 0, "window": 0, "goes first": 0, "brings what": 0}


def test_each_reason_says_what_would_mend_it() -> None:
    seen = dict(SAID)
    for seed in range(60):
        try:
            network = load(described(seed, "model"))
        except InputError:
            continue
        for name in network.streams:
            for way in ways_of(network, name):
                if way.reason is not None:
                    assert ";" in way.reason, way.reason
                    for kind in seen:
                        seen[kind] += kind in way.reason
    assert all(seen.values()), seen
