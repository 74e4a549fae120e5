# SPDX-License-Identifier: Apache-2.0
"""A scenario of several cards, each driven by a guest of its own: card, wire, bridge, wire and card by one clock.

```text
 guest ─► card in hardware ─► cable of 32.768 us ─► the scenario's network ─► cable ─► card in hardware ─► guest
          by steps of 2.048 us                      by the engine
```

A card is at the end of a cable, as a frame is handed over once it has left whole. Its time is that of the network from
there on, and stands still while nothing is in cards and network, as guests have clocks of their own.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.captures import header_of
from penstock.errors import RunError
from penstock.hardware.model import build_card
from penstock.lab.emulation import Emulation
from penstock.lab.guest import Guest
from penstock.lab.kernel import Kernel, Tell
from penstock.lab.setup import prepare
from penstock.nic.card import Card, Sent
from penstock.nic.laboratory import (
    HEADERS_BYTES,
    MODULES,
    do,
    queue_commands,
    refuse,
    vlan_commands,
    written_values,
)
from penstock.own import Program
from penstock.plan import show_mac
from penstock.run import CompiledEngine, Progress, Result, Sink, run
from penstock.scenario import load
from penstock.scenario.checked_stream import Stream
from penstock.scenario.network import Network, Station
from penstock.system_packages import require

if TYPE_CHECKING:
    from penstock._engine import Frame

CABLE_NS = 32_768
STEP_NS = 2_048  # with the 12,240 ns of the longest frame less than the cable
_BYTE_NS = 8  # on the wire, which is a cycle of the card
_QUIET_PS, _LOST_PS = 4_000_000, 2_000_000_000
_LINE_BPS = 1_000_000_000
_LOOK_S, _MOST_S = 0.001, 300.0
_MODULES = (*MODULES, "sch_ingress", "cls_matchall", "act_skbedit")
_PORT = 5201


@dataclass(frozen=True)
class Exchange:
    """A stream of a guest's and the one that answers it, in a VLAN of their own: what makes them, and how often."""

    asks: Stream
    answers: Stream
    count: int

    @property
    def ways(self) -> tuple[tuple[Stream, Stream], tuple[Stream, Stream]]:
        """Each of them with the other one."""
        return (self.asks, self.answers), (self.answers, self.asks)

    @property
    def is_ping(self) -> bool:
        """Whether it is ping, and not iperf3."""
        return not self.asks.source.back_to_back

    @property
    def payload_bytes(self) -> int:
        """Of a datagram, or of an echo request."""
        return self.asks.max_frame_bytes - HEADERS_BYTES

    def address(self, station: str) -> str:
        """Of a station in its VLAN."""
        assert self.asks.vlan is not None
        return f"10.{self.asks.vlan >> 8}.{self.asks.vlan & 255}.{1 + (station != self.asks.talker)}"

    def command(self) -> list[str]:
        """Of the talker of what is asked."""
        there = self.address(self.answers.talker)
        if self.is_ping:
            # The next one as soon as the answer has come, since times of such a guest mean nothing.
            return ["busybox", "ping", "-A", "-c", str(self.count), "-s", str(self.payload_bytes), there]
        sizes = ["-k", str(self.count), "-l", str(self.payload_bytes), "-b", "0"]
        return ["iperf3", "-J", "-u", *sizes, "-B", self.address(self.asks.talker), "-c", there, "-p", str(_PORT)]

    def told(self, printed: str) -> str:
        """What the program says of it.

        Raises:
            RunError: Something was lost on the way.

        """
        name = self.asks.name
        if self.is_ping:
            if f"{self.count} packets transmitted, {self.count} packets received" not in printed:
                raise RunError(f'ping of "{name}": {printed.strip() or "no word"}')
            return f"{name}: ping had {self.count} answers to {self.count} requests of {self.payload_bytes} B"
        try:
            end = json.loads(printed)["end"]["sum"]
            packets, lost = int(end["packets"]), int(end["lost_packets"])
        except (ValueError, KeyError, TypeError):
            raise RunError(f'iperf3 of "{name}": {printed.strip() or "no word"}') from None
        if lost or packets < self.count:
            raise RunError(f'iperf3 of "{name}": {packets} of {self.count} datagrams sent, {lost} lost')
        return f"{name}: iperf3 sent {packets} datagrams of {self.payload_bytes} B and lost {lost}"


def run_with_guests(network: Network, out: Path, tell: Tell) -> Result:
    """Runs it with a guest for each station that has a card, and writes the folder of results of any other run.

    Raises:
        InputError: The scenario has what guests cannot do.
        RunError: A card or a guest did not start, or what guests sent did not come.

    """
    stations = [station for station in network.stations.values() if station.card is not None]
    found = exchanges(network, stations)
    require({"iperf3": "iperf3"}, tell)
    kernel = prepare(tell)
    shared = Shared()
    with _guests(network, stations, found, kernel, shared, tell) as guests:
        watch = _Watch(guests, found, shared)
        try:
            result = carry(network, found, shared, out, notes=_notes(kernel.release), begins=watch.start)
        finally:
            shared.is_over.set()
            if watch.is_alive():
                watch.join()
        said = watch.told()
        for name, wired in shared.cards.items():
            if wired.card.counted().damaged:
                raise RunError(f'the card of "{name}" sent frames that were damaged')
    for line in said:
        tell(line)
    return result


def carry(
    network: Network,
    found: Sequence[Exchange],
    shared: Shared,
    out: Path,
    notes: Sequence[str],
    begins: Callable[[], object],
) -> Result:
    """The run between the cards, until it is over; each card sends and receives by its own clock's time.

    Calls `begins` when all between the cards is built, so that no guest waits for a compiler.
    """
    programs = {name: GuestProgram(shared, wired) for name, wired in shared.cards.items()}
    engine = _Engine(programs, {own.name: other.name for each in found for own, other in each.ways}, begins)
    return run(load(_without_cards(network, shared.cards, found)), out, engine, notes=notes)


def exchanges(network: Network, stations: Iterable[Station]) -> list[Exchange]:
    """The streams of the guests, each with the one that answers it.

    Raises:
        InputError: The scenario has what guests cannot do.

    """
    names = []
    for station in stations:
        names.append(station.name)
        if station.gates or station.round_robin or station.credit or station.ats_classes:
            what = f'"{station.name}" has more than a card whose highest queue sends first'
            raise refuse(network, f"stations.{station.name}", what, "neither gates nor classes beside several guests")
    answers = {s.source.response_to: s for s in network.streams.values() if s.source.response_to is not None}
    found: list[Exchange] = []
    for stream in network.streams.values():
        if not {stream.talker, *stream.listeners} & set(names) or stream.source.response_to is not None:
            continue
        key = f"streams.{stream.name}"
        answer = answers.get(stream.name)
        if answer is None:
            what = f'nothing answers "{stream.name}"'
            raise refuse(network, key, what, f'a stream with response_to = "{stream.name}": guests run ping and iperf3')
        if stream.source.frames is None or stream.source.count is None:
            what = f'how much "{stream.name}" sends is not said'
            raise refuse(network, f"{key}.source", what, 'one length of "frames", and a count')
        for each in (stream, answer):
            _check(network, names, each)
        if answer.vlan != stream.vlan or any(stream.vlan == other.asks.vlan for other in found):
            raise refuse(
                network, f"{key}.vlan", f'VLAN {stream.vlan} of "{stream.name}"', "one of it and its answer alone"
            )
        exchange = Exchange(stream, answer, stream.source.count)
        if exchange.payload_bytes < 16:
            what = f'frames of {stream.max_frame_bytes} B of "{stream.name}"'
            raise refuse(
                network, f"{key}.source", what, f"{HEADERS_BYTES + 16} B or more, for headers and iperf3's own"
            )
        if exchange.is_ping and answer.max_frame_bytes != stream.max_frame_bytes:
            what = f'"{answer.name}" has another length than what it echoes'
            raise refuse(network, f"streams.{answer.name}.source", what, f"{stream.max_frame_bytes} B")
        found.append(exchange)
    return found


def _check(network: Network, names: Sequence[str], stream: Stream) -> None:
    key = f"streams.{stream.name}"
    if not stream.vlan or len(stream.listeners) != 1 or not {stream.talker, *stream.listeners} <= set(names):
        what = f'"{stream.name}" is not what a guest sends here'
        raise refuse(network, key, what, "a tag, and one listener that has a card too")
    if network.class_at_talker(stream) != stream.pcp:
        what = f'priority {stream.pcp} of "{stream.name}" is class {network.class_at_talker(stream)}'
        raise refuse(network, key, what, 'class_of_priority = "identity": mqprio has priority k in queue k')


def _notes(release: str) -> list[str]:
    return [
        f"functional: drivers and stacks are those of Linux {release} in emulated guests, whose clocks are their own;"
        " they gave each frame its queue, its place and its content",
        "timed: cards are hardware, Verilated, by one clock with all between them, each behind a cable of"
        f" {CABLE_NS} ns; that clock stands still while nothing is on its way, and no latency of Linux is told",
    ]


def _without_cards(network: Network, names: Iterable[str], found: Sequence[Exchange]) -> Mapping[str, Any]:
    """The scenario as the engine has it: cards and hosts are programs, whose frames are at no known times."""
    values = written_values(network)
    values["duration"] = f"{network.duration_ps}ps"
    for name in names:
        del values["stations"][name]["card"]
        values["stations"][name]["nodes"] = "model"
    for exchange in found:
        values["streams"][exchange.asks.name]["source"] = {
            "frames": f"{exchange.asks.max_frame_bytes}B",
            "back_to_back": True,
        }
    return values


class _Engine(CompiledEngine):
    """Frames of guests' streams come from their programs alone."""

    def __init__(
        self, programs: Mapping[str, Program], answers: Mapping[str, str], begins: Callable[[], object]
    ) -> None:
        super().__init__(programs)
        self._answers = answers
        self._begins = begins

    def prepare(self, network: Network, progress: Progress) -> dict[str, Any]:
        """As of any run, but for what starts such a stream."""
        description = super().prepare(network, progress)
        places = {stream["name"]: place for place, stream in enumerate(description["streams"])}
        for name, other in self._answers.items():
            longest = network.streams[name].max_frame_bytes
            source = {"kind": "response", "to_stream": places[other], "after_ps": 0, "frame_bytes": longest}
            description["streams"][places[name]]["source"] = source
        return description

    def run(self, network_json: str, sink: Sink | None, progress: Callable[[float], bool]) -> dict[str, Any]:
        """As any run, and tells that it begins."""
        self._begins()
        return super().run(network_json, sink, progress)


@dataclass
class Wired:
    """A card, and where it is in the run."""

    card: Card
    streams: Mapping[tuple[int, int], Stream]  # that it sends, by destination and VLAN
    base_ns: int  # of its clock, when the run begins
    is_idle: bool = False
    due: deque[tuple[int, str, bytes]] = field(default_factory=deque)  # in the cable: when each is at its end, in ps

    def run(self, time_ps: int) -> None:
        """Goes on to a time of the run; what left is in the cable."""
        step = self.card.step(self.base_ns + time_ps // 1000)
        self.is_idle = step.is_idle
        for sent in step.sent:
            self.due.append((self.time_ps(sent.at_ns + CABLE_NS), self._stream(sent).name, sent.data))

    def time_ps(self, clock_ns: int) -> int:
        """Of the run, when its clock shows something."""
        return (clock_ns - self.base_ns) * 1000

    def _stream(self, sent: Sent) -> Stream:
        header = header_of(sent.data)
        stream = self.streams.get((header.destination, header.vlan or 0))
        if stream is None:
            raise RunError(f"a guest sent a frame that is of no stream: {sent.data[:18].hex()}")
        if not header.pcp == sent.queue == stream.pcp:
            what = f"a frame of priority {header.pcp} by queue {sent.queue}"
            raise RunError(f'a guest sent {what}, but "{stream.name}" has {stream.pcp}')
        return stream


@dataclass
class Shared:
    """What the programs of one run know of each other."""

    cards: dict[str, Wired] = field(default_factory=dict)
    is_over: threading.Event = field(default_factory=threading.Event)
    passing: int = 0  # frames between two cables
    passed_ps: int = 0  # when one of them began or ended to be
    resumed_ps: int = 0
    until: float = field(default_factory=lambda: time.monotonic() + _MOST_S)

    def is_quiet(self, time_ps: int) -> bool:
        """Whether nothing is on its way; what is not there after 2 ms is taken for lost."""
        since_ps = time_ps - self.passed_ps
        cards = self.cards.values()
        return all(wired.is_idle and not wired.due for wired in cards) and since_ps > (
            _LOST_PS if self.passing else _QUIET_PS
        )

    def wait(self) -> None:
        """Until a guest has something for its card, or all is over; time then goes on where the furthest clock is."""
        while not self.is_over.is_set() and all(wired.is_idle for wired in self.cards.values()):
            time.sleep(_LOOK_S)
            self.check()
            for wired in self.cards.values():
                step = wired.card.step(0)
                wired.is_idle = step.is_idle
                self.resumed_ps = max(self.resumed_ps, wired.time_ps(step.now_ns))

    def check(self) -> None:
        """Raises RunError if it takes too long."""
        if time.monotonic() > self.until:
            raise RunError(f"the guests were not done within {_MOST_S:g} s")


class GuestProgram(Program):
    """A station's program that is a guest behind its card."""

    def __init__(self, shared: Shared, wired: Wired) -> None:
        """Of a card of `shared`."""
        self._shared = shared
        self._wired = wired
        self._next: int | None = 1

    def next(self) -> int | None:
        """A step later, or when a frame is at the cable's end."""
        return self._next

    def receive(self, frame: Frame, port: int, time_ps: int) -> None:
        """Puts it into the cable."""
        data = bytes(frame)
        on_wire_ps = 1000 * _BYTE_NS * (8 + max(len(data), 60) + 4)
        begin_ns = -(-(time_ps - on_wire_ps) // (1000 * _BYTE_NS)) * _BYTE_NS
        self._wired.card.receive(self._wired.base_ns + begin_ns + CABLE_NS, data)
        self._wired.is_idle = False
        self._shared.passing -= 1
        self._shared.passed_ps = time_ps

    def advance(self, time_ps: int) -> list[tuple[str, bytes]]:
        """Lets the card go on, and gives what is at the cable's end."""
        shared, wired = self._shared, self._wired
        shared.check()
        wired.run(time_ps)
        out = []
        while wired.due and wired.due[0][0] <= time_ps:
            due_ps, name, data = wired.due.popleft()
            if due_ps < time_ps:
                raise RunError(f'a frame of "{name}" was at the end of its cable {time_ps - due_ps} ps ago')
            out.append((name, data))
            shared.passing += 1
            shared.passed_ps = time_ps
        if not out and shared.is_quiet(time_ps):
            shared.wait()
            if shared.is_over.is_set():
                self._next = None
                return out
        self._next = max(time_ps + STEP_NS * 1000, shared.resumed_ps)
        if wired.due:
            self._next = min(self._next, wired.due[0][0])
        return out


class _Watch(threading.Thread):
    """Waits for the guests' programs beside the run."""

    def __init__(self, guests: Mapping[str, Guest], found: Sequence[Exchange], shared: Shared) -> None:
        super().__init__(daemon=True)
        self._shared = shared
        self._jobs = [(each, guests[each.asks.talker]) for each in found]
        self._said: list[str] = []
        self._failed: Exception | None = None

    def run(self) -> None:
        try:
            limit = round(_MOST_S)
            jobs = [(each, guest, guest.start(each.command(), timeout_s=limit)) for each, guest in self._jobs]
            for each, guest, number in jobs:
                done = guest.wait(number, limit)
                self._said.append(each.told(done.stdout + done.stderr * bool(done.status)))
        except Exception as error:
            self._failed = error
        self._shared.is_over.set()

    def told(self) -> list[str]:
        if self._failed is not None:
            raise self._failed
        return self._said


@contextmanager
def _guests(
    network: Network, stations: Sequence[Station], found: Sequence[Exchange], kernel: Kernel, shared: Shared, tell: Tell
) -> Iterator[Mapping[str, Guest]]:
    """All cards and guests, ready to talk."""
    with ExitStack() as stack:
        guests = {}
        for station in stations:
            assert station.card is not None
            mac, library = show_mac(station.mac), build_card(pairs=station.card.queues)
            card = stack.enter_context(Card(station.card.queues, _LINE_BPS, library, mac=mac, steps=True))
            guest = stack.enter_context(Guest(kernel, Emulation("tcg"), devices=card.devices))
            tell(f"{station.name}: the guest started in {guest.seconds_to_start:.1f} s, Linux {kernel.release}")
            for module in _MODULES:
                do(guest, "modprobe", module)
            do(guest, "sh", "-c", _set_up(network, station, found))
            guests[station.name] = guest
            of_station = network.streams_from.get(station.name, ())
            streams = {(network.stations[s.listeners[0]].mac, s.vlan or 0): s for s in of_station}
            shared.cards[station.name] = Wired(card, streams, 0)
        for exchange in found:
            if not exchange.is_ping:
                server = guests[exchange.answers.talker]
                server.start(["iperf3", "-s", "-1", "-B", exchange.address(exchange.answers.talker)], timeout_s=0)
                do(server, "sh", "-c", f"until grep -q :{_PORT:04X} /proc/net/tcp; do sleep 0.1; done")
        for wired in shared.cards.values():
            wired.base_ns = wired.card.step(0).now_ns
        yield guests


def _set_up(network: Network, station: Station, found: Sequence[Exchange]) -> str:
    """Commands of a guest: all queues, and a VLAN interface for each exchange, whose frames have its priority."""
    assert station.card is not None
    lines = queue_commands(station.card.queues)
    for exchange in found:
        for own, other in exchange.ways:
            if station.name != own.talker:
                continue
            assert own.vlan is not None
            name, there = f"eth0.{own.vlan}", other.talker
            lines += vlan_commands(own.vlan)
            lines += [
                f"ip addr add {exchange.address(station.name)}/24 dev {name}",
                f"ip neigh add {exchange.address(there)} lladdr {show_mac(network.stations[there].mac)} dev {name}",
                f"tc qdisc add dev {name} clsact",
                f"tc filter add dev {name} egress matchall action skbedit priority {own.pcp}",
            ]
    return "\n".join(lines)
