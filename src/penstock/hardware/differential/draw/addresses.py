# SPDX-License-Identifier: Apache-2.0
"""Who frames are from and for, and what their tags say."""

from __future__ import annotations

from penstock.hardware.differential.draw.drawing import Drawing
from penstock.hardware.traffic import BROADCAST, station_address

STATIONS_PER_PORT = 4


def source_address(drawing: Drawing, port: int) -> bytes:
    """An address that is mostly of this port."""
    rng = drawing.rng
    if drawing.crowd and rng.random() < 0.3:
        return rng.choice(drawing.crowd)
    if rng.random() < 0.02:  # it has moved here
        port = rng.randrange(drawing.ports)
    return station_address(port, rng.randrange(STATIONS_PER_PORT))


def destination_address(drawing: Drawing, port: int) -> bytes:
    """An address that is mostly behind this port."""
    rng = drawing.rng
    kind = rng.random()
    if kind < 0.80:
        return station_address(port, rng.randrange(STATIONS_PER_PORT))
    if kind < 0.85 and drawing.crowd:
        return rng.choice(drawing.crowd)
    if kind < 0.90:
        return unknown_address(drawing)
    if kind < 0.95:
        return rng.choice(drawing.multicasts)
    return BROADCAST if kind < 0.98 else b"\x01\x80\xc2\0\0" + bytes([rng.randrange(18)])


def unknown_address(drawing: Drawing) -> bytes:
    """An address that nobody has."""
    return bytes([0x02, 0xEE, 0, 0, 0, drawing.rng.randrange(16)])


def all_addresses(drawing: Drawing) -> list[bytes]:
    """All that frames are sent to and that may stand in the forwarding database."""
    stations = [station_address(p, n) for p in range(drawing.ports) for n in range(STATIONS_PER_PORT)]
    return [*stations, *drawing.multicasts, *drawing.crowd, unknown_address(drawing)]


def tag_vlan(drawing: Drawing, port: int) -> int | None:
    """What the tag says; mostly a VLAN of the port."""
    rng = drawing.rng
    own = [vlan for vlan, members in drawing.vlans.items() if port in members]
    if rng.random() < 0.1 or not own:
        own = [*drawing.vlans]
    return rng.choice((None, 0, *own) if drawing.untagged(port) in own else own)
