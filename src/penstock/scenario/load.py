# SPDX-License-Identifier: Apache-2.0
"""From a file to a checked Network. Every refusal names file, line, key, what is wrong and what is allowed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sized
from pathlib import Path
from typing import Any, Literal, NoReturn

from pydantic import ValidationError

from penstock.captures import Capture, CaptureError, Header, header_of, read_capture
from penstock.errors import InputError, did_you_mean
from penstock.scenario import model
from penstock.scenario.network import (
    WIRE_OVERHEAD_BYTES,
    Ats,
    Bridge,
    Network,
    Station,
    Stream,
    TrafficClass,
    Udp,
)
from penstock.scenario.positions import KeyPath, key_lines, line_of
from penstock.scenario.units import show_rate, show_time

Way = Literal["destination", "source", "ipv4"]  # by which a bridge knows a stream

MIN_FRAME_BYTES = 64
MAX_RESIDENCE_PS = 10**12
LINE_RATE_BPS = 10**9  # what the switch's GMII ports run at
_UDP_HEADER_BYTES = 14 + 20 + 8 + 4

# A file name is an error's first word; a key path as a user would write it is its second.
_AT_LINE = re.compile(r"^(.*) \(at line (\d+), column \d+\)$")


def load(path: Path, nodes: str | None = None) -> Network:
    """Reads a scenario: a folder with `scenario.toml`, or one file."""
    file = path / "scenario.toml" if path.is_dir() else path
    return _Loader(file).network(nodes)


class _Loader:
    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            raise InputError("no such scenario", allowed="a folder with scenario.toml, or a file", file=file) from None
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", allowed="a readable file", file=file) from None
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise InputError("is not UTF-8 text", allowed="TOML in UTF-8", file=file, line=line) from None
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            self.not_toml(text, error)
        self.lines = key_lines(text)
        try:
            self.scenario = model.Scenario.model_validate(values)
        except ValidationError as error:
            self.not_valid(error)
        self.warnings: list[str] = []

    def not_toml(self, text: str, error: tomllib.TOMLDecodeError) -> NoReturn:
        message = str(error)
        match = _AT_LINE.match(message)
        what, line = (match.group(1), int(match.group(2))) if match else (message, text.count("\n") + 1)
        source = text.split("\n")[line - 1].strip() if line <= text.count("\n") + 1 else ""
        key = source.strip("[] ") if source.startswith("[") else source.split("=")[0].strip()
        if what.startswith(("Cannot declare", "Cannot overwrite")):
            what, allowed = f'"{key}" is there twice', "each name once"
        else:
            what, allowed = f"is not TOML: {what[0].lower()}{what[1:]}", "TOML 1.0"
        raise InputError(what, allowed=allowed, file=self.file, line=line, key=key or None) from None

    def not_valid(self, error: ValidationError) -> NoReturn:
        found = []
        for detail in error.errors(include_url=False):
            path: KeyPath = tuple(detail["loc"])
            context = detail.get("ctx", {})
            if "key" in context:
                path = (*path, context["key"])
            if detail["type"] == "refused":
                what, allowed = context["what"], context["allowed"]
            elif detail["type"] == "missing":
                what, allowed = "the key is missing", "every " + (_kind(path) or "scenario") + f' has "{path[-1]}"'
            elif detail["type"] == "literal_error":
                what, allowed = f"{_toml(detail['input'])} is not known", context["expected"].replace("'", '"')
            elif detail["type"] in ("too_short",):
                what, allowed = "is empty", "one or more"
            elif detail["type"] == "string_pattern_mismatch":
                what, allowed = f"{_toml(detail['input'])} cannot be used as a name", "letters, digits, _ . and -"
            else:
                what = f"{_toml(detail['input'])} does not fit"
                allowed = detail["msg"].removeprefix("Input should be ")
            found.append((line_of(self.lines, path) or 1, path, what, allowed))
        line, path, what, allowed = min(found, key=lambda f: f[0])
        raise InputError(what, allowed=allowed, file=self.file, line=line, key=_dotted(path)) from None

    def refuse(self, path: KeyPath, what: str, allowed: str) -> NoReturn:
        raise InputError(what, allowed=allowed, file=self.file, line=line_of(self.lines, path), key=_dotted(path))

    def warn(self, path: KeyPath, what: str) -> None:
        self.warnings.append(f"{self.file}:{line_of(self.lines, path) or 1}: {_dotted(path)}: {what}")

    def network(self, nodes: str | None) -> Network:
        scenario = self.scenario
        chosen = nodes or scenario.nodes
        if chosen != "rtl":
            self.refuse(("nodes",), f'"{chosen}" is not part of this version', '"rtl"')
        for kind, things in (("bridges", scenario.bridges), ("stations", scenario.stations)):
            for name, thing in things.items():
                if nodes is None and thing.nodes not in (None, "rtl"):
                    self.refuse((kind, name, "nodes"), f'"{thing.nodes}" is not part of this version', '"rtl"')
        if scenario.duration == 0:
            self.refuse(("duration",), "nothing happens in no time", "a time above 0")
        if len(scenario.bridges) > 1:
            second = list(scenario.bridges)[1]
            self.refuse(("bridges", second), "a second bridge is not part of this version", "one bridge")
        if scenario.links.rate != LINE_RATE_BPS:
            self.refuse(("links", "rate"), f"the ports do not run at {show_rate(scenario.links.rate)}", '"1Gb/s"')
        if scenario.links.delay > 10**9:
            self.refuse(("links", "delay"), f"{show_time(scenario.links.delay)} is no cable", "up to 1ms")

        stations = self.stations()
        streams = self.streams(stations)
        bridges = {name: self.bridge(name, stations, streams) for name in scenario.bridges}
        self.check_ats(streams, stations, bridges)
        self.check_use(streams, stations)
        return Network(
            name=scenario.name,
            title=scenario.title or scenario.name,
            file=self.file,
            nodes=chosen,
            duration_ps=scenario.duration,
            bridges=bridges,
            stations=stations,
            streams=streams,
            warnings=self.warnings,
        )

    # -- stations ------------------------------------------------------------------------------------------------

    def stations(self) -> dict[str, Station]:
        found: dict[str, Station] = {}
        taken: dict[tuple[str, int], str] = {}
        for number, (name, station) in enumerate(self.scenario.stations.items()):
            path = ("stations", name, "at")
            bridge, port = station.at.rsplit(".", 1)
            if bridge not in self.scenario.bridges:
                self.refuse(path, f'there is no bridge "{bridge}"', _names(self.scenario.bridges))
            ports = self.scenario.bridges[bridge].ports
            if int(port) >= ports:
                self.refuse(path, f'"{bridge}" has no port {port}', f"{bridge}.0 to {bridge}.{ports - 1}")
            place = (bridge, int(port))
            if place in taken:
                self.refuse(path, f'port {station.at} is already taken by "{taken[place]}"', "one station at a port")
            taken[place] = name
            mac = station.mac if station.mac is not None else 0x020000000001 + number
            if mac >> 40 & 1:
                self.refuse(("stations", name, "mac"), "is a group address", "an individual address")
            twin = next((s.name for s in found.values() if s.mac == mac), None)
            if twin is not None:
                self.refuse(
                    ("stations", name, "mac"), f'is also the address of "{twin}"', "one address for each station"
                )
            found[name] = Station(name, bridge, int(port), mac, self.scenario.links.rate, self.scenario.links.delay)
        return found

    # -- streams -------------------------------------------------------------------------------------------------

    def streams(self, stations: dict[str, Station]) -> dict[str, Stream]:
        return {name: self.stream(name, stream, stations) for name, stream in self.scenario.streams.items()}

    def stream(self, name: str, stream: model.Stream, stations: dict[str, Station]) -> Stream:
        path: KeyPath = ("streams", name)
        if stream.talker not in stations:
            hint = did_you_mean(stream.talker, stations)
            self.refuse((*path, "from"), f'there is no station "{stream.talker}"{hint}', _names(stations))
        for index, listener in enumerate(stream.to):
            if listener not in stations:
                hint = did_you_mean(listener, stations)
                self.refuse((*path, "to", index), f'there is no station "{listener}"{hint}', _names(stations))
            if listener == stream.talker:
                self.refuse((*path, "to", index), "a stream does not return to its talker", "another station")
            if listener in stream.to[:index]:
                self.refuse((*path, "to", index), f'"{listener}" is there twice', "each listener once")
        if stream.pcp is not None and stream.vlan is None and stream.source.capture is None:
            self.refuse((*path, "pcp"), "an untagged frame has no priority code point", "pcp together with vlan")
        bridge = self.scenario.bridges[stations[stream.talker].bridge]
        talker = stations[stream.talker]
        identify: Way | None = stream.identify.by if stream.identify else None

        if stream.source.capture is not None:
            for key in ("destination", "udp"):
                if getattr(stream, key) is not None:
                    self.refuse((*path, key), "a capture brings its own addresses", f'no "{key}"')
            capture_path = self.file.parent / stream.source.capture
            capture, header, identify = self.capture(path, stream, capture_path, bridge, identify)
            vlan, pcp = header.vlan, header.pcp
            lengths = capture.lengths()[: stream.source.count]
            destination, source_mac = header.destination, header.source
            udp = Udp(*header.ipv4[:2], *header.ipv4[3:], protocol=header.ipv4[2]) if header.ipv4 else None
        else:
            capture, capture_path = None, None
            vlan, pcp = stream.vlan, stream.pcp or 0
            assert stream.source.frames is not None
            lengths = [stream.source.frames]
            udp = Udp(**stream.udp.model_dump()) if stream.udp else None
            self.check_source(path, stream, lengths[0], bridge, talker, udp is not None)
            source_mac = talker.mac
            destination = self.destination(name, stream, stations)
            if identify == "ipv4" and udp is None:
                self.refuse((*path, "identify"), "the stream has no IPv4 addresses", 'a "udp" table, or another way')

        traffic_class = bridge.class_of_untagged if vlan is None else bridge.class_of_priority[pcp]
        known = bridge.classes.get(str(traffic_class))
        is_ats = known.selection == "ats" if known else traffic_class >= 6
        if stream.ats is not None and not is_ats:
            classes = [p for p in range(8) if self.class_is_ats(bridge, bridge.class_of_priority[p])]
            self.refuse(
                (*path, "ats"),
                f"the stream's frames are of class {traffic_class}, which is strict priority",
                f'classes.{traffic_class} = {{ selection = "ats" }}, or pcp {_any_of(classes)}',
            )
        return Stream(
            name=name,
            talker=stream.talker,
            listeners=tuple(stream.to),
            vlan=vlan,
            pcp=pcp,
            traffic_class=traffic_class,
            source=stream.source,
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
        )

    def class_is_ats(self, bridge: model.Bridge, traffic_class: int) -> bool:
        known = bridge.classes.get(str(traffic_class))
        return known.selection == "ats" if known else traffic_class >= 6

    def destination(self, name: str, stream: model.Stream, stations: dict[str, Station]) -> int:
        if stream.destination is not None:
            if 0x0180C2000000 <= stream.destination <= 0x0180C200000F:
                self.refuse(("streams", name, "destination"), "is never forwarded by a bridge", "another address")
            return stream.destination
        if len(stream.to) == 1:
            return stations[stream.to[0]].mac
        # From the range that IEEE 1722 keeps for locally administered stream addresses.
        return 0x91E0F000FE00 + list(self.scenario.streams).index(name)

    def check_source(
        self, path: KeyPath, stream: model.Stream, length: int, bridge: model.Bridge, talker: Station, udp: bool
    ) -> None:
        low = max(MIN_FRAME_BYTES, _UDP_HEADER_BYTES if udp else 0)
        if not low <= length <= bridge.max_frame:
            self.refuse(
                (*path, "source", "frames"), f"{length} B is not a frame's length", f"{low}B to {bridge.max_frame}B"
            )
        source = stream.source
        period = source.every if source.every is not None else source.poisson
        period = source.normal.mean if source.normal is not None else period
        if period is not None:
            least = (length + WIRE_OVERHEAD_BYTES) * 8 * 10**12 // talker.link_rate_bps * (source.burst or 1)
            if period < least:
                key = next(k for k in ("every", "poisson", "normal") if getattr(source, k) is not None)
                self.refuse(
                    (*path, "source", key),
                    f"{show_time(period)} is shorter than the frames' {show_time(least)} on the link",
                    f"at least {least // 1000}ns",
                )

    def capture(
        self, path: KeyPath, stream: model.Stream, file: Path, bridge: model.Bridge, identify: Way | None
    ) -> tuple[Capture, Header, Way]:
        where = (*path, "source", "capture")
        try:
            capture = read_capture(file)
        except CaptureError as error:
            self.refuse(where, error.what, error.allowed)
        headers = [header_of(frame.data) for frame in capture.frames]
        for number, (frame, header) in enumerate(zip(capture.frames, headers, strict=True), 1):
            if len(frame.data) < min(34, frame.original_bytes):
                self.refuse(where, f"frame {number} was cut before its headers", "a snap length of 64 or more")
            length = max(frame.original_bytes, 60) + 4
            if length > bridge.max_frame:
                self.refuse(where, f"frame {number} has {length} B with its FCS", f"up to {bridge.max_frame} B")
            if (header.vlan, header.pcp) != (headers[0].vlan, headers[0].pcp):
                self.refuse(where, f"frame {number} has another tag than frame 1", "one VLAN and priority in a stream")
        first = headers[0]
        if not capture.in_order:
            self.refuse(where, "its frames are not in the order of time", "times that do not go back")
        for key, said, is_so in (("vlan", stream.vlan, first.vlan), ("pcp", stream.pcp, first.pcp)):
            if said is not None and said != is_so:
                carried = f"carry {key} {is_so}" if first.vlan is not None else "are untagged"
                self.refuse(
                    (*path, key), f"the frames of the capture {carried}", f"{is_so if first.vlan else 'no key'}"
                )
        destinations = {h.destination for h in headers}
        if identify is None:
            identify = "ipv4" if first.ipv4 and len({h.ipv4 for h in headers}) == 1 else "destination"
        ways: dict[str, Sized] = {
            "destination": destinations,
            "source": {h.source for h in headers},
            "ipv4": {h.ipv4 for h in headers},
        }
        keys = ways[identify]
        if len(keys) > 1 and (stream.ats is not None or identify != "destination"):
            self.refuse(
                (*path, "source" if stream.identify is None else "identify"),
                f"the capture holds {len(keys)} streams when known by {identify}",
                "one stream in a capture: filter it",
            )
        if identify == "ipv4" and first.ipv4 is None:
            self.refuse((*path, "identify"), "the frames of the capture are not IPv4", '"destination" or "source"')
        if len(destinations) > 1:
            self.refuse(where, f"its frames go to {len(destinations)} addresses", "one destination address: filter it")
        return capture, first, identify

    # -- bridges -------------------------------------------------------------------------------------------------

    def bridge(self, name: str, stations: dict[str, Station], streams: dict[str, Stream]) -> Bridge:
        bridge = self.scenario.bridges[name]
        path: KeyPath = ("bridges", name)
        classes: dict[int, TrafficClass] = {}
        for key, entry in bridge.classes.items():
            number = self.index((*path, "classes", key), key, 8, "traffic class")
            residence = self.residence((*path, "classes", key, "max_residence"), entry.max_residence)
            if residence is not None and entry.selection != "ats":
                self.refuse(
                    (*path, "classes", key, "max_residence"), "only ATS has a residence time", 'selection = "ats"'
                )
            classes[number] = TrafficClass(entry.selection == "ats", residence)
        if len(bridge.class_of_priority) != 8:
            self.refuse(
                (*path, "class_of_priority"), f"has {len(bridge.class_of_priority)} entries", "8: a class per PCP"
            )
        if not MIN_FRAME_BYTES <= bridge.max_frame <= 2000:
            self.refuse((*path, "max_frame"), f"{bridge.max_frame} B is out of range", "64B to 2000B")
        if bridge.overhead > 255:
            self.refuse((*path, "overhead"), f"{bridge.overhead} B is out of range", "0B to 255B")
        delay = bridge.processing_delay_max
        if delay is not None and (delay % 1000 or delay > 10**9):
            self.refuse((*path, "processing_delay_max"), f"{show_time(delay)} cannot be set", "whole ns up to 1ms")

        residence_ns = {
            (port, number): entry.max_residence_ns
            for number, entry in classes.items()
            if entry.max_residence_ns is not None
            for port in range(bridge.ports)
        }
        port_vlan = [1] * bridge.ports
        for key, port in bridge.port.items():
            number = self.index((*path, "port", key), key, bridge.ports, "port")
            if port.vlan is not None:
                port_vlan[number] = port.vlan
            for class_key, value in port.max_residence.items():
                where = (*path, "port", key, "max_residence", class_key)
                traffic_class = self.index(where, class_key, 8, "traffic class")
                if not self.class_is_ats(bridge, traffic_class):
                    self.refuse(where, f"class {traffic_class} is strict priority", "an ATS class")
                residence = self.residence(where, value)
                assert residence is not None
                residence_ns[number, traffic_class] = residence
        return Bridge(
            name=name,
            ports=bridge.ports,
            classes=classes,
            class_of_pcp=bridge.class_of_priority,
            class_of_untagged=bridge.class_of_untagged,
            port_vlan_id=tuple(port_vlan),
            vlans=self.vlans(name, stations, streams, port_vlan),
            max_residence_ns=residence_ns,
            processing_delay_max_ps=delay,
            max_frame_bytes=bridge.max_frame,
            overhead_bytes=bridge.overhead,
            static_forwarding=bridge.forwarding == "static",
        )

    def index(self, path: KeyPath, key: str, count: int, what: str) -> int:
        if not key.isdigit() or int(key) >= count:
            self.refuse(path, f'there is no {what} "{key}"', f"0 to {count - 1}")
        return int(key)

    def residence(self, path: KeyPath, value: int | None) -> int | None:
        if value is not None and (value % 1000 or not 0 < value <= MAX_RESIDENCE_PS):
            self.refuse(path, f"{show_time(value)} cannot be set", "whole ns up to 1s")
        return None if value is None else value // 1000

    def vlans(
        self, name: str, stations: dict[str, Station], streams: dict[str, Stream], port_vlan: list[int]
    ) -> dict[int, frozenset[int]]:
        """Members: those the scenario lists, or else the ports of each stream's talker and listeners."""
        listed: dict[int, frozenset[int]] = {}
        for key, members in self.scenario.bridges[name].vlans.items():
            path = ("bridges", name, "vlans", key)
            if not key.isdigit() or not 1 <= int(key) <= 4094:
                self.refuse(path, f'there is no VLAN "{key}"', "1 to 4094")
            for member in members:
                if member not in stations:
                    self.refuse(
                        path, f'there is no station "{member}"{did_you_mean(member, stations)}', _names(stations)
                    )
            listed[int(key)] = frozenset(stations[m].port for m in members)
        needed: dict[int, set[int]] = {}
        for stream in streams.values():
            vlan = stream.vlan if stream.vlan else port_vlan[stations[stream.talker].port]
            ports = {stations[n].port for n in (stream.talker, *stream.listeners)}
            if vlan in listed:
                for station in (stream.talker, *stream.listeners):
                    if stations[station].port not in listed[vlan]:
                        self.refuse(
                            ("bridges", name, "vlans", str(vlan)),
                            f'"{station}" is not a member, but stream "{stream.name}" needs it',
                            f'"{station}" in the list',
                        )
            needed.setdefault(vlan, set()).update(ports)
        return {vlan: frozenset(ports) for vlan, ports in needed.items()} | listed

    # -- what does not fit together ------------------------------------------------------------------------------

    def check_ats(self, streams: dict[str, Stream], stations: dict[str, Station], bridges: dict[str, Bridge]) -> None:
        by_port: dict[tuple[str, int], int] = {}
        keys: dict[tuple[object, ...], str] = {}
        for stream in streams.values():
            path = ("streams", stream.name)
            talker = stations[stream.talker]
            if stream.ats is None:
                if bridges[talker.bridge].is_ats(stream.traffic_class):
                    self.warn(
                        path, f"class {stream.traffic_class} is ATS but the stream has no rate: it passes unshaped"
                    )
                continue
            rate, burst = stream.ats.rate_bps, stream.ats.burst_bytes
            if rate > talker.link_rate_bps:
                link = show_rate(talker.link_rate_bps)
                self.refuse((*path, "ats", "rate"), f"{show_rate(rate)} is above the link's {link}", f"up to {link}")
            if rate < 10_000:
                self.refuse(
                    (*path, "ats", "rate"), f"{show_rate(rate)} is too slow for the hardware", "10kb/s and above"
                )
            overhead = bridges[talker.bridge].overhead_bytes
            least = stream.max_frame_bytes + overhead
            if burst < least:
                self.refuse(
                    (*path, "ats", "burst"),
                    f"{burst} B is less than the longest frame's {least} B "
                    f"({stream.max_frame_bytes} B and {overhead} B around it)",
                    f"{least}B and above",
                )
            for listener in stream.listeners:
                place = (stations[listener].bridge, stations[listener].port)
                by_port[place] = by_port.get(place, 0) + rate
                if by_port[place] > stations[listener].link_rate_bps:
                    total = show_rate(by_port[place])
                    self.warn(
                        (*path, "ats", "rate"), f'the ATS rates to "{listener}" add up to {total}, above the link'
                    )
            number = stream.traffic_class
            limit = bridges[talker.bridge].max_residence_ns.get((talker.port, number))
            fill_ps = burst * 8 * 10**12 // rate
            if limit is not None and limit * 1000 < fill_ps // 2:
                self.warn(
                    ("bridges", talker.bridge, "classes", str(number), "max_residence"),
                    f'"{stream.name}" needs {show_time(fill_ps)} to earn its burst; frames above the rate drop early',
                )
            if stream.deadline_ps is None:
                self.warn(path, "the stream is shaped but has no deadline: only its bound is checked")
            key = (talker.port, stream.identify, self.identity(stream))
            if key in keys:
                self.refuse(
                    path,
                    f'a bridge cannot tell it from "{keys[key]}": same {stream.identify} at the same port',
                    'another address, VLAN or "identify"',
                )
            keys[key] = stream.name

    def identity(self, stream: Stream) -> tuple[object, ...]:
        if stream.identify == "ipv4":
            return (stream.udp,)
        mac = stream.destination_mac if stream.identify == "destination" else stream.source_mac
        return (mac, stream.vlan)

    def check_use(self, streams: dict[str, Stream], stations: dict[str, Station]) -> None:
        used = {n for s in streams.values() for n in (s.talker, *s.listeners)}
        for name in stations:
            if name not in used:
                self.warn(("stations", name), "no stream comes from it or goes to it")
        for stream in streams.values():
            if stream.capture is not None:
                length = stream.capture.frames[-1].time_ps - stream.capture.frames[0].time_ps
                duration = self.scenario.duration
                if length + stream.source.start > duration:
                    self.warn(
                        ("streams", stream.name, "source", "capture"),
                        f"the capture lasts {show_time(length)}: its end is not sent in {show_time(duration)}",
                    )


def _kind(path: KeyPath) -> str:
    return {"streams": "stream", "bridges": "bridge", "stations": "station"}.get(str(path[0]), "") if path[1:] else ""


def _dotted(path: KeyPath) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _toml(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _names(things: Iterable[str]) -> str:
    return ", ".join(things)


def _any_of(numbers: list[int]) -> str:
    return " or ".join(map(str, numbers)) or "of an ATS class"
