# SPDX-License-Identifier: Apache-2.0
"""Random mixes of all shapers, run in the engine: nothing takes longer than its bound, and some come near it."""

from __future__ import annotations

import json
import subprocess
import sys

from penstock.bound.campaign import Campaign, described
from penstock.errors import InputError
from penstock.scenario import load
from penstock.scenario.network import Network


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


def test_networks_of_hardware_are_drawn_of_what_hardware_can_be() -> None:
    networks = [network for seed in range(30) if (network := _accepted(seed)) is not None]
    assert len(networks) > 15
    assert all(bridge.nodes == "rtl" for network in networks for bridge in network.bridges.values())


def _accepted(seed: int) -> Network | None:
    try:
        return load(described(seed, "rtl"))
    except InputError:
        return None
