# SPDX-License-Identifier: Apache-2.0
"""Python's lengths of Ethernet are the engine's."""

from __future__ import annotations

import re

from penstock import ethernet
from penstock.data import ENGINE

PYTHON_NAME = {"PREAMBLE_BYTES": "AHEAD_BYTES"}


def test_lengths_are_those_of_the_engine() -> None:
    text = (ENGINE / "frame/src/lib.rs").read_text()
    found = {name: int(value) for name, value in re.findall(r"pub const (\w+_BYTES): u32 = (\d+);", text)}
    assert {"PREAMBLE_BYTES", "GAP_BYTES", "FCS_BYTES", "MIN_FRAME_BYTES"} <= found.keys()
    assert {name: getattr(ethernet, PYTHON_NAME.get(name, name)) for name in found} == found
    assert found["PREAMBLE_BYTES"] + found["GAP_BYTES"] == ethernet.WIRE_OVERHEAD_BYTES
