# SPDX-License-Identifier: Apache-2.0
"""A class with ATS is served in the order of eligibility times (802.1Q 8.6.8.5), on the hardware and in both models."""

from __future__ import annotations

from typing import Any

import pytest

import penstock as ps

pytestmark = pytest.mark.long(40)

RATE_BPS = 20_000_000
FRAME_BYTES, ON_WIRE_BYTES = 200, 220
EVERY_NS = 5_000


def _scenario(bridge: dict[str, Any], *, unshaped_from: str) -> dict[str, Any]:
    """Two frames of a shaped stream, the second held for its rate; meanwhile one of its class without a scheduler."""
    way = {"to": ["listener"], "vlan": 10, "pcp": 3}
    frames = {"frames": f"{FRAME_BYTES}B", "every": f"{EVERY_NS}ns"}
    return {
        "name": "order",
        "duration": "1ms",
        "links": {"rate": "1Gb/s", "delay": "50ns"},
        "bridges": {"sw": {"ports": 4, "classes": {"7": {"selection": "ats", "max_residence": "500us"}}, **bridge}},
        "stations": {"talker": {"at": "sw.0"}, "other": {"at": "sw.1"}, "listener": {"at": "sw.2"}},
        "streams": {
            "shaped": {
                **way,
                "from": "talker",
                "source": {**frames, "count": 2, "start": "100us"},
                "ats": {"rate": f"{RATE_BPS}b/s", "burst": f"{ON_WIRE_BYTES}B"},
            },
            "unshaped": {**way, "from": unshaped_from, "source": {**frames, "count": 1, "start": "110us"}},
        },
    }


@pytest.mark.parametrize("unshaped_from", ["talker", "other"])
@pytest.mark.parametrize(
    "bridge",
    [{"nodes": "rtl"}, {"nodes": "model"}, {"nodes": "model", "processing_delay": "2us"}],
    ids=["hardware", "model", "other_maker"],
)
def test_an_unshaped_frame_does_not_wait_behind_a_shaped_one(bridge: dict[str, Any], unshaped_from: str) -> None:
    streams = ps.load(_scenario(bridge, unshaped_from=unshaped_from)).run().summary["streams"]
    shaped, unshaped = streams["shaped"]["latency_ns"], streams["unshaped"]["latency_ns"]
    # The bucket holds one frame: the second is eligible as soon as the rate has filled it again.
    held_ns = ON_WIRE_BYTES * 8 * 10**9 // RATE_BPS - EVERY_NS
    assert shaped["max"] - shaped["min"] == pytest.approx(held_ns, abs=8)
    assert unshaped["max"] == pytest.approx(shaped["min"], abs=8)
