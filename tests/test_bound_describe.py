# SPDX-License-Identifier: Apache-2.0
"""What is said of a network to the analysis: once for all streams of which it is the same."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.bound import describe
from penstock.scenario import load

STREAMS = 30


def test_what_streams_of_a_talker_have_in_common_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = {
        "from": "a",
        "to": ["b"],
        "vlan": 10,
        "pcp": 3,
        "source": {"frames": "100B", "every": "1ms"},
        "ats": {"rate": "2Mb/s", "burst": "240B"},
    }
    network = load(
        {
            "name": "many",
            "nodes": "model",
            "duration": "1ms",
            "links": {"rate": "1Gb/s", "delay": "50ns"},
            "bridges": {"sw": {"ports": 2, "classes": {"5": {"selection": "ats"}}}},
            "stations": {"a": {"at": "sw.0"}, "b": {"at": "sw.1"}},
            "streams": {f"s{number}": stream for number in range(STREAMS)},
        }
    )
    asked: list[str] = []
    is_kept = describe._is_kept

    def counting(of: Any, each: str) -> bool:
        asked.append(each)
        return is_kept(of, each)

    monkeypatch.setattr(describe, "_is_kept", counting)
    told = describe.describe(network)
    assert len(told.streams) == STREAMS
    assert 0 < len(asked) <= STREAMS
