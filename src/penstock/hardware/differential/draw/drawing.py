# SPDX-License-Identifier: Apache-2.0
"""What holds for a whole scenario: the ports, the VLANs, who is there, and the configuration."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from penstock.hardware.configure import StreamEntry, SwitchConfig, fdb_set
from penstock.hardware.registers import registers as register_map
from penstock.hardware.traffic import as_number

WITH_HOST = (3, 5, 8)  # sizes of which the last port is the host's
LIST_CYCLES = 16_000  # by then a gate list runs that was committed first of all


@dataclass(frozen=True)
class Flow:
    """Frames of one stream: what identifies them, and the class they mostly travel in."""

    entry: StreamEntry
    addresses: bytes  # destination and source
    vlan: int
    pcp: int
    ipv4: bool


class Drawing:
    """The chance that all is drawn from, and what is drawn before any frame."""

    def __init__(self, rng: random.Random, ports: int) -> None:
        self.rng = rng
        self.ports = ports
        self.everybody = set(range(ports))
        self.registers = register_map()
        self.name_of = {word: name for name, register in self.registers.items() for word in register.words[:1]}
        self.damaged_share = rng.choice((0.0, 0.02, 0.03, 0.3))
        self.r_tag_share = 0.0  # of frames that come with one
        self.ptp_share = 0.0  # of frames that are event messages of PTP
        self.ages = rng.random() < 0.12
        # An egress port that gives frames up over and over again.
        self.gives_up = rng.randrange(ports) if rng.random() < 0.12 else None
        self.vlans = self._vlans()
        self.port_vlan_id = self._port_vlan_id()
        self.crowd = self._crowd()
        self.multicasts = [bytes([0x01, 0, 0x5E, 0, 0, rng.randrange(8)]) for _ in range(3)]
        self.host = ports in WITH_HOST
        self.config = SwitchConfig(ports=ports, host=self.host)  # until it is drawn, and with it the streams
        self.flows: list[Flow] = []
        self.flows_of_port: list[list[Flow]] = []

    def log(self, low: float, high: float) -> int:
        """Every magnitude is as likely as any other."""
        return round(math.exp(self.rng.uniform(math.log(low), math.log(high))))

    def some(self, share: float) -> set[int]:
        """Each port with this chance."""
        return {port for port in range(self.ports) if self.rng.random() < share}

    def untagged(self, port: int) -> int:
        """The VLAN of frames without a tag."""
        return 1 if self.port_vlan_id is None else self.port_vlan_id[port]

    def _vlans(self) -> dict[int, set[int]]:
        rng = self.rng
        ids = {rng.choice((1, 2, 10, 4094, rng.randint(1, 4094))) for _ in range(rng.randint(1, 4))} | {1}
        return {vlan: set(self.everybody) if rng.random() < 0.6 else self.some(0.75) for vlan in sorted(ids)}

    def _port_vlan_id(self) -> list[int] | None:
        rng = self.rng
        return None if rng.random() < 0.3 else [rng.choice([*self.vlans, 1]) for _ in range(self.ports)]

    def _crowd(self) -> list[bytes]:
        """Addresses that share a set of the forwarding database, so that they displace each other."""
        rng = self.rng
        if rng.random() < 0.6:
            return []
        vlan, sets = rng.choice([*self.vlans]), 512
        wanted = rng.randrange(sets)
        found: list[bytes] = []
        base = rng.getrandbits(16)
        for n in range(6 * sets):
            address = b"\x02\xcc" + base.to_bytes(2, "big") + n.to_bytes(2, "big")
            if fdb_set(as_number(address), vlan, sets) == wanted:
                found.append(address)
        return found
