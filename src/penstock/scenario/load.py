# SPDX-License-Identifier: Apache-2.0
"""From a file to a checked Network. Every refusal names file, line, key, what is wrong and what is allowed.

All that is wrong is told at once: what is wrong by itself is left out, and the rest is looked at further.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from penstock.errors import InputError
from penstock.scenario import model, sources
from penstock.scenario.network import (
    WIRE_OVERHEAD_BYTES,
    Ats,
    Bridge,
    Clock,
    Hop,
    Link,
    Network,
    NodeKind,
    Pattern,
    Station,
    Stream,
    TraceFilter,
    TrafficClass,
    Udp,
    hardware_visible_ps,
)
from penstock.scenario.positions import KeyPath, key_lines
from penstock.scenario.report import AlreadyToldError, Report, missing, names, validate
from penstock.scenario.routing import Routes
from penstock.scenario.topology import cables, free_ports_from
from penstock.scenario.units import show_rate, show_time

MAX_RESIDENCE_PS = 10**12
MAX_DELAY_PS = 10**9  # of a cable, and of a bridge's processing
MAX_DRIFT_PPB = 1_000_000
MAX_OFFSET_PS = 10**15
LINE_RATE_BPS = 10**9  # what the hardware's GMII ports run at
SLOWEST_LINK_BPS, FASTEST_LINK_BPS = 10**7, 10**11
HARDWARE_PORTS, HARDWARE_STREAMS = 8, 256
SLOWEST_ATS_BPS = 10_000

_AT_LINE = re.compile(r"^(.*) \(at line (\d+), column \d+\)$")
_NODE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
_FORWARDED = "static"

Place = tuple[str, int]


def load(path: Path | str | Mapping[str, Any], nodes: str | None = None) -> Network:
    """Reads a scenario: a folder with `scenario.toml`, one file, or what such a file says as a dict.

    `nodes` overrides what the bridges are. Raises `InputError`, whose `errors` are all that is wrong.
    """
    if isinstance(path, Mapping):
        return _Loader(Report("scenario"), Path("scenario"), dict(path)).network(nodes)
    path = Path(path)
    file = path / "scenario.toml" if path.is_dir() else path
    text = _text(file)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        _not_toml(file, text, error)
    return _Loader(Report(str(file), lambda: key_lines(text)), file, values).network(nodes)


def _text(file: Path) -> str:
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        raise InputError("no such scenario", allowed="a folder with scenario.toml, or a file", file=file) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", allowed="a readable file", file=file) from None
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError("is not UTF-8 text", allowed="TOML in UTF-8", file=file, line=line) from None


def _not_toml(file: Path, text: str, error: tomllib.TOMLDecodeError) -> NoReturn:
    message = str(error)
    match = _AT_LINE.match(message)
    what, line = (match.group(1), int(match.group(2))) if match else (message, text.count("\n") + 1)
    source = text.split("\n")[line - 1].strip() if line <= text.count("\n") + 1 else ""
    key = source.strip("[] ") if source.startswith("[") else source.split("=")[0].strip()
    if what.startswith(("Cannot declare", "Cannot overwrite")):
        what, allowed = f'"{key}" is there twice', "each name once"
    else:
        what, allowed = f"is not TOML: {what[0].lower()}{what[1:]}", "TOML 1.0"
    raise InputError(what, allowed=allowed, file=file, line=line, key=key or None) from None


class _Loader:
    def __init__(self, report: Report, file: Path, values: dict[str, Any]) -> None:
        self.report = report
        self.file = file
        self.scenario, self.broken = validate(values, report)
        for section in ("stations", "streams"):
            self.check_there(section, values, getattr(self.scenario, section))
        if not values.get("topology"):
            self.check_there("bridges", values, self.scenario.bridges)
        self.settings: dict[str, model.Bridge] = {}  # of each bridge, in the order of the scenario
        self.origin: dict[str, KeyPath] = {}  # where a bridge is described
        self.taken: dict[Place, str] = {}  # by what
        self.told: set[KeyPath] = set()
        self.rate_origin: dict[str, KeyPath] = {}  # of each link: which key says its rate

    def check_there(self, section: str, values: Mapping[str, Any], things: Mapping[str, Any]) -> None:
        if not things and (section, "*") not in self.broken and not values.get(section):
            self.report.add((section,), *(("is empty", "one or more") if section in values else missing((section,))))
            self.broken.add((section, "*"))  # what would be in it is not there

    def is_broken(self, section: str, name: str) -> bool:
        """Whether something of this name is there but wrong."""
        if (section, name) in self.broken or (section, "*") in self.broken:
            return True
        return section == "bridges" and any(
            kind == "topology" and (what == "*" or re.fullmatch(re.escape(what) + r"\d+", name))
            for kind, what in self.broken
        )

    def network(self, nodes: str | None) -> Network:
        scenario, report = self.scenario, self.report
        chosen = nodes or scenario.nodes
        if chosen not in ("model", "rtl"):
            report.add(("nodes",), f'"{chosen}" is not part of this version', '"model" or "rtl"')
            chosen = "model"
        if scenario.duration == 0:
            report.add(("duration",), "nothing happens in no time", "a time above 0")
        self.check_names()
        generated = self.collect_bridges()
        links = self.links(generated)
        stations = self.stations(links)
        self.routes = Routes(self.settings, links)
        kinds = self.kinds(nodes, chosen)
        bridges = self.bridges(kinds, links)
        streams = self.streams(stations, bridges)
        bridges = self.with_vlans(bridges, stations, streams)
        network = Network(
            name=scenario.name,
            title=scenario.title or scenario.name,
            file=self.file,
            nodes=chosen,
            duration_ps=scenario.duration,
            bridges=bridges,
            stations=stations,
            streams=streams,
            links=tuple(links),
            trace=self.trace(bridges, stations),
            warnings=report.warnings,
        )
        self.check_ats(network)
        self.check_identities(network)
        self.check_forwarding(network)
        self.check_hardware(network)
        self.check_use(network)
        report.done()
        return network

    # -- bridges and links ---------------------------------------------------------------------------------------

    def check_names(self) -> None:
        scenario = self.scenario
        for section, things in (
            ("bridges", scenario.bridges),
            ("topology", scenario.topology),
            ("stations", scenario.stations),
        ):
            for name in things:
                if not _NODE_NAME.fullmatch(name):
                    self.report.add((section, name), f'"{name}" cannot be used as a name', "letters, digits, _ and -")

    def collect_bridges(self) -> list[tuple[str, model.Topology]]:
        """Settings of all bridges: those described one by one, then those of each topology."""
        scenario, report = self.scenario, self.report
        by_topology: dict[str, str] = {}
        for name, topology in scenario.topology.items():
            for number in range(topology.bridges):
                bridge = f"{name}{number}"
                if bridge in by_topology:
                    what = f'its bridge "{bridge}" is also one of "{by_topology[bridge]}"'
                    report.add(("topology", name), what, "names that stay apart")
                by_topology.setdefault(bridge, name)
        for name, settings in scenario.bridges.items():
            if name not in by_topology:
                if settings.ports is None:
                    report.add(("bridges", name, "ports"), *missing(("bridges", name, "ports")))
                    self.broken.add(("bridges", name))
                    continue
                self.settings[name], self.origin[name] = settings, ("bridges", name)
        for name, topology in scenario.topology.items():
            ports = free_ports_from(topology)
            path: KeyPath = ("topology", name, "bridge", "ports")
            if ports > 64:
                report.add(("topology", name, "bridges"), f"a bridge would have {ports} links", "up to 64")
                self.broken.add(("topology", name))
                continue
            common = topology.bridge
            if common.ports is None:
                common = common.model_copy(update={"ports": min(ports + 2, 64)})
            for number in range(topology.bridges):
                bridge_name = f"{name}{number}"
                own = scenario.bridges.get(bridge_name)
                said = {} if own is None else {key: getattr(own, key) for key in own.model_fields_set}
                self.settings[bridge_name] = common.model_copy(update=said) if said else common
                self.origin[bridge_name] = ("bridges", bridge_name) if said else ("topology", name, "bridge")
            for a, b in cables(topology):
                for number, port in (a, b):
                    have = self.settings[f"{name}{number}"].ports or 0
                    if port >= have:
                        report.add(
                            path, f'"{name}{number}" has {have} ports, but links take port {port}', f"{ports} or more"
                        )
        return list(scenario.topology.items())

    def links(self, generated: list[tuple[str, model.Topology]]) -> list[Link]:
        """The links between bridges."""
        common, report = self.scenario.links, self.report
        found: list[Link] = []
        self.check_rate(("links", "rate"), common.rate)
        self.check_delay(("links", "delay"), common.delay)
        for name, link in common.named().items():
            path: KeyPath = ("links", name)
            with report.part():
                ends = [self.place((*path, "between", i), place) for i, place in enumerate(link.between)]
                if ends[0][0] == ends[1][0]:
                    report.refuse((*path, "between"), f'both ends are at "{ends[0][0]}"', "two bridges")
                for i, end in enumerate(ends):
                    self.take((*path, "between", i), end, f'link "{name}"')
                if link.rate is not None:
                    self.check_rate((*path, "rate"), link.rate)
                if link.delay is not None:
                    self.check_delay((*path, "delay"), link.delay)
                self.rate_origin[name] = ("links", "rate") if link.rate is None else (*path, "rate")
                delay = common.delay if link.delay is None else link.delay
                found.append(Link(name, ends[0], ends[1], link.rate or common.rate, delay))
        for name, topology in generated:
            path = ("topology", name)
            if topology.rate is not None:
                self.check_rate((*path, "rate"), topology.rate)
            if topology.delay is not None:
                self.check_delay((*path, "delay"), topology.delay)
            if ("topology", name) in self.broken:
                continue
            delay = common.delay if topology.delay is None else topology.delay
            for (i, p), (j, q) in cables(topology):
                a, b = (f"{name}{i}", p), (f"{name}{j}", q)
                with report.part():
                    title = f"{a[0]}-{b[0]}"
                    for end in (a, b):
                        self.take(path, end, f'the link "{title}" of this topology')
                    self.rate_origin[title] = ("links", "rate") if topology.rate is None else (*path, "rate")
                    found.append(Link(title, a, b, topology.rate or common.rate, delay))
        return found

    def check_rate(self, path: KeyPath, rate: int) -> None:
        if not SLOWEST_LINK_BPS <= rate <= FASTEST_LINK_BPS:
            self.report.add(path, f"{show_rate(rate)} is no link", "10Mb/s to 100Gb/s")

    def check_delay(self, path: KeyPath, delay: int) -> None:
        if delay > MAX_DELAY_PS:
            self.report.add(path, f"{show_time(delay)} is no cable", "up to 1ms")

    def place(self, path: KeyPath, text: str) -> Place:
        bridge, port = text.rsplit(".", 1)
        ports = self.bridge_named(path, bridge).ports or 0
        if port != "*" and int(port) >= ports:
            self.report.refuse(path, f'"{bridge}" has no port {port}', f"{bridge}.0 to {bridge}.{ports - 1}")
        return bridge, -1 if port == "*" else int(port)

    def bridge_named(self, path: KeyPath, name: str) -> model.Bridge:
        if name not in self.settings:
            if self.is_broken("bridges", name):
                raise AlreadyToldError
            self.report.unknown(path, "bridge", name, self.settings)
        return self.settings[name]

    def take(self, path: KeyPath, place: Place, what: str) -> None:
        if place in self.taken:
            bridge, port = place
            self.report.refuse(
                path, f"port {bridge}.{port} is already taken by {self.taken[place]}", "one cable at a port"
            )
        self.taken[place] = what

    def clock(self, path: KeyPath, clock: model.Clock) -> Clock:
        if abs(clock.drift) > MAX_DRIFT_PPB:
            self.report.add((*path, "clock", "drift"), f"{clock.drift / 1000:g} ppm is no clock", "-1000ppm to 1000ppm")
        if abs(clock.offset) > MAX_OFFSET_PS:
            self.report.add((*path, "clock", "offset"), f"{show_time(clock.offset)} is too far", "-1000s to 1000s")
        return Clock(clock.offset, clock.drift)

    def stations(self, links: list[Link]) -> dict[str, Station]:
        """The stations; their links are added to the others."""
        found: dict[str, Station] = {}
        common = self.scenario.links
        places: dict[str, Place] = {}
        anywhere: list[tuple[str, str]] = []
        for name, station in self.scenario.stations.items():
            path: KeyPath = ("stations", name, "at")
            with self.report.part():
                bridge, port = self.place(path, station.at)
                if port < 0:
                    anywhere.append((name, bridge))
                else:
                    self.take(path, (bridge, port), f'"{name}"')
                    places[name] = bridge, port
        lowest: dict[str, int] = {}
        for name, bridge in anywhere:
            ports = self.settings[bridge].ports or 0
            port = lowest.get(bridge, 0)
            while (bridge, port) in self.taken:
                port += 1
            lowest[bridge] = port + 1
            if port >= ports:
                self.report.add(
                    ("stations", name, "at"), f'none of the {ports} ports of "{bridge}" is free', "a free port"
                )
                continue
            self.taken[bridge, port] = f'"{name}"'
            places[name] = bridge, port
        macs: dict[int, str] = {}
        for number, (name, station) in enumerate(self.scenario.stations.items()):
            path = ("stations", name)
            if name not in places:
                self.broken.add(("stations", name))
                continue
            with self.report.part():
                if name in self.settings:
                    self.report.add(path, "is also the name of a bridge", "each name once")
                if station.nodes not in (None, "model"):
                    self.report.add((*path, "nodes"), f'"{station.nodes}" is not part of this version', '"model"')
                mac = station.mac if station.mac is not None else 0x020000000001 + number
                if mac >> 40 & 1:
                    self.report.add((*path, "mac"), "is a group address", "an individual address")
                if mac in macs:
                    what = f'is also the address of "{macs[mac]}"'
                    self.report.add((*path, "mac"), what, "one address for each station")
                macs[mac] = name
                if station.rate is not None:
                    self.check_rate((*path, "rate"), station.rate)
                if station.delay is not None:
                    self.check_delay((*path, "delay"), station.delay)
                bridge, port = places[name]
                rate = station.rate or common.rate
                delay = common.delay if station.delay is None else station.delay
                classes = self.settings[bridge].class_of_priority
                clock = self.clock(path, station.clock)
                found[name] = Station(name, bridge, port, mac, rate, delay, clock, classes)
                self.rate_origin[name] = ("links", "rate") if station.rate is None else (*path, "rate")
                links.append(Link(name, (bridge, port), (name, 0), rate, delay))
        return found

    def kinds(self, override: str | None, chosen: str) -> dict[str, NodeKind]:
        """What each bridge is."""
        found: dict[str, NodeKind] = {}
        for name, settings in self.settings.items():
            kind = chosen if override is not None else settings.nodes or chosen
            if kind == "linux":
                path = (*self.origin[name], "nodes")
                self.report.add(path, '"linux" is not part of this version', '"model" or "rtl"')
            found[name] = "rtl" if kind == "rtl" else "model"
        return found

    def bridges(self, kinds: Mapping[str, NodeKind], links: list[Link]) -> dict[str, Bridge]:
        """The bridges, but for their VLANs."""
        links_of: defaultdict[str, list[Link]] = defaultdict(list)
        for link in links:
            for node, _ in (link.a, link.b):
                links_of[node].append(link)
        found: dict[str, Bridge] = {}
        for name, settings in self.settings.items():
            other = settings.processing_delay is not None or settings.switching is not None
            odd = [link for link in links_of[name] if link.rate_bps != LINE_RATE_BPS]
            ports = settings.ports or 0
            if kinds[name] == "rtl":
                self.check_rtl(name, settings, odd)
            found[name] = self.bridge(name, settings, kinds[name], not other and not odd and ports <= HARDWARE_PORTS)
        return found

    def check_rtl(self, name: str, settings: model.Bridge, odd: list[Link]) -> None:
        path = self.origin[name]
        remedy = 'nodes = "model"'
        ports = settings.ports or 0
        if ports > HARDWARE_PORTS:
            self.once((*path, "ports"), f"the hardware does not come with {ports}", f"2 to 8, or {remedy}")
        for key in ("processing_delay", "switching"):
            if getattr(settings, key) is not None:
                self.once((*path, key), "the hardware is what it is", f'no "{key}", or {remedy} for "{name}"')
        for link in odd:
            what = f'the ports of "{name}" are hardware and do not run at {show_rate(link.rate_bps)}'
            self.once(self.rate_origin[link.name], what, f'"1Gb/s", or {remedy} for "{name}"')

    def once(self, path: KeyPath, what: str, allowed: str) -> None:
        """Notes what one key does to many bridges."""
        if path not in self.told:
            self.told.add(path)
            self.report.add(path, what, allowed)

    def bridge(self, name: str, settings: model.Bridge, kind: NodeKind, hardware_timing: bool) -> Bridge:
        path, report = self.origin[name], self.report
        ports = settings.ports or 0
        classes: dict[int, TrafficClass] = {}
        for key, entry in settings.classes.items():
            with report.part():
                number = self.index((*path, "classes", key), key, 8, "traffic class")
                residence = self.residence((*path, "classes", key, "max_residence"), entry.max_residence)
                if residence is not None and entry.selection != "ats":
                    where = (*path, "classes", key, "max_residence")
                    report.refuse(where, "only ATS has a residence time", 'selection = "ats"')
                classes[number] = TrafficClass(entry.selection == "ats", residence)
        table = settings.class_of_priority
        if len(table) != 8:
            report.add((*path, "class_of_priority"), f"has {len(table)} entries", "8: a class per PCP")
            table = (1, 0, 6, 7, 2, 3, 4, 5)
        if not sources.MIN_FRAME_BYTES <= settings.max_frame <= 2000:
            report.add((*path, "max_frame"), f"{settings.max_frame} B is out of range", "64B to 2000B")
        if settings.overhead > 255:
            report.add((*path, "overhead"), f"{settings.overhead} B is out of range", "0B to 255B")
        delay = settings.processing_delay_max
        if delay is not None and (delay % 1000 or delay > MAX_DELAY_PS):
            report.add((*path, "processing_delay_max"), f"{show_time(delay)} cannot be set", "whole ns up to 1ms")
        processing = settings.processing_delay
        if processing is not None and processing > MAX_DELAY_PS:
            report.add((*path, "processing_delay"), f"{show_time(processing)} is out of range", "up to 1ms")

        residence_ns = {
            (port, number): entry.max_residence_ns
            for number, entry in classes.items()
            if entry.max_residence_ns is not None
            for port in range(ports)
        }
        port_vlan = [1] * ports
        for key, port in settings.port.items():
            with report.part():
                number = self.index((*path, "port", key), key, ports, "port")
                if port.vlan is not None:
                    port_vlan[number] = port.vlan
                for class_key, value in port.max_residence.items():
                    where = (*path, "port", key, "max_residence", class_key)
                    traffic_class = self.index(where, class_key, 8, "traffic class")
                    if not _class_is_ats(settings, traffic_class):
                        report.refuse(where, f"class {traffic_class} is strict priority", "an ATS class")
                    residence = self.residence(where, value)
                    assert residence is not None
                    residence_ns[number, traffic_class] = residence
        return Bridge(
            name=name,
            ports=ports,
            nodes=kind,
            clock=self.clock(path, settings.clock),
            hardware_timing=hardware_timing,
            processing_delay_ps=idle_processing_ps(ports) if processing is None else processing,
            cut_through=settings.switching == "cut_through",
            classes=classes,
            class_of_pcp=table,
            class_of_untagged=settings.class_of_untagged,
            port_vlan_id=tuple(port_vlan),
            vlans={},
            max_residence_ns=residence_ns,
            processing_delay_max_ps=delay,
            max_frame_bytes=settings.max_frame,
            overhead_bytes=settings.overhead,
            static_forwarding=settings.forwarding == _FORWARDED,
        )

    def index(self, path: KeyPath, key: str, count: int, what: str) -> int:
        if not key.isdecimal() or int(key) >= count:
            self.report.refuse(path, f'there is no {what} "{key}"', f"0 to {count - 1}")
        return int(key)

    def residence(self, path: KeyPath, value: int | None) -> int | None:
        if value is not None and (value % 1000 or not 0 < value <= MAX_RESIDENCE_PS):
            self.report.refuse(path, f"{show_time(value)} cannot be set", "whole ns up to 1s")
        return None if value is None else value // 1000

    # -- streams -------------------------------------------------------------------------------------------------

    def streams(self, stations: dict[str, Station], bridges: dict[str, Bridge]) -> dict[str, Stream]:
        found: dict[str, Stream] = {}
        for number, (name, stream) in enumerate(self.scenario.streams.items()):
            with self.report.part():
                found[name] = self.stream(name, number, stream, stations, bridges)
        return self.told_apart(found, bridges)

    def station_named(self, path: KeyPath, name: str, stations: Mapping[str, Station]) -> Station:
        if name not in stations:
            if self.is_broken("stations", name):
                raise AlreadyToldError
            self.report.unknown(path, "station", name, stations)
        return stations[name]

    def stream(
        self,
        name: str,
        number: int,
        stream: model.Stream,
        stations: dict[str, Station],
        bridges: dict[str, Bridge],
    ) -> Stream:
        path: KeyPath = ("streams", name)
        report = self.report
        seen = len(report.found)
        talker: Station | None = None
        with report.part():
            talker = self.station_named((*path, "from"), stream.talker, stations)
        listeners = []
        for index, listener in enumerate(stream.to):
            where = (*path, "to", index)
            with report.part():
                listeners.append(self.station_named(where, listener, stations))
                if listener == stream.talker:
                    report.refuse(where, "a stream does not return to its talker", "another station")
                if listener in stream.to[:index]:
                    report.refuse(where, f'"{listener}" is there twice', "each listener once")
        if stream.pcp is not None and stream.vlan is None and stream.source.capture is None:
            report.add((*path, "pcp"), "an untagged frame has no priority code point", "pcp together with vlan")
        if talker is None or len(listeners) < len(stream.to) or len(report.found) > seen:
            raise AlreadyToldError
        tree = self.tree(path, stream, talker, listeners)
        tightest = min((bridges[hop.bridge] for hop in tree), key=lambda b: b.max_frame_bytes)
        longest = tightest.max_frame_bytes, f'"{tightest.name}"'
        identify: sources.Way | None = stream.identify.by if stream.identify else None

        capture, capture_path, pattern, ethertype = None, None, None, sources.LOCAL_ETHERTYPE
        if stream.source.capture is not None:
            for key in ("destination", "udp"):
                if getattr(stream, key) is not None:
                    report.refuse((*path, key), "a capture brings its own addresses", f'no "{key}"')
            capture_path = self.file.parent / stream.source.capture
            capture, header, identify = sources.capture(report, path, stream, capture_path, longest, identify)
            vlan, pcp = header.vlan, header.pcp
            lengths = capture.lengths()[: stream.source.count]
            destination, source_mac = header.destination, header.source
            udp = Udp(*header.ipv4[:2], *header.ipv4[3:], protocol=header.ipv4[2]) if header.ipv4 else None
        else:
            vlan, pcp = stream.vlan, stream.pcp or 0
            udp = Udp(**stream.udp.model_dump()) if stream.udp else None
            source, where = stream.source, (*path, "source")
            if source.audio is not None:
                pattern = sources.audio_pattern(report, where, source.audio, udp is not None, vlan is not None)
            elif source.video is not None:
                pattern = sources.video_pattern(report, where, source.video, udp is not None, vlan is not None)
            if pattern is not None:
                lengths = [size for frames in pattern.sizes for size in frames]
                ethertype = sources.AVTP_ETHERTYPE
            else:
                assert source.frames is not None
                lengths = [source.frames]
            self.check_source(path, stream, lengths, longest, talker, pattern)
            self.check_response(path, stream)
            source_mac = talker.mac
            destination = self.destination(path, number, stream, stations)
            if identify == "ipv4" and udp is None:
                report.refuse((*path, "identify"), "the stream has no IPv4 addresses", 'a "udp" table, or another way')

        def class_at(bridge: Bridge) -> int:
            return bridge.class_of_untagged if vlan is None else bridge.class_of_pcp[pcp]

        traffic_class = class_at(bridges[talker.bridge])
        shaped_at = [b for b in (bridges[hop.bridge] for hop in tree) if b.is_ats(class_at(b))]
        if stream.ats is not None and not shaped_at:
            first = bridges[talker.bridge]
            classes = [p for p in range(8) if first.is_ats(first.class_of_pcp[p])]
            report.refuse(
                (*path, "ats"),
                f"the stream's frames are of class {traffic_class}, which is strict priority",
                f'classes.{traffic_class} = {{ selection = "ats" }}, or pcp {_any_of(classes)}',
            )
        if stream.ats is not None and len(shaped_at) < len(tree):
            strict = next(hop.bridge for hop in tree if bridges[hop.bridge] not in shaped_at)
            report.warn((*path, "ats"), f'at "{strict}" its class is strict priority: it is not shaped there')
        return Stream(
            name=name,
            talker=stream.talker,
            listeners=tuple(stream.to),
            vlan=vlan,
            pcp=pcp,
            traffic_class=traffic_class,
            source=stream.source,
            pattern=pattern,
            jitter=sources.jitter_of(report, (*path, "source"), stream.source.jitter, self.file.parent),
            ethertype=ethertype,
            capture=capture,
            capture_path=capture_path,
            destination_mac=destination,
            source_mac=source_mac,
            udp=udp,
            identify=identify or "destination",
            ats=Ats(stream.ats.rate, stream.ats.burst) if stream.ats else None,
            shaped=stream.ats is not None,
            deadline_ps=stream.deadline,
            min_frame_bytes=min(lengths),
            max_frame_bytes=max(lengths),
            tree=tree,
        )

    def tree(self, path: KeyPath, stream: model.Stream, talker: Station, listeners: list[Station]) -> tuple[Hop, ...]:
        """The way to all listeners: the given one, or the shortest."""
        routes, report = self.routes, self.report
        first = talker.bridge
        ends = [(s.bridge, s.port) for s in listeners]
        if stream.route is None:
            goals = list(dict.fromkeys(bridge for bridge, _ in ends))
            found = routes.shortest(first, goals)
            lost = [bridge for bridge, way in found.items() if way is None]
            for index, listener in enumerate(listeners):
                if listener.bridge in lost:
                    what = (
                        f'no links lead from "{talker.name}" at "{first}" to "{listener.name}" at "{listener.bridge}"'
                    )
                    report.add((*path, "to", index), what, "a link, or bridges with links, between them")
            if lost:
                raise AlreadyToldError
            ways = [way for way in found.values() if way is not None]
        else:
            ways = self.given(path, stream.route, talker, listeners)
        tree = routes.tree(talker.port, ways, ends)
        if isinstance(tree, str):
            report.refuse((*path, "route"), f'"{tree}" is reached in two ways', "ways that part and do not meet again")
        return tree

    def given(
        self, path: KeyPath, route: list[str] | dict[str, list[str]], talker: Station, listeners: list[Station]
    ) -> list[list[str]]:
        report = self.report
        by_name = {s.name: s for s in listeners}
        if isinstance(route, list):
            self.check_route((*path, "route"), route, talker)
            for listener in listeners:
                if listener.bridge not in route:
                    what = f'does not pass "{listener.bridge}", where "{listener.name}" is'
                    report.refuse((*path, "route"), what, "a route that passes every listener's bridge")
            if route[-1] not in {s.bridge for s in listeners}:
                allowed = names(dict.fromkeys(s.bridge for s in listeners))
                report.refuse((*path, "route"), f'ends at "{route[-1]}", where no listener is', allowed)
            return [route]
        for name in route:
            if name not in by_name:
                report.refuse((*path, "route", name), f'"{name}" is no listener of the stream', names(by_name))
        for name, listener in by_name.items():
            if name not in route:
                report.refuse((*path, "route"), f'there is no way for "{name}"', "a list of bridges for each listener")
            way = route[name]
            self.check_route((*path, "route", name), way, talker)
            if way[-1] != listener.bridge:
                what = f'ends at "{way[-1]}", but "{name}" is at "{listener.bridge}"'
                report.refuse((*path, "route", name), what, f'"{listener.bridge}" at the end')
        return list(route.values())

    def check_route(self, path: KeyPath, way: list[str], talker: Station) -> None:
        report = self.report
        for index, bridge in enumerate(way):
            self.bridge_named((*path, index), bridge)
        if way[0] != talker.bridge:
            what = f'starts at "{way[0]}", but "{talker.name}" is at "{talker.bridge}"'
            report.refuse((*path, 0), what, f'"{talker.bridge}" at the start')
        for index, bridge in enumerate(way):
            if bridge in way[:index]:
                report.refuse((*path, index), f'"{bridge}" is there twice: the route has a loop', "each bridge once")
            if index and not self.routes.adjacent(way[index - 1], bridge):
                near = [self.routes.names[n] for n in self.routes.neighbours[self.routes.number[way[index - 1]]]]
                what = f'no link joins "{way[index - 1]}" and "{bridge}"'
                report.refuse((*path, index), what, names(near) or "a link between them")

    def destination(self, path: KeyPath, number: int, stream: model.Stream, stations: dict[str, Station]) -> int:
        if stream.destination is not None:
            if 0x0180C2000000 <= stream.destination <= 0x0180C200000F:
                self.report.refuse((*path, "destination"), "is never forwarded by a bridge", "another address")
            return stream.destination
        if len(stream.to) == 1:
            return stations[stream.to[0]].mac
        return _group_address(number)

    def check_source(
        self,
        path: KeyPath,
        stream: model.Stream,
        lengths: list[int],
        longest: tuple[int, str],
        talker: Station,
        pattern: Pattern | None,
    ) -> None:
        source, rate = stream.source, talker.link_rate_bps
        kind = "audio" if source.audio is not None else "video" if source.video is not None else None
        where = (*path, "source") if kind is None else (*path, "source", kind)
        if pattern is not None:
            if max(lengths) > longest[0]:
                what = f"makes frames of {max(lengths)} B, too long for {longest[1]}"
                self.report.refuse((*where, "packet"), what, f"frames of up to {longest[0]} B")
            wire = sum(length + WIRE_OVERHEAD_BYTES for length in lengths) * 8
            needed = Fraction(wire * 10**12, pattern.period_ps * len(pattern.sizes))
            if needed > rate:
                what = f"needs {show_rate(float(needed))}, and the link has {show_rate(rate)}"
                self.report.refuse(where, what, f"less than {show_rate(rate)} on the wire")
            return
        length = lengths[0]
        low = sources.least_bytes(stream.udp is not None, stream.vlan is not None)
        if not low <= length <= longest[0]:
            what = f"{length} B is not a frame's length at {longest[1]}"
            self.report.refuse((*where, "frames"), what, f"{low}B to {longest[0]}B")
        period = source.every if source.every is not None else source.poisson
        period = source.normal.mean if source.normal is not None else period
        if period is not None:
            least = (length + WIRE_OVERHEAD_BYTES) * 8 * 10**12 // rate * (source.burst or 1)
            if period < least:
                key = next(k for k in ("every", "poisson", "normal") if getattr(source, k) is not None)
                self.report.refuse(
                    (*where, key),
                    f"{show_time(period)} is shorter than the frames' {show_time(least)} on the link",
                    f"at least {-(-least // 1000)}ns",
                )

    def check_response(self, path: KeyPath, stream: model.Stream) -> None:
        asked, where = stream.source.response_to, (*path, "source", "response_to")
        if asked is None:
            return
        streams = self.scenario.streams
        if asked not in streams:
            if self.is_broken("streams", asked):
                raise AlreadyToldError
            self.report.unknown(where, "stream", asked, streams)
        if stream.talker not in streams[asked].to:
            what = f'"{stream.talker}" does not hear "{asked}"'
            self.report.refuse(where, what, f'"{stream.talker}" in streams.{asked}.to')
        passed = {path[1]}
        following: str | None = asked
        while following is not None:
            if following in passed:
                self.report.refuse(where, f'"{following}" waits for its own answer', "a stream that begins by itself")
            passed.add(following)
            following = streams[following].source.response_to if following in streams else None

    def told_apart(self, streams: dict[str, Stream], bridges: Mapping[str, Bridge]) -> dict[str, Stream]:
        """Shaped streams that a bridge would take for others at one port get destinations of their own."""
        meeting: defaultdict[tuple[str, int, int, int], list[str]] = defaultdict(list)
        for name, stream in streams.items():
            for hop in stream.tree:
                bridge = bridges[hop.bridge]
                if bridge.is_ats(bridge.class_of_untagged if stream.vlan is None else bridge.class_of_pcp[stream.pcp]):
                    vlan = stream.vlan if stream.vlan else bridge.port_vlan_id[hop.entry]
                    meeting[hop.bridge, hop.entry, vlan, stream.destination_mac].append(name)
        numbers = {name: number for number, name in enumerate(self.scenario.streams)}
        result = dict(streams)
        for name in {name for several in meeting.values() if len(several) > 1 for name in several}:
            described = self.scenario.streams[name]
            chosen = described.destination or described.identify or described.source.capture
            if described.ats is not None and chosen is None:
                result[name] = replace(streams[name], destination_mac=_group_address(numbers[name]))
        return result

    # -- VLANs ---------------------------------------------------------------------------------------------------

    def with_vlans(
        self, bridges: dict[str, Bridge], stations: dict[str, Station], streams: dict[str, Stream]
    ) -> dict[str, Bridge]:
        """Members: those the scenario lists, or else the ports by which streams pass."""
        listed = {name: self.listed(name, stations) for name in bridges}
        needed: dict[str, dict[int, set[int]]] = {name: {} for name in bridges}
        told: set[tuple[str, int, int]] = set()
        for stream in streams.values():
            for hop in stream.tree:
                vlan = stream.vlan if stream.vlan else bridges[hop.bridge].port_vlan_id[hop.entry]
                members = listed[hop.bridge].get(vlan)
                for port in (hop.entry, *hop.egress):
                    if members is not None and port not in members and (hop.bridge, vlan, port) not in told:
                        told.add((hop.bridge, vlan, port))
                        peer = self.taken[hop.bridge, port]
                        self.report.add(
                            (*self.origin[hop.bridge], "vlans", str(vlan)),
                            f'{peer} at port {port} is not a member, but stream "{stream.name}" needs it',
                            f"{self.at_port(hop.bridge, port, stations)} in the list",
                        )
                needed[hop.bridge].setdefault(vlan, set()).update((hop.entry, *hop.egress))
        return {
            name: replace(bridge, vlans={vlan: frozenset(ports) for vlan, ports in needed[name].items()} | listed[name])
            for name, bridge in bridges.items()
        }

    def at_port(self, bridge: str, port: int, stations: Mapping[str, Station]) -> str:
        number = self.routes.number[bridge]
        for other, (own, _) in self.routes.ports[number].items():
            if own == port:
                return f'"{self.routes.names[other]}"'
        return next((f'"{s.name}"' for s in stations.values() if (s.bridge, s.port) == (bridge, port)), "it")

    def listed(self, name: str, stations: Mapping[str, Station]) -> dict[int, frozenset[int]]:
        """What the scenario says of a bridge's VLANs."""
        found: dict[int, frozenset[int]] = {}
        path = (*self.origin[name], "vlans")
        near = {self.routes.names[n]: own for n, (own, _) in self.routes.ports[self.routes.number[name]].items()}
        for key, members in self.settings[name].vlans.items():
            with self.report.part():
                if not key.isdecimal() or not 1 <= int(key) <= 4094:
                    self.report.refuse((*path, key), f'there is no VLAN "{key}"', "1 to 4094")
                ports = set()
                for index, member in enumerate(members):
                    if member in near:
                        ports.add(near[member])
                        continue
                    station = self.station_named((*path, key, index), member, stations)
                    if station.bridge != name:
                        what = f'"{member}" is at "{station.bridge}"'
                        self.report.refuse((*path, key, index), what, "stations at this bridge, and bridges beside it")
                    ports.add(station.port)
                found[int(key)] = frozenset(ports)
        return found

    # -- what does not fit together ------------------------------------------------------------------------------

    def trace(self, bridges: Mapping[str, Bridge], stations: Mapping[str, Station]) -> TraceFilter:
        trace = self.scenario.trace
        for index, name in enumerate(trace.nodes or ()):
            known = name in bridges or name in stations
            if not known and not self.is_broken("bridges", name) and not self.is_broken("stations", name):
                with self.report.part():
                    self.report.unknown(("trace", "nodes", index), "node", name, [*bridges, *stations])
        events = None if trace.events is None else tuple(trace.events)
        return TraceFilter(trace.enabled, events, None if trace.nodes is None else tuple(trace.nodes))

    def check_ats(self, network: Network) -> None:
        from penstock import _engine

        reserved: defaultdict[Place, int] = defaultdict(int)
        full: set[Place] = set()
        report = self.report
        for stream in network.streams.values():
            path: KeyPath = ("streams", stream.name)
            talker = network.stations[stream.talker]
            if stream.ats is None:
                if network.bridges[talker.bridge].is_ats(stream.traffic_class):
                    report.warn(
                        path, f"class {stream.traffic_class} is ATS but the stream has no rate: it passes unshaped"
                    )
                continue
            rate, burst = stream.ats.rate_bps, stream.ats.burst_bytes
            overhead = max(network.bridges[hop.bridge].overhead_bytes for hop in stream.tree)
            least = stream.max_frame_bytes + overhead
            if rate < SLOWEST_ATS_BPS:
                report.add(
                    (*path, "ats", "rate"), f"{show_rate(rate)} is too slow for the hardware", "10kb/s and above"
                )
            elif not self.check_reserved(network, stream, reserved, full):
                pass
            elif rate > LINE_RATE_BPS:
                what = f"{show_rate(rate)} is too fast for a scheduler"
                report.add((*path, "ats", "rate"), what, "up to 1 Gb/s")
            elif burst < least:
                report.add(
                    (*path, "ats", "burst"),
                    f"{burst} B is less than the longest frame's {least} B "
                    f"({stream.max_frame_bytes} B and {overhead} B around it)",
                    f"{least}B and above",
                )
            else:
                try:
                    _engine.ats_rate(rate, burst)
                except ValueError as error:
                    report.add((*path, "ats", "burst"), str(error), "a smaller burst or a higher rate")
            self.warn_ats(network, stream, rate, burst)

    def check_reserved(
        self, network: Network, stream: Stream, reserved: defaultdict[Place, int], full: set[Place]
    ) -> bool:
        """Adds the stream's rate to each link on its way."""
        assert stream.ats is not None
        rate, path = stream.ats.rate_bps, ("streams", stream.name, "ats", "rate")
        ports: list[Place] = [(stream.talker, 0), *((hop.bridge, p) for hop in stream.tree for p in hop.egress)]
        slowest = min(ports, key=lambda port: network.link_at[port].rate_bps)
        limit = network.link_at[slowest].rate_bps
        if rate > limit:
            link = show_rate(limit)
            which = "" if slowest[0] == stream.talker else f" from {slowest[0]}.{slowest[1]}"
            self.report.add(path, f"{show_rate(rate)} is above the link's {link}{which}", f"up to {link}")
            return False
        for port in ports:
            limit = network.link_at[port].rate_bps
            reserved[port] += rate
            if reserved[port] > limit and port not in full:
                full.add(port)  # once for each link
                peer = network.peer(*port)
                assert peer is not None
                start = port[0] if port[0] == stream.talker else f"{port[0]}.{port[1]}"
                what = (
                    f'the rates reserved on the link from {start} to "{peer[0]}" add up to {show_rate(reserved[port])}'
                )
                left = show_rate(limit - reserved[port] + rate)
                self.report.add(path, f"{what}, above its {show_rate(limit)}", f"up to {left}, which others leave")
        return True

    def warn_ats(self, network: Network, stream: Stream, rate: int, burst: int) -> None:
        fill_ps = burst * 8 * 10**12 // rate if rate else 0
        for hop in stream.tree:
            number = network.class_at(stream, hop.bridge)
            limit = network.bridges[hop.bridge].max_residence_ns.get((hop.entry, number))
            if limit is not None and limit * 1000 < fill_ps // 2:
                self.report.warn(
                    (*self.origin[hop.bridge], "classes", str(number), "max_residence"),
                    f'"{stream.name}" needs {show_time(fill_ps)} to earn its burst; frames above the rate drop early',
                )
                break
        if stream.deadline_ps is None:
            self.report.warn(
                ("streams", stream.name), "the stream is shaped but has no deadline: only its bound is checked"
            )

    def check_identities(self, network: Network) -> None:
        """At each port every stream of an ATS class must find its own scheduler, or none."""
        from penstock.plan import identities

        told: set[str] = set()
        for name, passing in network.passing.items():
            bridge = network.bridges[name]
            shaped = [(s, h) for s, h in passing if bridge.is_ats(network.class_at(s, name))]
            known: dict[tuple[object, ...], str] = {}
            clashing: list[tuple[Stream, str]] = []
            for stream, hop in shaped:
                if stream.ats is not None:
                    key = (hop.entry, *identities(network, stream, name, hop.entry)[stream.identify])
                    if key in known:
                        clashing.append((stream, known[key]))
                    known.setdefault(key, stream.name)
            for stream, hop in shaped:
                # The hardware looks by IPv4 first, then by destination, then by source.
                for key in identities(network, stream, name, hop.entry).values():
                    owner = known.get((hop.entry, *key))
                    if owner == stream.name:
                        break
                    if owner is not None:
                        clashing.append((stream, owner))
                        break
            for stream, owner in clashing:
                if stream.name not in told:
                    told.add(stream.name)
                    by = network.streams[owner].identify
                    self.report.add(
                        ("streams", stream.name),
                        f'a bridge cannot tell it from "{owner}": same {by} at the same port ("{name}")',
                        'another address, VLAN or "identify"',
                    )

    def check_forwarding(self, network: Network) -> None:
        """What all streams put into a bridge's tables must lead each of them to its listeners and nowhere else."""
        for name, bridge in network.bridges.items():
            if not bridge.static_forwarding:
                continue
            first: dict[tuple[int, int, int], str] = {}
            entries: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
            for stream, hop in network.passing[name]:
                vlan = network.vlan_at(stream, name, hop.entry)
                entries[stream.destination_mac, vlan].update(hop.egress)
                for port in hop.egress:
                    first.setdefault((stream.destination_mac, vlan, port), stream.name)
            for stream, hop in network.passing[name]:
                vlan = network.vlan_at(stream, name, hop.entry)
                extra = entries[stream.destination_mac, vlan] - {hop.entry} - set(hop.egress)
                if extra:
                    other = first[stream.destination_mac, vlan, min(extra)]
                    what = f'at "{name}" its frames would also go the way of "{other}": same destination and VLAN'
                    self.report.add(
                        ("streams", stream.name), what, "another destination or VLAN, or the same route and listeners"
                    )
        self.check_learning(network)

    def check_learning(self, network: Network) -> None:
        learning = [name for name, bridge in network.bridges.items() if not bridge.static_forwarding]
        if not learning:
            return
        group = {name: name for name in network.bridges}

        def root(name: str) -> str:
            while group[name] != name:
                group[name] = group[group[name]]
                name = group[name]
            return name

        looped: set[str] = set()
        for link in network.links:
            if link.a[0] in group and link.b[0] in group:
                a, b = root(link.a[0]), root(link.b[0])
                if a == b:
                    looped.add(a)
                group[a] = b
        within = {root(name) for name in looped}
        for name in learning:
            if root(name) in within:
                what = "the links form a loop, in which flooded frames would go round for ever"
                self.report.add((*self.origin[name], "forwarding"), what, '"static"')

    def check_hardware(self, network: Network) -> None:
        """The places in the tables of the hardware."""
        rtl = [bridge for bridge in network.bridges.values() if bridge.nodes == "rtl"]
        if not rtl or self.report.found:
            return
        from penstock.hardware.configure import ConfigurationError, configure
        from penstock.hardware.registers import registers
        from penstock.plan import switch_config

        for bridge in rtl:
            config = switch_config(network, bridge)
            remedy = f'or nodes = "model" for "{bridge.name}"'
            if len(config.streams) > HARDWARE_STREAMS:
                last = config.streams[HARDWARE_STREAMS].name
                what = f'"{bridge.name}" shapes {len(config.streams)} streams, this is number {HARDWARE_STREAMS + 1}'
                self.report.add(("streams", last, "ats"), what, f"{HARDWARE_STREAMS} in hardware, {remedy}")
                continue
            try:
                configure(config, registers())
            except ConfigurationError as error:
                path = self.configured(network, bridge, error.where)
                what = f'does not fit the tables of "{bridge.name}": {error.what}'
                self.report.add(path, what, f"{error.allowed}, {remedy}")

    def configured(self, network: Network, bridge: Bridge, where: str) -> KeyPath:
        """What the scenario calls the place at which the hardware's configuration is refused."""
        for stream, _ in network.passing[bridge.name]:
            mac = stream.destination_mac.to_bytes(6).hex(":")
            if where == f"streams.{stream.name}" or f" {mac} " in where:
                return ("streams", stream.name)
        return self.origin[bridge.name]

    def check_use(self, network: Network) -> None:
        used = {n for s in network.streams.values() for n in (s.talker, *s.listeners)}
        for name in network.stations:
            if name not in used:
                self.report.warn(("stations", name), "no stream comes from it or goes to it")
        for stream in network.streams.values():
            if stream.capture is not None:
                length = stream.capture.frames[-1].time_ps - stream.capture.frames[0].time_ps
                duration = self.scenario.duration
                if length + stream.source.start > duration:
                    self.report.warn(
                        ("streams", stream.name, "source", "capture"),
                        f"the capture lasts {show_time(length)}: its end is not sent in {show_time(duration)}",
                    )


def _group_address(number: int) -> int:
    """A stream's own, from the range that IEEE 1722 keeps for local use; beyond it any locally administered one."""
    return 0x91E0F000FE00 + number if number < 256 else 0x030000000000 + number


def idle_processing_ps(ports: int) -> int:
    """The processing delay by which a bridge with other timing, at 1 Gb/s, is as fast as the hardware when idle.

    The hardware sends the first bit after the delimiter 12 cycles after it selects a frame, eight of them preamble.
    """
    return hardware_visible_ps(min(ports, HARDWARE_PORTS)) + (12 - 8) * 8000


def _class_is_ats(settings: model.Bridge, traffic_class: int) -> bool:
    known = settings.classes.get(str(traffic_class))
    return known.selection == "ats" if known else traffic_class >= 6


def _any_of(numbers: Iterable[int]) -> str:
    return " or ".join(map(str, numbers)) or "of an ATS class"
