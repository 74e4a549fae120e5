# SPDX-License-Identifier: Apache-2.0
"""Two switches in a row, hardware or model, and what goes in and out by their host ports.

    interface ─► host port  first  port 0 ─── port 0  second  host port ─► interface

Time is the switches' own: they run when a frame is given to one, and until it is through.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from penstock import _engine
from penstock.ethernet import FCS_BYTES, MIN_FRAME_BYTES
from penstock.hardware.configure import RESERVED_ADDRESSES, SwitchConfig, configure
from penstock.hardware.host import Direct, EgressStamp, ReceivedAt, egress_stamps
from penstock.hardware.registers import registers
from penstock.hardware.traffic import PREAMBLE_BYTES, RESERVED, configured_switch, with_fcs

PORTS = 3
HOST_PORT = PORTS - 1
WIRE = 0  # the port by which the two are joined
CONTROL_CLASS = 7
STEP_CYCLES = 1_000
MOST_CYCLES = 1_000_000
START_CYCLES = 20
ETH_P_ALL = 3
MOST_BYTES = 2_048
TAGS = 256
OUTPUT = _engine.KINDS.index("output")

CONFIG = SwitchConfig(ports=PORTS, host=True, reserved_to_host=set(range(RESERVED_ADDRESSES)))


def way_of(frame: bytes, tag: int | None = None, host_port: int = HOST_PORT) -> ReceivedAt | Direct:
    """How a frame of the host goes on: what no bridge forwards leaves by every wire, all else as an address leads.

    With a tag the host is told when it leaves.
    """
    if frame[:5] == RESERVED and frame[5] < RESERVED_ADDRESSES:
        return Direct(frozenset(range(host_port)), CONTROL_CLASS, tag)
    return ReceivedAt(host_port, tag)


def hardware() -> _engine.Switch:
    """A Verilated switch with a host port."""
    return configured_switch(CONFIG)


def model() -> _engine.Switch:
    """Its model."""
    switch = _engine.Switch.model(PORTS, host=True)
    for address, value in configure(CONFIG, registers()):
        switch.write(address, value)
    return switch


@dataclass
class _Switch:
    switch: _engine.Switch
    pushed: dict[int, bytes] = field(default_factory=dict)
    stamps: list[EgressStamp] = field(default_factory=list)  # of the frame that was given last

    def give(self, port: int, frame: bytes, host: bytes | None = None) -> Iterator[tuple[int, bytes]]:
        """One frame to a port; the frames that leave because of it, each with its port."""
        switch = self.switch
        self.pushed[switch.push(port, switch.cycle + START_CYCLES, frame, host=host)] = frame
        patience = switch.cycle + MOST_CYCLES
        while (switch.waiting or switch.inside) and switch.cycle < patience:
            switch.run(switch.cycle + STEP_CYCLES)
        switch.run(switch.cycle + PREAMBLE_BYTES + MOST_BYTES)
        events = switch.events()
        self.stamps = list(egress_stamps(events))
        for n in range(len(events["kind"])):
            if events["kind"][n] == OUTPUT:
                yield int(events["port"][n]), self.pushed[int(events["frame"][n])]
        self.pushed.clear()


class HostLine:
    """The two switches."""

    def __init__(self, make: Callable[[], _engine.Switch]) -> None:
        self._ends = (_Switch(make()), _Switch(make()))
        self._sent = [0, 0]  # by which the host of each end knows its frames, modulo 256

    def send(self, end: int, frame: bytes) -> list[tuple[int, bytes]]:
        """A frame without FCS from the host of one end: what comes to the hosts, each with its end."""
        padded = frame.ljust(MIN_FRAME_BYTES - FCS_BYTES, b"\0")
        arrived = []
        tag, self._sent[end] = self._sent[end] % TAGS, self._sent[end] + 1
        for port, sent in self._ends[end].give(HOST_PORT, with_fcs(padded), way_of(frame, tag).header):
            if port == WIRE:
                there = self._ends[1 - end].give(WIRE, sent)
                arrived += [(1 - end, heard[:-FCS_BYTES]) for out, heard in there if out == HOST_PORT]
        return arrived

    def stamps(self, end: int) -> list[EgressStamp]:
        """When the frame that the host of an end sent last left each port of its switch."""
        return self._ends[end].stamps


def opened(interface: str) -> socket.socket:
    """All frames of an interface, in and out.

    Raises:
        OSError: There is no such interface, or this user may not.

    """
    one = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    try:
        one.bind((interface, 0))
    except OSError:
        one.close()
        raise
    return one


def carry(
    line: HostLine,
    ends: tuple[socket.socket, socket.socket],
    told: Callable[[int, bytes], object],
    stamped: Callable[[int, EgressStamp], object],
) -> None:
    """Carries frames between two interfaces by the host ports, until interrupted.

    `told` of each that came through, `stamped` of when each left the switch of the end where it went in.
    """
    while True:
        ready, _, _ = select.select(ends, [], [])
        for one in ready:
            frame, address = one.recvfrom(MOST_BYTES)
            if address[2] == socket.PACKET_OUTGOING:  # of our own
                continue
            there = line.send(ends.index(one), frame)
            for stamp in line.stamps(ends.index(one)):
                stamped(ends.index(one), stamp)
            for end, arrived in there:
                ends[end].send(arrived)
                told(end, arrived)
