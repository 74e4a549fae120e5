# SPDX-License-Identifier: Apache-2.0
"""Runs of years: times beyond 100 days take 128 bit, which models have, and neither a trace nor anything else."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.scenario.draft import Draft
from penstock.scenario.limits import LONGEST_PS
from penstock.scenario.network import Network, TraceFilter
from penstock.scenario.positions import KeyPath
from penstock.scenario.units import TIME

_WITHIN = TIME.write(LONGEST_PS)


def trace_of(draft: Draft, network: Network) -> TraceFilter:
    """What is written down of a network: of one that counts years nothing. Refuses nodes that do not count so far."""
    times = network.counted
    beyond = next((path for path in times if times[path] > LONGEST_PS), None)
    if beyond is None:
        return network.trace
    what = f"{TIME.write(times[beyond])} is beyond {_WITHIN}"
    for who in _who_cannot(network):
        draft.report.add(beyond, f"{what}, and {who}", f'up to {_WITHIN}; or models, as nodes = "model" has them')
        break
    said: KeyPath = ("trace",)
    if draft.scenario.trace.model_fields_set and network.trace.enabled:
        draft.report.add(said, f"a trace holds times up to {_WITHIN}, and {_dotted(beyond)} is more", "enabled = false")
    elif network.trace.enabled:
        draft.report.warn(beyond, f"{what}, so that no trace is written; the statistics are there")
    return TraceFilter(enabled=False)


def _dotted(path: KeyPath) -> str:
    return ".".join(str(part) for part in path)


def _who_cannot(network: Network) -> Iterator[str]:
    if network.is_real:
        yield "the nodes are real hosts"
    for bridge in network.bridges.values():
        if bridge.nodes != "model":
            yield f'the bridge "{bridge.name}" is no model'
    for station in network.stations.values():
        if station.card is not None and station.card.is_hardware:
            yield f'the card of "{station.name}" is hardware'
