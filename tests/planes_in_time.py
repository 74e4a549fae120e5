# SPDX-License-Identifier: Apache-2.0
"""Where in the cycle of its gates a data plane sent each frame."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl


def place_in_cycle_ps(run: Path, cycle_ps: int) -> pl.Expr:
    """The time since the cycle began when a frame of `penstock.journeys.hops` was sent, in ps.

    `run` is the folder of a run in the laboratory: its summary tells when the gates began.
    """
    laboratory = json.loads((run / "summary.json").read_text())["laboratory"]
    base_ps: int = (laboratory["base_tai_ns"] - int(laboratory["stamps"]["penstock.origin_tai_ns"])) * 1000
    return (pl.col("sent") - base_ps) % cycle_ps
