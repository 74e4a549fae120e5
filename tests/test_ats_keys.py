# SPDX-License-Identifier: Apache-2.0
"""What a scenario says of ATS schedulers beside rate and burst of a stream: eligibility computed by hand."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from penstock.errors import InputError
from penstock.scenario import load
from shaped import KINDS, Bridge, frames

MODELS = KINDS[:2]


def gaps(times: list[int]) -> list[int]:
    return [b - a for a, b in pairwise(times)]


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(("overhead", "gap_ns"), [("-18B", 100_000), ("0B", 118_000), ("20B", 138_000)])
def test_a_scheduler_may_count_the_payload_only(tmp_path: Path, kind: str, overhead: str, gap_ns: int) -> None:
    """Frames of 118 B at 8 Mb/s, a byte in 1 us; the burst is what is counted of one frame."""
    counted = gap_ns // 1000
    sent = Bridge(tmp_path, kind)(
        f'overhead = "{overhead}"',
        frames(
            "s", 7, 118, 0, source='every = "1s", burst = 3', more=f'ats = {{ rate = "8Mb/s", burst = "{counted}B" }}'
        ),
    )
    assert gaps(sent["s"]) == [gap_ns, gap_ns]


def test_hardware_counts_whole_frames(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        Bridge(tmp_path, "rtl")('overhead = "-18B"', frames("s", 1, 118, 0))
    assert refused.value.key == "bridges.b.overhead"
    assert refused.value.allowed == '0B to 255B, or nodes = "model"'
    assert load(tmp_path, nodes="model").bridges["b"].overhead_bytes == -18
