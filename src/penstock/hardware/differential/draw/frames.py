# SPDX-License-Identifier: Apache-2.0
"""One frame: of a stream or of none, and now and then spoilt."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.hardware.configure import StreamEntry
from penstock.hardware.differential.draw.addresses import destination_address, source_address, tag_vlan
from penstock.hardware.differential.draw.drawing import Drawing
from penstock.hardware.differential.draw.phases import Phase
from penstock.hardware.traffic import FILLER_BYTES, PREAMBLE_BYTES, TYPE_EXPERIMENTAL, Frame, damage, vlan_tag

TYPE_IPV4 = b"\x08\x00"
TYPE_PTP = b"\x88\xf7"


def draw_frame(drawing: Drawing, port: int, phase: Phase) -> Frame:
    """A frame as the phase has them."""
    rng = drawing.rng
    flows = drawing.flows_of_port[port]
    pcp = rng.randrange(8) if phase.pcp is None else phase.pcp
    if flows and rng.random() < phase.flow_share:
        flow = rng.choice(flows)
        vlan: int | None = flow.vlan
        if flow.vlan == drawing.untagged(port) and rng.random() < 0.3:
            vlan = rng.choice((None, 0))
        head = flow.addresses + vlan_tag(vlan, flow.pcp if rng.random() < 0.9 else pcp) + r_tag(drawing)
        head += TYPE_IPV4 + ipv4_head(drawing, flow.entry) if flow.ipv4 else content(drawing)
    else:
        known = [*drawing.vlans]
        vlan = rng.choice((99, 4095)) if rng.random() < 0.03 else tag_vlan(drawing, port)
        out = phase.hot_port if rng.random() < phase.hot_share else rng.randrange(drawing.ports)
        if out == port and rng.random() < 0.9:
            out = rng.choice([*drawing.everybody - {port}])
        head = destination_address(drawing, out) + source_address(drawing, port) + vlan_tag(vlan, pcp)
        if rng.random() < 0.05:
            head += vlan_tag(rng.choice(known), pcp)
        head += r_tag(drawing) + content(drawing)
    frame = Frame(port, head, phase.size(), rng.randrange(FILLER_BYTES))
    return _spoil(drawing, frame) if rng.random() < drawing.damaged_share else frame


def r_tag(drawing: Drawing) -> bytes:
    """An R-TAG or none; one that is not quite as it should be is none."""
    rng = drawing.rng
    if rng.random() >= drawing.r_tag_share:
        return b""
    reserved = rng.choice((0, 0, 0, 0, 0, 0, 0, 1, 0x100)).to_bytes(2, "big")
    return b"\xf1\xc1" + reserved + rng.choice((0, 0xFFFF, rng.randrange(0x10000))).to_bytes(2, "big")


def content(drawing: Drawing) -> bytes:
    """What no stream is told by: from the EtherType on."""
    rng = drawing.rng
    if rng.random() >= drawing.ptp_share:
        return TYPE_EXPERIMENTAL
    message_type = rng.choice((0, 1, 2, 3, 0x10, 4, 8, 0xB))
    # Sums that carry over some bytes or all, over zero, and what says that it is too large.
    upper = rng.choice((0, 0xFF, 0x1FF, 0x7FFE, 0x7FFF, 0xFFFF, 0xFF00, rng.getrandbits(16)))
    lower = rng.choice((0, (1 << 48) - 1, (1 << 48) - rng.randrange(1, 1 << 32), rng.getrandbits(48)))
    return TYPE_PTP + bytes([message_type, 2]) + rng.randbytes(6) + (upper << 48 | lower).to_bytes(8, "big")


def ipv4_head(drawing: Drawing, entry: StreamEntry) -> bytes:
    """An IPv4 header and the ports behind it, sometimes not quite as it should be."""
    rng = drawing.rng
    odd = rng.random() < 0.1
    words = rng.choice((4, 6, 15)) if odd else 5
    fragment = rng.choice((0, 1, 185, 0x2000, 0x4000)) if odd else 0
    version = 6 if odd and rng.random() < 0.2 else 4
    head = bytes([version << 4 | words, 0]) + rng.randbytes(4) + fragment.to_bytes(2, "big")
    head += bytes([64, entry.protocol, 0, 0])
    head += entry.ipv4_source.to_bytes(4, "big") + entry.ipv4_destination.to_bytes(4, "big")
    head += rng.randbytes(4 * max(0, words - 5))
    if entry.protocol in (6, 17):
        head += entry.source_port.to_bytes(2, "big") + entry.destination_port.to_bytes(2, "big")
    return head


def storm_frame(drawing: Drawing, port: int) -> Frame:
    """A carrier with hardly anything in it."""
    rng = drawing.rng
    size = rng.randrange(4)
    delimiter = size > 0 and rng.random() < 0.3
    return Frame(port, b"", size if delimiter else max(1, size), preamble=rng.randrange(3), delimiter=delimiter)


def _spoil(drawing: Drawing, frame: Frame) -> Frame:
    """The same frame with something unusual, most of which makes it unfit."""
    rng = drawing.rng
    kind = rng.choice(("fcs", "rx_er", "runt", "giant", "preamble", "late", "no_content", "length", "both"))
    match kind:
        case "late":
            return replace(frame, delimiter=False, late_delimiter=rng.randrange(frame.size))
        case "no_content":
            return replace(frame, cut=rng.randrange(3))
        case "length":  # fit: a preamble may have any length
            return replace(frame, preamble=rng.choice((*range(PREAMBLE_BYTES), 8, 15, 40)))
        case "both":
            return replace(frame, flipped=rng.randrange(8 * frame.size), rx_er_at=rng.randrange(frame.size))
    wrong: dict[str, Any] = damage(kind, frame.size, drawing.config.max_frame_bytes, rng)
    return replace(frame, **wrong)
