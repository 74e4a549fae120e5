# SPDX-License-Identifier: Apache-2.0
"""What a file says of an interface, as far as it says it."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.linux.qdisc import Placed, Vlan


@dataclass
class Written:
    """What a file says of one interface."""

    qdiscs: list[Placed] = field(default_factory=list)
    map_lengths: dict[int, int] = field(default_factory=dict)  # of the qdisc with this handle, where a map is written
    vlans: list[Vlan] = field(default_factory=list)
    features: dict[str, bool] = field(default_factory=dict)
    is_script: bool = True  # of commands: what is not written is not so; else it is unknown


Configuration = dict[str, Written]  # by interface
