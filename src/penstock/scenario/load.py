# SPDX-License-Identifier: Apache-2.0
"""From a file to a checked Network. Every refusal names file, line, key, what is wrong and what is allowed.

All that is wrong is told at once: what is wrong by itself is left out, and the rest is looked at further.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock import data
from penstock.collection import without_collection
from penstock.errors import check_known
from penstock.scenario.bridges import build_bridges, kinds_of
from penstock.scenario.cards import check_cards
from penstock.scenario.cut_through import check_headers
from penstock.scenario.demand import check_demand
from penstock.scenario.draft import Draft
from penstock.scenario.faults import faults_of
from penstock.scenario.file import parse_toml, read_text
from penstock.scenario.forwarding import check_forwarding, check_identities
from penstock.scenario.hosts import host_ports
from penstock.scenario.links import link_bridges
from penstock.scenario.network import Bridge, Network, Station, TraceFilter
from penstock.scenario.numbering import check_numbering
from penstock.scenario.passing import check_passing
from penstock.scenario.report import Report
from penstock.scenario.reservations import check_reservations
from penstock.scenario.routing import Routes
from penstock.scenario.schedulers import check_schedulers
from penstock.scenario.settings import check_names, collect_bridges
from penstock.scenario.stations import place_stations
from penstock.scenario.store import check_queue_limits
from penstock.scenario.streams import resolve_streams
from penstock.scenario.tables import check_tables
from penstock.scenario.tagging import check_tagging
from penstock.scenario.use import check_use
from penstock.scenario.vlans import with_vlans
from penstock.scenario.years import trace_of

NODES = ("model", "rtl", "linux", "plane")


def load(path: Path | str | Mapping[str, Any], nodes: str | None = None) -> Network:
    """Reads a scenario: a folder with `scenario.toml`, one file, or what such a file says as a dict.

    A path that is not there is looked for among the scenarios of the package.
    `nodes` overrides what the bridges are. Raises `InputError`, whose `errors` are all that is wrong.
    """
    if nodes is not None:
        check_known(nodes, NODES, "nodes")
    with without_collection():
        if isinstance(path, Mapping):
            return _network(Draft(Report("scenario"), Path("scenario"), dict(path)), nodes, path)
        file = data.scenario_file(Path(path))
        text = read_text(file)
        values, lines = parse_toml(file, text)
        return _network(Draft(Report(str(file), lines), file, values), nodes, text)


def _network(draft: Draft, override: str | None, written: str | Mapping[str, Any]) -> Network:
    scenario, report = draft.scenario, draft.report
    chosen = draft.nodes = override or scenario.nodes
    check_names(draft)
    collect_bridges(draft)
    links = link_bridges(draft)
    stations = place_stations(draft, links)
    draft.routes = Routes(draft.settings, links)
    bridges = build_bridges(draft, kinds_of(draft, override, chosen), links)
    streams = resolve_streams(draft, stations, bridges)
    bridges = with_vlans(draft, bridges, stations, streams)
    network = Network(
        name=scenario.name,
        title=scenario.title or scenario.name,
        file=draft.file,
        nodes=chosen,
        duration_ps=scenario.duration,
        bridges=bridges,
        stations=stations,
        streams=streams,
        links=tuple(links),
        trace=_trace_filter(draft, bridges, stations),
        warnings=report.warnings,
        tilings=draft.tilings.by_name,
        written=written,
    )
    network = replace(network, faults=faults_of(draft, network))
    network = replace(network, trace=trace_of(draft, network))
    check_schedulers(draft, network)
    check_reservations(draft, network)
    check_demand(draft, network)
    check_passing(draft, network)
    check_identities(draft, network)
    check_forwarding(draft, network)
    check_headers(draft, network)
    check_queue_limits(draft, network)
    check_tables(draft, network)
    check_tagging(draft, network)
    check_numbering(draft, network)
    check_cards(draft, network)
    check_use(draft, network)
    network.linux.update(host_ports(draft, network))
    report.done()
    return network


def _trace_filter(draft: Draft, bridges: Mapping[str, Bridge], stations: Mapping[str, Station]) -> TraceFilter:
    trace = draft.scenario.trace
    for index, name in enumerate(trace.nodes or ()):
        known = name in bridges or name in stations
        if not known and not draft.is_broken("bridges", name) and not draft.is_broken("stations", name):
            with draft.report.part():
                draft.report.unknown(("trace", "nodes", index), "node", name, [*bridges, *stations])
    events = None if trace.events is None else tuple(trace.events)
    return TraceFilter(trace.enabled, events, None if trace.nodes is None else tuple(trace.nodes))
