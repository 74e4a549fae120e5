# SPDX-License-Identifier: Apache-2.0
"""Whether the frames of streams can pass the gates and the longest units of the ports on their way."""

from __future__ import annotations

from operator import attrgetter

from penstock.ethernet import AHEAD_BYTES, SDU_OVERHEAD_BYTES, WIRE_OVERHEAD_BYTES
from penstock.scenario.checked_stream import Stream
from penstock.scenario.draft import Draft
from penstock.scenario.egress import Egress, GateList
from penstock.scenario.lengths import edits, lengths_at
from penstock.scenario.network import Network
from penstock.scenario.positions import KeyPath
from penstock.scenario.windows import acting, wire_ns

_UNTAGGED = 8  # behind the priorities


def check_passing(draft: Draft, network: Network) -> None:
    """Whether each stream's frames can leave by each port on their way, their talker's first."""
    passed: dict[tuple[str, int, int], int] = {}  # by bridge, port and class, a length that passes as it came
    all_pass = not draft.report.mended and _all_pass(network)
    for stream in network.streams.values():
        talker = network.stations[stream.talker]
        if talker.is_shaped:
            number = network.class_at_talker(stream)
            _check_passes(draft, network, stream, talker, (talker.name, 0), number, ("stations", talker.name, "gates"))
        for hop in () if all_pass else stream.tree:
            bridge = network.bridges[hop.bridge]
            if not bridge.gates and not bridge.max_sdu_bytes:
                continue
            number = bridge.class_of_untagged if stream.vlan is None else bridge.class_of_pcp[stream.pcp]
            for port in hop.egress:
                at = hop.bridge, port, number
                if stream.max_frame_bytes <= passed.get(at, -1):
                    continue
                own = draft.settings[hop.bridge].port.get(str(port))
                where: KeyPath = (*draft.origin[hop.bridge], "gates")
                if own is not None and own.gates is not None:
                    where = (*draft.origin[hop.bridge], "port", str(port), "gates")
                passes = _check_passes(draft, network, stream, bridge, (hop.bridge, port), number, where)
                if passes and not edits(network):
                    passed[at] = stream.max_frame_bytes


def _check_passes(
    draft: Draft, network: Network, stream: Stream, settings: Egress, at: tuple[str, int], number: int, where: KeyPath
) -> bool:
    """Whether nothing is to be said, of frames as long as these."""
    if draft.report.is_mended(where[:-1]):
        return False
    passes = True
    port = at[1]
    which, place = settings.class_name(number), at[0] if at[0] == stream.talker else f"{at[0]}.{port}"
    limit = settings.max_sdu_bytes.get((port, number))
    longest = lengths_at(network, stream, at).counted[1]
    if limit is not None and longest > limit + SDU_OVERHEAD_BYTES:
        most = limit + SDU_OVERHEAD_BYTES
        what = f"frames of {longest} B are above the max_sdu of {which} at {place}: {limit} B"
        allowed = f"frames up to {most}B there: {SDU_OVERHEAD_BYTES} B are around the data"
        draft.once(("streams", stream.name, "source"), what, allowed)
        passes = False
    where = (*where, "entries")
    window_ns, needed_ns = _window(network, settings, at, number, longest)
    if window_ns == 0:
        passes = False
        what = f'{which} never opens at {place}, but "{stream.name}" needs it'
        draft.report.add(where, what, f"an entry that opens class {number}")
    elif window_ns is not None and needed_ns > window_ns:
        passes = False
        wire = longest + _around(settings)
        what = (
            f'{which} is open for {window_ns} ns at most at {place}, but a frame of "{stream.name}" takes '
            f"{needed_ns} ns ({wire} B on the wire)"
        )
        draft.report.add(where, what, f"a window of {needed_ns}ns or more, or shorter frames")
    return passes


def _all_pass(network: Network) -> bool:
    """Whether the longest frames of each priority would pass at all ports, in bridges that leave their tags alone."""
    rising = sorted(network.streams.values(), key=attrgetter("max_frame_bytes"))
    longest = {_UNTAGGED if stream.vlan is None else stream.pcp: stream.max_frame_bytes for stream in rising}
    alike: set[tuple[GateList, int, int, tuple[int, ...]]] = set()  # all by which ports with gates differ
    for bridge in network.bridges.values():
        if edits(network) and (bridge.gates or bridge.max_sdu_bytes):
            return False
        classes = *bridge.class_of_pcp, bridge.class_of_untagged
        for (_, number), limit in bridge.max_sdu_bytes.items():
            if any(classes[at] == number and size > limit + SDU_OVERHEAD_BYTES for at, size in longest.items()):
                return False
        for port, gates in bridge.gates.items():
            link = network.link_at.get((bridge.name, port))
            if link is not None:
                alike.add((gates, link.rate_bps, _around(bridge), classes))
    return all(
        window_ns is None or wire_ns(size, rate_bps, around) <= window_ns
        for gates, rate_bps, around, classes in alike
        for at, size in longest.items()
        for window_ns in [acting(gates).largest_window(classes[at])]
    )


def _window(
    network: Network, settings: Egress, at: tuple[str, int], number: int, longest: int
) -> tuple[int | None, int]:
    """For how long the gate of a class is open at most, None if always; and what a frame needs of that."""
    gates = settings.gates.get(at[1])
    window_ns = None if gates is None else acting(gates).largest_window(number)
    return window_ns, wire_ns(longest, network.link_at[at].rate_bps, _around(settings))


def _around(settings: Egress) -> int:
    return WIRE_OVERHEAD_BYTES if settings.guard_band_gap else AHEAD_BYTES
