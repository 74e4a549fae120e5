# SPDX-License-Identifier: Apache-2.0
"""The streams that the switch knows."""

from __future__ import annotations

from dataclasses import replace

from penstock.hardware.configure import IDENTIFY, IPV4_FIELDS, Identify, StreamEntry, SwitchConfig, place, stream_key
from penstock.hardware.differential.draw.addresses import destination_address, source_address, tag_vlan
from penstock.hardware.differential.draw.drawing import Drawing, Flow
from penstock.hardware.traffic import as_number


def draw_flows(drawing: Drawing, config: SwitchConfig) -> list[Flow]:
    """The streams that find a place in the hardware's table."""
    rng = drawing.rng
    count = rng.choice((0, 3, 8, 8, 20, 20, 60, 256))
    shaped = [pcp for pcp, k in enumerate(config.class_of_pcp) if k in config.ats_classes]
    group = [(port, rng.choice(shaped or [*range(8)])) for port in range(drawing.ports)]
    kinds = IDENTIFY if rng.random() < 0.4 else (rng.choice(IDENTIFY),)
    mask = sum((1 << width) - 1 << low for name, (low, width) in IPV4_FIELDS.items() if name in config.ipv4_fields)
    numbered_share = rng.choice((0.0, 0.0, 0.5, 1.0))
    flows: dict[int, Flow] = {}
    for _ in range(count):
        # Most streams of a port share a group.
        port = rng.randrange(drawing.ports)
        pcp = group[port][1] if rng.random() < 0.7 else rng.choice(shaped or [*range(8)])
        flow = _flow(drawing, rng.choice(kinds), port, pcp)
        if rng.random() < numbered_share:
            flow = replace(flow, entry=replace(flow.entry, numbered=True))
        flows.setdefault(stream_key(flow.entry, mask), flow)
    places = place([*flows], 2 * config.size.streams)
    return [flow for flow, where in zip(flows.values(), places, strict=True) if where is not None]


def _flow(drawing: Drawing, identify: Identify, port: int, pcp: int) -> Flow:
    rng = drawing.rng
    destination = destination_address(drawing, rng.choice([*drawing.everybody - {port}]))
    source = bytes([0x02, 0xAA, 0, 0, port, rng.randrange(64)]) if rng.random() < 0.5 else source_address(drawing, port)
    vlan = tag_vlan(drawing, port) or drawing.untagged(port)
    rate, burst = rate_and_burst(drawing)
    entry = StreamEntry(port, identify, rate, burst)
    match identify:
        case "destination":
            entry = replace(entry, mac=as_number(destination), vlan=vlan)
        case "source":
            entry = replace(entry, mac=as_number(source), vlan=vlan)
        case "ipv4":
            protocol = rng.choice((17, 17, 6, 1))
            numbers = [rng.randrange(65536) if protocol in (6, 17) else 0 for _ in range(2)]
            entry = replace(
                entry,
                ipv4_source=0x0A000000 + rng.randrange(4),
                ipv4_destination=0x0A010000 + rng.randrange(256),
                protocol=protocol,
                source_port=numbers[0],
                destination_port=numbers[1],
            )
    return Flow(entry, destination + source, vlan, pcp, identify == "ipv4")


def rate_and_burst(drawing: Drawing) -> tuple[int, int]:
    """A stream's rate in b/s and its burst in bytes."""
    return drawing.log(50_000, 1e9), drawing.log(64, 30_000)
