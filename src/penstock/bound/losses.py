# SPDX-License-Identifier: Apache-2.0
"""Where frames may be lost for want of room: a bound is about those that arrive, and behind a loss it is no promise."""

from __future__ import annotations

from collections import defaultdict

from penstock.bound.solution import Backlog, backlogs
from penstock.scenario.checked_stream import Stream
from penstock.scenario.limits import CELL_BYTES
from penstock.scenario.network import Bridge, Network
from penstock.scenario.store import limit_of_class, shares, store_cells


def loss_of(network: Network, stream: Stream) -> str | None:
    """Where a frame of the stream may find no room, and what for; None: nowhere."""
    known: dict[tuple[tuple[str, int], int], str] | None = network.memo.get("losses")
    if known is None:
        known = network.memo["losses"] = _losses(network)
    for hop in stream.tree:
        number = network.class_at(stream, hop.bridge)
        for port in hop.egress:
            found = known.get(((hop.bridge, port), number))
            if found is not None:
                return found
    return None


def _losses(network: Network) -> dict[tuple[tuple[str, int], int], str]:
    """By queue."""
    by_bridge: defaultdict[str, list[Backlog]] = defaultdict(list)
    for each in backlogs(network):
        by_bridge[each.place[0]].append(each)
    found: dict[tuple[tuple[str, int], int], str] = {}
    for name, queues in by_bridge.items():
        bridge = network.bridges[name]
        whole = _of_store(network, bridge, queues)
        classes = _of_classes(network, bridge, queues)
        for each in queues:
            said = _of_queue(bridge, each) or classes.get(each.traffic_class) or whole
            if said is not None:
                found[each.place, each.traffic_class] = said
    return found


def _of_queue(bridge: Bridge, queue: Backlog) -> str | None:
    if queue.fits:
        return None
    where = f"the queue of {bridge.class_name(queue.traffic_class)} at {queue.place[0]}.{queue.place[1]}"
    if queue.cells is None:
        return f"{where} may be full: nothing limits what comes"
    return (
        f"{where} may be full: up to {queue.cells:,} cells of {CELL_BYTES} B come, and it holds {queue.limit_cells:,}"
    )


def _held(queue: Backlog) -> int:
    return queue.limit_cells if queue.cells is None else min(queue.cells, queue.limit_cells)


def _of_classes(network: Network, bridge: Bridge, queues: list[Backlog]) -> dict[int, str]:
    """A class has a limit of its own over all ports."""
    held: defaultdict[int, int] = defaultdict(int)
    for each in queues:
        held[each.traffic_class] += _held(each)
    limits = {number: limit_of_class(network, bridge, number) for number in held}
    return {
        number: f'{bridge.class_name(number)} may be full at "{bridge.name}": up to {cells:,} cells of {CELL_BYTES} B'
        f" at all ports together, of {limits[number]:,}"
        for number, cells in held.items()
        if cells > limits[number]
    }


def _of_store(network: Network, bridge: Bridge, queues: list[Backlog]) -> str | None:
    """Beyond what is guaranteed to each queue, all take from one store."""
    share = shares(store_cells(bridge), bridge.ports)
    entries = {hop.entry for _, hop in network.passing[bridge.name]}
    room = share.shared + share.reception_guarantee * len(entries)
    beyond = sum(max(0, _held(each) - share.queue_guarantee) for each in queues)
    if beyond <= room:
        return None
    return (
        f'the store of "{bridge.name}" may be full: up to {beyond:,} cells of {CELL_BYTES} B beyond what is guaranteed'
        f" to its queues, of {room:,}"
    )
