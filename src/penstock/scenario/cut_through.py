# SPDX-License-Identifier: Apache-2.0
"""Cut-through: how much of a frame a bridge reads before it may send it on."""

from __future__ import annotations

from penstock.scenario import model
from penstock.scenario.draft import Draft
from penstock.scenario.network import REAL, Network
from penstock.scenario.positions import KeyPath

_HEADER_BYTES = 64  # of the shortest frame: all headers
_IPV4_HEADER_BYTES = 42  # of a tagged frame, up to the ports of UDP


def header_bytes(draft: Draft, path: KeyPath, settings: model.Bridge) -> int | None:
    """What a bridge reads of a frame before it may send it on; None: all of it."""
    is_cut_through = settings.switching == "cut_through"
    if draft.nodes in REAL and is_cut_through:
        allowed = 'no "switching", or nodes = "model"'
        draft.report.add((*path, "switching"), "bridges of Linux send on whole frames only", allowed)
    if settings.cut_through_header is not None and not is_cut_through:
        what = "a bridge that stores frames reads all of them"
        draft.report.add((*path, "cut_through_header"), what, 'switching = "cut_through" beside it')
    if not is_cut_through:
        return None
    return settings.cut_through_header or _HEADER_BYTES


def check_headers(draft: Draft, network: Network) -> None:
    """What a stream is known by has to be in the header."""
    for name, bridge in network.bridges.items():
        header = bridge.cut_through_bytes
        if header is None or header >= _IPV4_HEADER_BYTES:
            continue
        by_ipv4 = next(
            (stream for stream, _ in network.passing[name] if stream.ats and stream.identify == "ipv4"), None
        )
        if by_ipv4 is not None:
            what = f'"{by_ipv4.name}" is known by its IPv4 addresses and ports, which are not in the first {header} B'
            allowed = f'"{_IPV4_HEADER_BYTES}B" or more'
            draft.once((*draft.origin[name], "cut_through_header"), what, allowed)
