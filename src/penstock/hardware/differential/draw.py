# SPDX-License-Identifier: Apache-2.0
"""Draws a scenario from a seed: a configuration, the frames, and what is changed while they are on their way.

Each scenario is of its own kind: what is likely within one (sizes, gaps, damage, one hot output, full queues) is drawn
first, so that rare things come together often enough to be met.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.hardware.configure import (
    CLASSES,
    IDENTIFY,
    IPV4_FIELDS,
    TRANSIT_CELLS_PER_PORT,
    Identify,
    StreamEntry,
    SwitchConfig,
    Table,
    Write,
    configure,
    fdb_set,
    place,
    rate_entry,
    stream_key,
    table_writes,
)
from penstock.hardware.registers import registers as register_map
from penstock.hardware.traffic import (
    BROADCAST,
    FILLER_BYTES,
    GAP_BYTES,
    MAX_FRAME_BYTES,
    MIN_FRAME_BYTES,
    PREAMBLE_BYTES,
    TYPE_EXPERIMENTAL,
    Frame,
    as_number,
    damage,
    station_address,
    vlan_tag,
)

from .scenario import START_CYCLE, Arrival, Change, Scenario

STATIONS_PER_PORT = 4
LONGEST_FRAME_BYTES = 2000
STORE_CELLS = 1024
PERIOD_CYCLES = 125_000  # of a millisecond, the shortest time between two aging sweeps
SWEEP_CYCLES_PER_SET = 6
PERIOD_CHANGE_CYCLES = 12
WRITE_CYCLES = 3
CHASERS = 100
MEETINGS = 20
MOST_OWED = 200  # carriers of a storm; the receiver remembers up to 255 that it has lost
EDGES = (64, 65, 66, 67, 68, 71, 72, 73, 127, 128, 129, 135, 136, 137, 255, 256, 257, 1521, 1522)
TYPE_IPV4 = b"\x08\x00"


def draw(seed: int, ports: int, frames: int) -> Scenario:
    """The scenario of a seed: always the same for the same arguments."""
    return _Drawing(random.Random(f"{seed} {ports} {frames}"), ports).scenario(seed, frames)


@dataclass(frozen=True)
class _Flow:
    """Frames of one stream: what identifies them, and the class they mostly travel in."""

    entry: StreamEntry
    addresses: bytes  # destination and source
    vlan: int
    pcp: int
    ipv4: bool


@dataclass(frozen=True)
class _Phase:
    """How the ports behave for a while."""

    frames: int
    active: Sequence[int]
    size: Callable[[], int]
    gap: Callable[[], int]
    flow_share: float
    hot_port: int
    hot_share: float
    pcp: int | None  # None: any
    in_step: bool  # all ports begin in the same cycle
    pause_share: float  # of frames after which the port rests
    storm: bool  # tiny carriers, faster than they can be taken


class _Drawing:
    def __init__(self, rng: random.Random, ports: int) -> None:
        self.rng = rng
        self.ports = ports
        self.everybody = set(range(ports))
        self.registers = register_map()
        self.name_of = {word: name for name, register in self.registers.items() for word in register.words[:1]}
        self.damaged_share = rng.choice((0.0, 0.02, 0.03, 0.3))
        self.ages = rng.random() < 0.12
        self.vlans = self._vlans()
        self.port_vlan_id = self._port_vlan_id()
        self.crowd = self._crowd()
        self.multicasts = [bytes([0x01, 0, 0x5E, 0, 0, rng.randrange(8)]) for _ in range(3)]
        self.flows: list[_Flow] = []
        self.config = self._config()
        self.flows_of_port = [[flow for flow in self.flows if flow.entry.port == port] for port in range(ports)]

    def scenario(self, seed: int, frames: int) -> Scenario:
        """All of it."""
        chasers = min(CHASERS, frames // 4) if self.ages else 0
        meetings = min(MEETINGS, frames // 20)
        arrivals = [*self._arrivals(frames - chasers - 2 * meetings)]
        changes = [*self._changes(arrivals)]
        after = max((arrival.at for arrival in arrivals), default=0)
        sweep = PERIOD_CYCLES * ((after + START_CYCLE) // PERIOD_CYCLES + 1) - START_CYCLE
        if chasers and self.config.aging_period_ms != 1:
            # A shorter period is over at once.
            change = Change(max(after, sweep) + 2_000, "aging_period", (("aging_period", 1),))
            changes.append(change)
            sweep = change.at + PERIOD_CHANGE_CYCLES
        arrivals += self._chase(chasers, sweep)
        arrivals += self._meet(meetings, max((arrival.at for arrival in arrivals), default=0) + LONGEST_FRAME_BYTES)
        return Scenario(seed, self.config, tuple(arrivals), tuple(changes))

    # ---- what the switch is told

    def _log(self, low: float, high: float) -> int:
        """Every magnitude is as likely as any other."""
        return round(math.exp(self.rng.uniform(math.log(low), math.log(high))))

    def _some(self, share: float) -> set[int]:
        return {port for port in range(self.ports) if self.rng.random() < share}

    def _vlans(self) -> dict[int, set[int]]:
        rng = self.rng
        ids = {rng.choice((1, 2, 10, 4094, rng.randint(1, 4094))) for _ in range(rng.randint(1, 4))} | {1}
        return {vlan: set(self.everybody) if rng.random() < 0.6 else self._some(0.75) for vlan in sorted(ids)}

    def _port_vlan_id(self) -> list[int] | None:
        rng = self.rng
        return None if rng.random() < 0.3 else [rng.choice([*self.vlans, 1]) for _ in range(self.ports)]

    def _untagged(self, port: int) -> int:
        return 1 if self.port_vlan_id is None else self.port_vlan_id[port]

    def _crowd(self) -> list[bytes]:
        """Addresses that share a set of the forwarding database, so that they displace each other."""
        rng = self.rng
        if rng.random() < 0.6:
            return []
        vlan, sets = rng.choice([*self.vlans]), 512
        wanted = rng.randrange(sets)
        found: list[bytes] = []
        base = rng.getrandbits(16)
        for n in range(6 * sets):
            address = b"\x02\xcc" + base.to_bytes(2, "big") + n.to_bytes(2, "big")
            if fdb_set(as_number(address), vlan, sets) == wanted:
                found.append(address)
        return found

    def _rate(self) -> tuple[int, int]:
        return self._log(50_000, 1e9), self._log(64, 30_000)

    def _residence_ns(self) -> int:
        # A frame that is held keeps time from leaping, so long ones are rare.
        return self._log(1_000, 1_500_000) if self.rng.random() < 0.05 else self._log(500, 300_000)

    def _config(self) -> SwitchConfig:
        rng = self.rng
        config = SwitchConfig(
            ports=self.ports,
            port_vlan_id=self.port_vlan_id,
            class_of_pcp=self._class_of_pcp(),
            class_of_untagged=rng.randrange(CLASSES),
            ats_classes=self._ats_classes(),
            max_frame_bytes=rng.choice((MAX_FRAME_BYTES, MAX_FRAME_BYTES, LONGEST_FRAME_BYTES, self._max_frame())),
            overhead_bytes=rng.choice((20, 20, 20, rng.randrange(256))),
            processing_delay_max_ns=rng.choice((None, None, None, 0, self._log(1, 5_000), self._log(1, 100_000))),
            learning=rng.random() < 0.85,
            aging_period_ms=1 if self.ages and rng.random() < 0.6 else 100_000,
            vlans=self.vlans,
            ipv4_fields={name for name in IPV4_FIELDS if rng.random() < 0.8},
            max_residence_ns={(p, k): self._residence_ns() for p in range(self.ports) for k in range(CLASSES)},
            queue_limit_cells=self._limits(256),
            class_limit_cells=self._limits(640),
            enabled_ports=None if rng.random() < 0.85 else self._some(0.8) or {0},
        )
        if rng.random() < 0.4:
            queue, reception, shared = self._shares(12, 48, STORE_CELLS)
            config.queue_guarantee_cells, config.reception_guarantee_cells = queue, reception
            config.shared_limit_cells = shared
        config.static_addresses = self._static_addresses(config)
        self.flows = self._flows(config)
        config.streams = [flow.entry for flow in self.flows]
        return config

    def _class_of_pcp(self) -> list[int]:
        rng = self.rng
        if rng.random() < 0.4:
            return [1, 0, 6, 7, 2, 3, 4, 5]
        few = rng.randint(1, CLASSES)
        return [rng.randrange(CLASSES - few, CLASSES) for _ in range(8)]

    def _ats_classes(self) -> set[int]:
        rng = self.rng
        share = rng.choice((0.0, 0.3, 0.6, 1.0))
        return {6, 7} if rng.random() < 0.4 else {k for k in range(CLASSES) if rng.random() < share}

    def _max_frame(self) -> int:
        return self.rng.choice((self.rng.randint(64, 2000), self.rng.randint(1000, 2000)))

    def _limits(self, most: int) -> dict[int, int]:
        if self.rng.random() < 0.6:
            return {}
        return {k: self._log(1, most) for k in range(CLASSES) if self.rng.random() < 0.5}

    def _shares(self, queue_most: int, reception_most: int, shared_most: int) -> tuple[int, int, int]:
        """Guarantees and what all share, within the store."""
        rng = self.rng
        room = STORE_CELLS // self.ports - TRANSIT_CELLS_PER_PORT
        queue = rng.randint(0, min(queue_most, room // CLASSES))
        reception = rng.randint(0, min(reception_most, room - CLASSES * queue))
        left = min(shared_most, self.ports * (room - CLASSES * queue - reception))
        return queue, reception, rng.choice((left, rng.randint(0, left), min(left, rng.randint(0, 60))))

    def _addresses(self) -> list[bytes]:
        """All that frames are sent to and that may stand in the forwarding database."""
        stations = [station_address(p, n) for p in range(self.ports) for n in range(STATIONS_PER_PORT)]
        return [*stations, *self.multicasts, *self.crowd, self._unknown()]

    def _unknown(self) -> bytes:
        return bytes([0x02, 0xEE, 0, 0, 0, self.rng.randrange(16)])

    def _static_addresses(self, config: SwitchConfig) -> list[tuple[int, int, set[int]]]:
        rng = self.rng
        share = rng.choice((0.0, 0.1, 0.5, 0.9))
        entries: list[tuple[int, int, set[int]]] = []
        taken: dict[int, int] = {}
        for address in dict.fromkeys(self._addresses()):
            for vlan in self.vlans:
                where = fdb_set(as_number(address), vlan, config.size.fdb_sets)
                if rng.random() < share and taken.get(where, 0) < 2:
                    taken[where] = taken.get(where, 0) + 1
                    home = {address[4]} if address[:4] == b"\x02\0\0\0" and rng.random() < 0.9 else self._some(0.5)
                    entries.append((as_number(address), vlan, home))
        return entries

    # ---- streams

    def _flows(self, config: SwitchConfig) -> list[_Flow]:
        rng = self.rng
        count = rng.choice((0, 3, 8, 8, 20, 20, 60, 256))
        shaped = [pcp for pcp, k in enumerate(config.class_of_pcp) if k in config.ats_classes]
        group = [(port, rng.choice(shaped or [*range(8)])) for port in range(self.ports)]
        kinds = IDENTIFY if rng.random() < 0.4 else (rng.choice(IDENTIFY),)
        mask = sum((1 << width) - 1 << low for name, (low, width) in IPV4_FIELDS.items() if name in config.ipv4_fields)
        flows: dict[int, _Flow] = {}
        for _ in range(count):
            # Most streams of a port share a group.
            port = rng.randrange(self.ports)
            pcp = group[port][1] if rng.random() < 0.7 else rng.choice(shaped or [*range(8)])
            flow = self._flow(rng.choice(kinds), port, pcp)
            flows.setdefault(stream_key(flow.entry, mask), flow)
        places = place([*flows], 2 * config.size.streams)
        return [flow for flow, where in zip(flows.values(), places, strict=True) if where is not None]

    def _flow(self, identify: Identify, port: int, pcp: int) -> _Flow:
        rng = self.rng
        destination = self._destination(rng.choice([*self.everybody - {port}]))
        source = bytes([0x02, 0xAA, 0, 0, port, rng.randrange(64)]) if rng.random() < 0.5 else self._source(port)
        vlan = self._vlan(port) or self._untagged(port)
        rate, burst = self._rate()
        entry = StreamEntry(port, identify, rate, burst)
        match identify:
            case "destination":
                entry = replace(entry, mac=as_number(destination), vlan=vlan)
            case "source":
                entry = replace(entry, mac=as_number(source), vlan=vlan)
            case "ipv4":
                protocol = rng.choice((17, 17, 6, 1))
                numbers = [rng.randrange(65536) if protocol in (6, 17) else 0 for _ in range(2)]
                entry = replace(
                    entry,
                    ipv4_source=0x0A000000 + rng.randrange(4),
                    ipv4_destination=0x0A010000 + rng.randrange(256),
                    protocol=protocol,
                    source_port=numbers[0],
                    destination_port=numbers[1],
                )
        return _Flow(entry, destination + source, vlan, pcp, identify == "ipv4")

    def _ipv4(self, entry: StreamEntry) -> bytes:
        """An IPv4 header and the ports behind it, sometimes not quite as it should be."""
        rng = self.rng
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

    # ---- what it is sent

    def _arrivals(self, frames: int) -> Iterator[Arrival]:
        rng = self.rng
        free = [self._log(1, 200) for _ in range(self.ports)]  # the first cycle in which each port may begin
        left = frames
        for port, number in self._introduction(frames // 5):
            head = BROADCAST + station_address(port, number) + vlan_tag(rng.choice([None, *self.vlans]), 0)
            frame = Frame(port, head + TYPE_EXPERIMENTAL, MIN_FRAME_BYTES)
            yield Arrival(free[port], frame)
            free[port] += frame.carrier_cycles + 200
            left -= 1
        while left:
            phase = self._phase(left)
            left -= phase.frames
            free = self._rested(free)
            for n in range(phase.frames):
                # The port that has been quiet for longest goes on, so that the ports stay abreast.
                port = min(phase.active, key=free.__getitem__)
                if phase.in_step:
                    port = phase.active[n % len(phase.active)]
                    if port == phase.active[0]:
                        together = max(free[p] for p in phase.active)
                        free = [together if p in phase.active else free[p] for p in range(self.ports)]
                frame = self._storm_frame(port) if phase.storm else self._frame(port, phase)
                yield Arrival(free[port], frame)
                free[port] += frame.carrier_cycles + (1 if phase.storm else phase.gap())
                if rng.random() < phase.pause_share:
                    free[port] += self._log(1, 20_000)

    def _chase(self, frames: int, sweep: int) -> list[Arrival]:
        """Frames whose addresses are learnt and looked for just as an aging sweep comes by their place."""
        rng = self.rng
        found = []
        for _ in range(frames):
            port = rng.randrange(self.ports)
            vlan = rng.choice([*self.vlans])
            pair = self._destination(rng.choice([*self.everybody - {port}])), self._source(port)
            place = fdb_set(as_number(rng.choice(pair)), vlan, self.config.size.fdb_sets)
            passes = sweep + PERIOD_CYCLES * rng.randrange(4) + SWEEP_CYCLES_PER_SET * place
            frame = Frame(port, b"".join(pair) + vlan_tag(vlan, 0) + TYPE_EXPERIMENTAL, MIN_FRAME_BYTES)
            found.append(Arrival(passes - frame.carrier_cycles + rng.randint(-50, 20), frame))
        return sorted(found, key=lambda arrival: arrival.at)

    def _meet(self, meetings: int, at: int) -> Iterator[Arrival]:
        """Two frames end together: one from an address that was not heard here before, the other one to it."""
        rng = self.rng
        for _ in range(meetings):
            here, there = rng.sample(range(self.ports), 2)
            address = b"\x02\xdd\0\0\0" + bytes([rng.randrange(8)])
            tag = vlan_tag(rng.choice([*self.vlans]), 0) + TYPE_EXPERIMENTAL
            yield Arrival(at, Frame(here, BROADCAST + address + tag, MIN_FRAME_BYTES))
            other = Frame(there, address + self._source(there) + tag, MIN_FRAME_BYTES)
            yield Arrival(at + rng.randint(-4, 24), other)
            at += 4 * MIN_FRAME_BYTES

    def _introduction(self, most: int) -> list[tuple[int, int]]:
        """Stations that say where they are before all else."""
        stations = [(port, number) for number in range(STATIONS_PER_PORT) for port in range(self.ports)]
        return stations[:most] if self.rng.random() < 0.7 else []

    def _rested(self, free: list[int]) -> list[int]:
        """Before a phase: nothing happens, the ports come into step, or all is quiet for a while."""
        rng = self.rng
        kind = rng.random()
        if kind < 0.3 and not self.ages:
            return free
        quiet = self._log(1_000, PERIOD_CYCLES * 4 if self.ages else 30_000)
        return [max(free) + (rng.randint(GAP_BYTES, 100) if kind < 0.6 else quiet)] * self.ports

    def _phase(self, left: int) -> _Phase:
        rng = self.rng
        storm = rng.random() < 0.03
        active = sorted(self._some(rng.choice((1.0, 1.0, 0.6))) or self.everybody)
        return _Phase(
            frames=min(left, rng.randint(20, MOST_OWED) if storm else self._log(20, 2_000)),
            active=[rng.choice(active)] if storm else active,
            size=self._sizes(),
            gap=self._gaps(),
            flow_share=rng.choice((0.0, 0.3, 0.8)),
            hot_port=rng.randrange(self.ports),
            hot_share=rng.choice((0.0, 0.5, 0.95)),
            pcp=rng.choice((None, None, rng.randrange(8))),
            in_step=rng.random() < 0.25,
            pause_share=rng.choice((0.0, 0.0, 0.02, 0.3)),
            storm=storm,
        )

    def _sizes(self) -> Callable[[], int]:
        rng = self.rng
        limit = self.config.max_frame_bytes
        same = rng.randint(MIN_FRAME_BYTES, limit)
        return rng.choice(
            (
                lambda: MIN_FRAME_BYTES,
                lambda: rng.randint(64, 72),
                lambda: min(rng.choice(EDGES), limit),
                lambda: rng.choice((64, 64, 64, 64, 64, 64, 64, min(594, limit), min(594, limit), min(1518, limit))),
                lambda: rng.randint(MIN_FRAME_BYTES, limit),
                lambda: rng.randint(max(MIN_FRAME_BYTES, limit - 100), limit),
                lambda: self._log(MIN_FRAME_BYTES, limit),
                lambda: same,
            )
        )

    def _gaps(self) -> Callable[[], int]:
        rng = self.rng
        most = rng.choice((20, 300, 3_000))
        return rng.choice(
            (
                lambda: GAP_BYTES,
                lambda: GAP_BYTES,
                lambda: rng.randint(GAP_BYTES, most),
                lambda: rng.choice((12, 12, 12, 13, 14, 15, 16)),
                lambda: rng.choice((12, 12, 12, rng.randint(1, 11))),
            )
        )

    def _storm_frame(self, port: int) -> Frame:
        rng = self.rng
        size = rng.randrange(4)
        delimiter = size > 0 and rng.random() < 0.3
        return Frame(port, b"", size if delimiter else max(1, size), preamble=rng.randrange(3), delimiter=delimiter)

    def _source(self, port: int) -> bytes:
        rng = self.rng
        if self.crowd and rng.random() < 0.3:
            return rng.choice(self.crowd)
        if rng.random() < 0.02:  # it has moved here
            port = rng.randrange(self.ports)
        return station_address(port, rng.randrange(STATIONS_PER_PORT))

    def _destination(self, port: int) -> bytes:
        """An address that is mostly behind this port."""
        rng = self.rng
        kind = rng.random()
        if kind < 0.80:
            return station_address(port, rng.randrange(STATIONS_PER_PORT))
        if kind < 0.85 and self.crowd:
            return rng.choice(self.crowd)
        if kind < 0.90:
            return self._unknown()
        if kind < 0.95:
            return rng.choice(self.multicasts)
        return BROADCAST if kind < 0.98 else b"\x01\x80\xc2\0\0" + bytes([rng.randrange(18)])

    def _vlan(self, port: int) -> int | None:
        """What the tag says; mostly a VLAN of the port."""
        rng = self.rng
        own = [vlan for vlan, members in self.vlans.items() if port in members]
        if rng.random() < 0.1 or not own:
            own = [*self.vlans]
        return rng.choice((None, 0, *own) if self._untagged(port) in own else own)

    def _frame(self, port: int, phase: _Phase) -> Frame:
        rng = self.rng
        flows = self.flows_of_port[port]
        pcp = rng.randrange(8) if phase.pcp is None else phase.pcp
        if flows and rng.random() < phase.flow_share:
            flow = rng.choice(flows)
            vlan: int | None = flow.vlan
            if flow.vlan == self._untagged(port) and rng.random() < 0.3:
                vlan = rng.choice((None, 0))
            head = flow.addresses + vlan_tag(vlan, flow.pcp if rng.random() < 0.9 else pcp)
            head += TYPE_IPV4 + self._ipv4(flow.entry) if flow.ipv4 else TYPE_EXPERIMENTAL
        else:
            known = [*self.vlans]
            vlan = rng.choice((99, 4095)) if rng.random() < 0.03 else self._vlan(port)
            out = phase.hot_port if rng.random() < phase.hot_share else rng.randrange(self.ports)
            if out == port and rng.random() < 0.9:
                out = rng.choice([*self.everybody - {port}])
            head = self._destination(out) + self._source(port) + vlan_tag(vlan, pcp)
            if rng.random() < 0.05:
                head += vlan_tag(rng.choice(known), pcp)
            head += TYPE_EXPERIMENTAL
        frame = Frame(port, head, phase.size(), rng.randrange(FILLER_BYTES))
        return self._spoil(frame) if rng.random() < self.damaged_share else frame

    def _spoil(self, frame: Frame) -> Frame:
        """The same frame with something unusual, most of which makes it unfit."""
        rng = self.rng
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
        wrong: dict[str, Any] = damage(kind, frame.size, self.config.max_frame_bytes, rng)
        return replace(frame, **wrong)

    # ---- what is changed on the way

    def _changes(self, arrivals: Sequence[Arrival]) -> Iterator[Change]:
        rng = self.rng
        before = _Before(self.config)
        at = 0
        for _ in range(rng.choice((0, 0, 4, 20, 60))):
            kind = rng.choice([*CHANGES])
            writes = CHANGES[kind](self)
            if not writes:
                continue
            # Some come at once: the writes of one follow those of the other.
            if rng.random() < 0.9:
                at = self._moment(rng.choice(arrivals), writes)
            if kind == "max_frame" and rng.random() < 0.7:
                at, writes = self._limit_at(rng.choice(arrivals))
            yield self._change(at, kind, writes)
            if rng.random() < 0.7:  # for a moment only, so that the scenario stays of its kind
                at += rng.randint(1, rng.choice((8, 60, 5_000)))
                yield self._change(at, kind, before.of(writes))

    def _change(self, at: int, kind: str, writes: Sequence[Write]) -> Change:
        return Change(at, kind, tuple((self.name_of[address], value) for address, value in writes))

    def _limit_at(self, arrival: Arrival) -> tuple[int, list[Write]]:
        """The longest frame is changed about this frame's length, and about its delimiter."""
        limit = max(MIN_FRAME_BYTES, arrival.frame.size - self.rng.randrange(2))
        at = arrival.at + arrival.frame.preamble + self.rng.randint(-12, 3)
        return max(0, at), [self._write("max_frame", bytes=min(limit, LONGEST_FRAME_BYTES))]

    def _moment(self, arrival: Arrival, writes: Sequence[Write]) -> int:
        """Mostly such that the last write acts while the switch looks at a frame: behind its delimiter, or its end."""
        rng = self.rng
        frame = arrival.frame
        if rng.random() < 0.2:
            return arrival.at + rng.randrange(2_000)
        looks = arrival.at + rng.choice((frame.preamble, frame.carrier_cycles)) + rng.randint(-5, 45)
        return max(0, looks - WRITE_CYCLES * len(writes))

    def _write(self, name: str, **fields: int) -> Write:
        return self.registers.write(name, **fields)

    def _commit(self, table: Table, index: int, data: int) -> list[Write]:
        return table_writes(self.registers, table, index, data)

    def _change_rate(self) -> list[Write]:
        handle = self.rng.randrange(max(1, len(self.flows)))
        return self._commit(Table.STREAM_RATE, handle, rate_entry(*self._rate()))

    def _change_key(self) -> list[Write]:
        """A stream is taken out, or its place in the table is given to another handle."""
        rng = self.rng
        if not self.flows:
            return []
        config = self.config
        mask = sum((1 << width) - 1 << low for name, (low, width) in IPV4_FIELDS.items() if name in config.ipv4_fields)
        keys = [stream_key(flow.entry, mask) for flow in self.flows]
        number = rng.randrange(len(keys))
        where = place(keys, 2 * config.size.streams)[number]
        if where is None:
            return []
        index = where[0] << 15 | where[1]
        entry = 0 if rng.random() < 0.6 else 1 << 121 | rng.randrange(len(keys)) << 109 | keys[number]
        return self._commit(Table.STREAM_KEY, index, entry)

    def _change_residence(self) -> list[Write]:
        group = self.rng.randrange(self.ports) << 3 | self.rng.randrange(CLASSES)
        return self._commit(Table.GROUP, group, self._residence_ns())

    def _change_vlan(self) -> list[Write]:
        members = sum(1 << port for port in self._some(0.7))
        return self._commit(Table.VLAN, self.rng.choice([*self.vlans, 99]), members)

    def _change_address(self) -> list[Write]:
        rng = self.rng
        address, vlan = as_number(rng.choice(self._addresses())), rng.choice([*self.vlans])
        index = rng.randrange(2) << 15 | fdb_set(address, vlan, self.config.size.fdb_sets)
        ports = sum(1 << port for port in self._some(0.5))
        static = rng.randrange(2)
        entry = 1 << 71 | static << 70 | rng.randint(1, 3) << 68 | ports << 60 | vlan << 48 | address
        return self._commit(Table.FDB, index, entry if rng.random() < 0.7 else 0)

    def _change_identify(self) -> list[Write]:
        return [self._write("identify", **{name: self.rng.randrange(2) for name in ("ipv4", "destination", "source")})]

    def _change_identify_mask(self) -> list[Write]:
        mask = sum((1 << width) - 1 << low for low, width in IPV4_FIELDS.values() if self.rng.random() < 0.8)
        return self._commit(Table.IDENTIFY_MASK, 0, mask)

    def _change_class_of_pcp(self) -> list[Write]:
        return [self._write("class_of_pcp", **{f"pcp{pcp}": k for pcp, k in enumerate(self._class_of_pcp())})]

    def _change_port_vlan(self) -> list[Write]:
        return [self._write(f"port_vlan[{self.rng.randrange(self.ports)}]", vlan=self.rng.choice([*self.vlans]))]

    def _change_shares(self) -> list[Write]:
        """Less than before of each, so that what is charged already and what is granted next fit the store together."""
        config = self.config
        if config.queue_guarantee_cells is None:
            return []
        assert config.reception_guarantee_cells is not None
        assert config.shared_limit_cells is not None
        most = (config.queue_guarantee_cells, config.reception_guarantee_cells, config.shared_limit_cells)
        shares = [self.rng.randint(0, cells) for cells in most]
        names = ("queue_guarantee", "reception_guarantee", "shared_limit")
        return [self._write(name, cells=cells) for name, cells in zip(names, shares, strict=True)]


class _Before:
    """What registers and tables held before the first change."""

    def __init__(self, config: SwitchConfig) -> None:
        self.registers = register_map()
        self.values = {register.address: register.pack() for register in self.registers.values()}
        self.tables: dict[tuple[int, int], int] = {}
        words = [self.registers.address(f"table_data[{n}]") for n in range(4)]
        self.index, self.commit = (self.registers.address(name) for name in ("table_index", "table_commit"))
        for address, value in configure(config, self.registers):
            self.values[address] = value
            if address == self.commit:
                data = sum(self.values[word] << 32 * n for n, word in enumerate(words))
                self.tables[value, self.values[self.index]] = data

    def of(self, writes: Sequence[Write]) -> list[Write]:
        """The writes that take these back."""
        values = dict(writes)
        if self.commit in values:
            table, index = values[self.commit], values[self.index]
            return table_writes(self.registers, Table(table), index, self.tables.get((table, index), 0))
        return [(address, self.values[address]) for address in values]


CHANGES: dict[str, Callable[[_Drawing], list[Write]]] = {
    "stream_rate": _Drawing._change_rate,
    "stream_key": _Drawing._change_key,
    "residence": _Drawing._change_residence,
    "vlan": _Drawing._change_vlan,
    "static_address": _Drawing._change_address,
    "identify": _Drawing._change_identify,
    "identify_mask": _Drawing._change_identify_mask,
    "class_of_pcp": _Drawing._change_class_of_pcp,
    "port_vlan": _Drawing._change_port_vlan,
    "shares": _Drawing._change_shares,
    "class_of_untagged": lambda d: [d._write("class_of_untagged", value=d.rng.randrange(CLASSES))],
    "ats_classes": lambda d: [d._write("ats_classes", mask=sum(1 << k for k in d._ats_classes()))],
    "ats_overhead": lambda d: [d._write("ats_overhead", bytes=d.rng.randrange(256))],
    "processing_delay_max": lambda d: [d._write("processing_delay_max", ns=d._log(1, 20_000))],
    "learning": lambda d: [d._write("learning", enable=d.rng.randrange(2))],
    "aging_period": lambda d: [d._write("aging_period", ms=d.rng.choice((1, 2, 3, 100_000)))],
    "max_frame": lambda d: [d._write("max_frame", bytes=d.rng.choice((MAX_FRAME_BYTES, d._max_frame())))],
    "port_enable": lambda d: [d._write("port_enable", mask=sum(1 << p for p in d._some(0.8)))],
    "queue_limit": lambda d: [d._write(f"queue_limit[{d.rng.randrange(CLASSES)}]", cells=d._log(1, 256))],
    "class_limit": lambda d: [d._write(f"class_limit[{d.rng.randrange(CLASSES)}]", cells=d._log(1, 640))],
}
