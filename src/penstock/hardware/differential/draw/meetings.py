# SPDX-License-Identifier: Apache-2.0
"""Frames that come just when something else happens."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.ethernet import MIN_FRAME_BYTES
from penstock.hardware.configure import fdb_set
from penstock.hardware.differential.draw.addresses import destination_address, source_address
from penstock.hardware.differential.draw.drawing import Drawing
from penstock.hardware.differential.draw.phases import PERIOD_CYCLES
from penstock.hardware.differential.scenario import Arrival
from penstock.hardware.traffic import BROADCAST, TYPE_EXPERIMENTAL, Frame, as_number, vlan_tag

SWEEP_CYCLES_PER_SET = 6


def chase(drawing: Drawing, frames: int, sweep: int) -> list[Arrival]:
    """Frames whose addresses are learnt and looked for just as an aging sweep comes by their place."""
    rng = drawing.rng
    found = []
    for _ in range(frames):
        port = rng.randrange(drawing.ports)
        vlan = rng.choice([*drawing.vlans])
        pair = destination_address(drawing, rng.choice([*drawing.everybody - {port}])), source_address(drawing, port)
        place = fdb_set(as_number(rng.choice(pair)), vlan, drawing.config.size.fdb_sets)
        passes = sweep + PERIOD_CYCLES * rng.randrange(4) + SWEEP_CYCLES_PER_SET * place
        frame = Frame(port, b"".join(pair) + vlan_tag(vlan, 0) + TYPE_EXPERIMENTAL, MIN_FRAME_BYTES)
        found.append(Arrival(passes - frame.carrier_cycles + rng.randint(-50, 20), frame))
    return sorted(found, key=lambda arrival: arrival.at)


def meet(drawing: Drawing, meetings: int, at: int) -> Iterator[Arrival]:
    """Two frames end together: one from an address that was not heard here before, the other one to it."""
    rng = drawing.rng
    for _ in range(meetings):
        here, there = rng.sample(range(drawing.ports), 2)
        address = b"\x02\xdd\0\0\0" + bytes([rng.randrange(8)])
        tag = vlan_tag(rng.choice([*drawing.vlans]), 0) + TYPE_EXPERIMENTAL
        yield Arrival(at, Frame(here, BROADCAST + address + tag, MIN_FRAME_BYTES))
        other = Frame(there, address + source_address(drawing, there) + tag, MIN_FRAME_BYTES)
        yield Arrival(at + rng.randint(-4, 24), other)
        at += 4 * MIN_FRAME_BYTES
