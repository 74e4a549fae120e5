# SPDX-License-Identifier: Apache-2.0
"""Random mixes of all shapers, run in the engine: nothing takes longer than its bound, and some come near it."""

from __future__ import annotations

import json
import subprocess
import sys

from penstock.bound.campaign import Campaign


def test_no_frame_takes_longer_than_its_bound() -> None:
    tally = Campaign(150).run()
    assert [each.said for each in tally.violations] == []
    assert tally.refused < 30
    assert tally.queues > 1000
    assert tally.bounds > 400
    for how in ("strict", "cbs", "ats", "round_robin"):
        for served in (how, f"{how}, gated"):
            assert len(tally.ratios[served]) > 10, served
    assert max(map(max, tally.ratios.values())) > 0.95


def test_the_command_holds_networks_against_their_bounds() -> None:
    command = [sys.executable, "-m", "penstock", "bound", "--campaign", "3", "--seed", "5", "--json"]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert (told["ok"], told["networks"], told["violations"]) == (True, 3, [])
    refused = subprocess.run(command[:4], check=False, capture_output=True, text=True)
    assert refused.returncode == 2
    assert "SCENARIO, or --campaign N" in refused.stderr
