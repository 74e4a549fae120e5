# SPDX-License-Identifier: Apache-2.0
"""The testbed's runs: four schedulers, and a talker that knows the gates or does not."""

from __future__ import annotations

from typing import Any

from penstock.reproduce.experiment import SCENARIOS, Case
from penstock.reproduce.smartnic_tas.flows import watch

FILE = SCENARIOS / "smartnic-tas" / "testbed.toml"
SWITCHES = ("nic1", "nic2")
SCHEDULERS = {
    "rr": "round robin",
    "sp": "strict priority",
    "taprio": "taprio",
    "tas": "time-aware shaper",
}
PRIORITIES = {"st": 1, "be": 0}  # and classes
CYCLE_US = 5_000
_PERIOD_US = 800  # 1000 B at 10 Mb/s
_BE_PERIOD_US = 803  # so that the flows have no common phase, as of two programs
_SPACING_US = 480  # of an aligned talker: more than a frame takes at the slow port
_WINDOW_PARTS = 10, 7  # ST has 70 %
# Of taprio's hosts, before the gates. No frame is faster than the best case that the paper cites of two switches with
# taprio, 100 us; the rest is ours.
SOFTWARE = {"quantiles": [[0, "100us"], [0.5, "150us"], [0.9, "300us"], [0.99, "700us"], [1, "1500us"]]}


def gates(cycle_us: int) -> dict[str, Any]:
    """ST's window, then that of BE."""
    parts, window = _WINDOW_PARTS
    st_us = cycle_us * window // parts
    entries = [
        {"open": ["scheduled"], "interval": f"{st_us}us"},
        {"open": ["best_effort"], "interval": f"{cycle_us - st_us}us"},
    ]
    return {"cycle_time": f"{cycle_us}us", "entries": entries}


def streams(aligned_to_us: int | None, software: bool = False) -> dict[str, Any]:
    """ST and BE, 10 Mb/s each. ST knows a cycle of so many us: all that it sends comes in its window."""
    found = {
        name: _stream(10, 1, period_us, start_us, software) for name, period_us, start_us in _scheduled(aligned_to_us)
    }
    return found | {"be": _stream(20, 0, _BE_PERIOD_US, 0, software)}


def _scheduled(cycle_us: int | None) -> list[tuple[str, int, int]]:
    """Name, period and start in us of each part of ST: of an aligned talker a stream for each frame of a cycle."""
    if cycle_us is None:
        return [("st", _PERIOD_US, 0)]
    whole, over = divmod(cycle_us, _PERIOD_US)
    found = [(f"st{number}", cycle_us, number * _SPACING_US) for number in range(whole)]
    # The remaining part of a frame in each cycle is a frame in some of them.
    return [*found, (f"st{whole}", cycle_us * _PERIOD_US // over, whole * _SPACING_US)] if over else found


def _stream(vlan: int, pcp: int, period_us: int, start_us: int, software: bool) -> dict[str, Any]:
    source: dict[str, Any] = {"frames": "1000B", "every": f"{period_us}us", "start": f"{start_us}us"}
    if software:
        source["software"] = {"delay": SOFTWARE}
    return {"from": "host1", "to": ["host2"], "vlan": vlan, "pcp": pcp, "source": source}


def case(scheduler: str, aligned: bool, cycle_us: int = CYCLE_US, rate_mbps: int | None = None) -> Case:
    """A run. The rate is that of the slow port, if it is not that of the scenario."""
    values: dict[str, Any] = {"streams": streams(cycle_us if aligned else None, scheduler == "taprio")}
    for name in SWITCHES:
        if scheduler in ("taprio", "tas"):
            values[f"bridges.{name}.port"] = {"1": {"gates": gates(cycle_us)}}
        else:
            values[f"bridges.{name}.port"] = {}
        if scheduler == "rr":
            for number in range(2):
                values[f"bridges.{name}.classes.{number}.selection"] = "round_robin"
    if rate_mbps is not None:
        values["stations.host2.rate"] = f"{rate_mbps}Mb/s"
    at = {"scheduler": scheduler, "aligned": aligned, "cycle_us": cycle_us, "rate_mbps": rate_mbps}
    return Case(FILE, values, at, watch)
