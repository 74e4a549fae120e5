# SPDX-License-Identifier: Apache-2.0
"""Watches a class of a plane that runs, for what a gate control list of it would be."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from penstock.errors import InputError
from penstock.plane.control import Control
from penstock.plane.flows import by_flow
from penstock.plane.proposal import Port, Proposal
from penstock.plane.proposal import propose as propose_for


def propose(control: Control, port: str, traffic_class: int, seconds: float, tolerance_ns: int) -> Proposal:
    """A list for the flows of a class that come in the next seconds.

    Raises:
        InputError: There is no such port, or no list fits what came.
        MachineError: The plane is gone.

    """
    control.ask("watch", port=port, **{"class": traffic_class})
    told = control.ask("counters")["ports"]
    time.sleep(seconds)
    return of(control.ask("arrivals"), Port(traffic_class, told[port]["rate_bps"], tolerance_ns))


def of(arrivals: Mapping[str, Any], port: Port) -> Proposal:
    """A list for what a plane noted. Raises InputError if none fits, or if another watch came between."""
    if arrivals["class"] != port.traffic_class:
        raise InputError("somebody else watches another class", allowed="one watch at a time", file="arrivals")
    return propose_for(by_flow([_name(flow) for flow in arrivals["flows"]], arrivals["frames"]), port)


def _name(flow: Mapping[str, Any]) -> str:
    behind = "" if flow["destination_port"] is None else f" port {flow['destination_port']}"
    return f"VLAN {flow['vlan']}, {flow['source']} to {flow['destination']}{behind}"
