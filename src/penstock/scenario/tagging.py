# SPDX-License-Identifier: Apache-2.0
"""With which tag frames leave a bridge (802.1Q 6.9, 8.8.10): what is said of ports, and what it means for streams."""

from __future__ import annotations

from typing import Literal

from penstock.scenario import model
from penstock.scenario.checked_stream import Stream
from penstock.scenario.draft import Draft
from penstock.scenario.network import REAL, Bridge, Network, NodeKind, Translation
from penstock.scenario.positions import KeyPath

MOST_VLAN = 4094
Edit = Literal["keep", "remove", "insert", "rewrite"]


def check_port_tags(draft: Draft, path: KeyPath, port: model.Port, kind: NodeKind, settings: model.Bridge) -> None:
    """Whether the bridge can do what is said of the tags and corrections at a port of it."""
    if port.untagged and not port.tagging:
        draft.report.refuse((*path, "untagged"), "the port sends frames as they came", "tagging = true beside it")
    if port.translation and not port.tagging:
        draft.report.refuse((*path, "translation"), "the port sends frames as they came", "tagging = true beside it")
    if port.translation and not settings.translations:
        draft.report.refuse((*path, "translation"), "the bridge translates no VLAN", "translations of the bridge")
    for key, is_set, does in (
        ("tagging", port.tagging, "tag frames"),
        ("r_tag_removal", port.r_tag_removal, "tag frames"),
        ("ptp_correction", port.ptp_correction, "correct messages"),
    ):
        if is_set and (draft.nodes in REAL or kind == "own"):
            draft.report.refuse((*path, key), f"only models and hardware {does}", 'nodes = "model" or "rtl"')
        if is_set and settings.switching == "cut_through":
            what = "a frame that is sent on before it is whole leaves as it came"
            draft.report.refuse((*path, key), what, 'switching = "store_and_forward"')


def translations_of(draft: Draft, path: KeyPath, settings: model.Bridge) -> dict[int, Translation]:
    """What the tags of VLANs become at ports that translate, by VLAN."""
    found = {}
    for key, entry in settings.translations.items():
        with draft.report.part():
            where = (*path, "translations", key)
            if not key.isdecimal() or not 1 <= int(key) <= MOST_VLAN:
                draft.report.refuse(where, f"{key} is not a VLAN", f"1 to {MOST_VLAN}")
            if entry.vlan is None and entry.pcp is None:
                draft.report.refuse(where, "it says neither vlan nor pcp", "one of them, or both")
            found[int(key)] = Translation(entry.vlan, entry.pcp)
    if found and not any(port.translation for port in settings.port.values()):
        draft.report.warn((*path, "translations"), "no port has translation")
    return found


def edit_of(network: Network, stream: Stream, bridge: Bridge, entry: int, egress: int) -> Edit:
    """What a bridge does to the tag of a stream's frames at an egress port."""
    if egress not in bridge.tagging_ports:
        return "keep"
    vlan = network.vlan_at(stream, bridge.name, entry)
    without = egress in bridge.untagged.get(vlan, ())
    if stream.vlan is None:
        return "keep" if without else "insert"
    if without:
        return "remove"
    sent = _tag(bridge, vlan, stream.pcp, egress)
    return "keep" if sent == (stream.vlan, stream.pcp) else "rewrite"


def _tag(bridge: Bridge, vlan: int, pcp: int, egress: int) -> tuple[int, int]:
    """VLAN and priority code point with which frames of a VLAN leave a port that sends them with a tag."""
    translation = bridge.translations.get(vlan) if egress in bridge.translating_ports else None
    if translation is None:
        return vlan, pcp
    return (
        vlan if translation.vlan is None else translation.vlan,
        pcp if translation.pcp is None else translation.pcp,
    )


def check_tagging(draft: Draft, network: Network) -> None:
    """Between bridges frames keep their tags: what a stream is at each bridge follows from what its talker sends."""
    if not any(bridge.tagging_ports for bridge in network.bridges.values()):
        return
    for stream in network.streams.values():
        for hop in stream.tree:
            bridge = network.bridges[hop.bridge]
            for port in sorted(bridge.tagging_ports & set(hop.egress)):
                edit, peer = edit_of(network, stream, bridge, hop.entry, port), network.peer(hop.bridge, port)
                if edit == "keep" or peer is None or peer[0] not in network.bridges:
                    continue
                vlan = network.vlan_at(stream, hop.bridge, hop.entry)
                sent, pcp = _tag(bridge, vlan, bridge.pcp_of_untagged if edit == "insert" else stream.pcp, port)
                how = f"with a tag of VLAN {sent} and PCP {pcp} that its talker does not set"
                draft.once(
                    (*draft.origin[hop.bridge], "port", str(port), "tagging"),
                    f'stream "{stream.name}" would leave for bridge "{peer[0]}" '
                    + ("without its tag" if edit == "remove" else how),
                    "edits at ports to stations; between bridges frames leave as their talkers send them",
                )
