# SPDX-License-Identifier: Apache-2.0
"""The end stations: where they are, and their links."""

from __future__ import annotations

from penstock.scenario import model
from penstock.scenario.cards import card_of
from penstock.scenario.clock import clock_of
from penstock.scenario.draft import Draft, Place
from penstock.scenario.gate_lists import able_of, check_guard_band
from penstock.scenario.links import place_named
from penstock.scenario.network import REAL, Card, Link, Station
from penstock.scenario.port_keys import check_class_keys, check_residence, classes_of_priority, keys_of_station
from penstock.scenario.positions import KeyPath
from penstock.scenario.shapers import shapers_of


def place_stations(draft: Draft, links: list[Link]) -> dict[str, Station]:
    """The stations; their links are added to the others."""
    found: dict[str, Station] = {}
    common = draft.scenario.links
    places: dict[str, Place] = {}
    anywhere: list[tuple[str, str]] = []
    for name, station in draft.scenario.stations.items():
        path: KeyPath = ("stations", name, "at")
        with draft.report.part():
            bridge, port = place_named(draft, path, station.at)
            if port < 0:
                anywhere.append((name, bridge))
            else:
                draft.take(path, (bridge, port), f'"{name}"')
                places[name] = bridge, port
    lowest: dict[str, int] = {}
    for name, bridge in anywhere:
        ports = draft.settings[bridge].ports or 0
        port = lowest.get(bridge, 0)
        while (bridge, port) in draft.taken:
            port += 1
        lowest[bridge] = port + 1
        if port >= ports:
            draft.report.add(
                ("stations", name, "at"), f'none of the {ports} ports of "{bridge}" is free', "a free port"
            )
            continue
        draft.taken[bridge, port] = f'"{name}"'
        places[name] = bridge, port
    macs: dict[int, str] = {}
    for number, (name, station) in enumerate(draft.scenario.stations.items()):
        path = ("stations", name)
        if name not in places:
            draft.broken.add(("stations", name))
            continue
        with draft.report.part():
            if name in draft.settings:
                draft.report.add(path, "is also the name of a bridge", "each name once")
            card = card_of(draft, path, station)
            mac = station.mac if station.mac is not None else 0x020000000001 + number
            if mac >> 40 & 1:
                draft.report.add((*path, "mac"), "is a group address", "an individual address")
            if mac in macs:
                what = f'is also the address of "{macs[mac]}"'
                draft.report.add((*path, "mac"), what, "one address for each station")
            macs[mac] = name
            bridge, port = places[name]
            rate = station.rate or common.rate
            delay = common.delay if station.delay is None else station.delay
            classes = classes_of_priority(draft, draft.origin[bridge], draft.settings[bridge].class_of_priority)
            if station.class_of_priority is not None:
                classes = classes_of_priority(draft, path, station.class_of_priority)
            keys = keys_of_station(path, station)
            for key, entry in station.classes.items():
                with draft.report.part():
                    check_class_keys(draft, keys, (*path, "classes", key), entry, None)
                    check_residence(draft, keys, (*path, "classes", key), entry.max_residence)
            ats_classes = frozenset(number for number in keys.named if keys.selection(number) == "ats")
            if ats_classes and draft.nodes in REAL:
                where = (*path, "classes", str(min(ats_classes)), "selection")
                draft.report.add(where, "no qdisc of Linux is ATS", '"strict" or "cbs", or nodes = "model"')
            if draft.nodes in REAL:
                check_guard_band(draft, path, station, "Linux", 'nodes = "model"')
            shapers = shapers_of(draft, keys, able_of(_kind(draft, card)), {0: rate})
            found[name] = Station(
                name=name,
                bridge=bridge,
                port=port,
                mac=mac,
                link_rate_bps=rate,
                link_delay_ps=delay,
                clock=clock_of(name, station.clock),
                class_of_pcp=classes,
                gates=shapers.gates,
                credit=shapers.credit,
                max_sdu_bytes=shapers.max_sdu_bytes,
                round_robin=shapers.round_robin,
                count_gap=station.count_gap,
                guard_band_gap=station.guard_band_gap,
                frozen_in_guard_band=station.guard_band_credit == "frozen",
                class_names=shapers.names,
                queue_limits=shapers.queue_limits,
                ats_classes=ats_classes,
                max_residence_ns=_residences_ns(station, ats_classes),
                overhead_bytes=station.overhead,
                card=card,
            )
            draft.rate_origin[name] = ("links", "rate") if station.rate is None else (*path, "rate")
            links.append(Link(name, (bridge, port), (name, 0), rate, delay))
    return found


def _kind(draft: Draft, card: Card | None) -> str:
    return "linux" if draft.nodes in REAL else "rtl" if card is not None and card.is_hardware else "model"


def _residences_ns(station: model.Station, ats_classes: frozenset[int]) -> dict[int, int]:
    """MaxResidenceTime of the talker's ATS classes that have one."""
    said = ((number, station.classes[str(number)].max_residence) for number in sorted(ats_classes))
    return {number: residence // 1000 for number, residence in said if residence is not None}
