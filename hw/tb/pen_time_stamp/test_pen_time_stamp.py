# SPDX-License-Identifier: Apache-2.0
"""Time stamps of messages built so that it is known of each whether it gets one, at all ports at once."""

import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from gmii import with_fcs
from runner import HERE, run_module

HOLDS = 15  # stamps of a source
EVENT_PORT = 319


def ptp_header(message_type, sequence_id):
    """34 bytes of a PTP header with random fields around the ones that count."""
    header = bytearray(random.randbytes(34))
    header[0] = random.randrange(16) << 4 | message_type
    header[30:32] = sequence_id.to_bytes(2, "big")
    return bytes(header)


def ethernet(ethertype, payload, tags):
    body = random.randbytes(12)
    for tag_type in tags:
        body += tag_type + random.randbytes(2)
    return body + ethertype.to_bytes(2, "big") + payload


def ipv4(payload, *, options=0, protocol=17, fragment=0, version=4):
    header = bytearray(random.randbytes(20 + 4 * options))
    header[0] = version << 4 | (5 + options)
    header[6:8] = (random.choice((0, 0x4000, 0x2000)) | fragment).to_bytes(2, "big")
    header[9] = protocol
    return bytes(header) + payload


def udp(payload, port=EVENT_PORT):
    return random.randbytes(2) + port.to_bytes(2, "big") + random.randbytes(4) + payload


VLAN = b"\x81\x00"


def message():
    """A frame, and (messageType, sequenceId) if it is an event message."""
    message_type, sequence_id = random.randrange(4), random.getrandbits(16)
    header = ptp_header(message_type, sequence_id) + random.randbytes(random.choice((0, 10, 60, 400)))
    tags = random.choice(((), (VLAN,)))
    over_udp = ethernet(0x0800, ipv4(udp(header), options=random.choice((0, 0, 1, 10))), tags)
    kind = random.randrange(14)
    if kind < 4:
        return ethernet(0x88F7, header, tags), (message_type, sequence_id)
    if kind < 7:
        return over_udp, (message_type, sequence_id)
    other = ptp_header(random.randrange(4, 16), sequence_id)
    frames = (
        ethernet(0x88F7, other, tags),
        ethernet(0x0800, ipv4(udp(other)), tags),
        ethernet(0x0800, ipv4(udp(header, port=random.choice((320, 318, 0x3F01, 0x023F)))), tags),
        ethernet(0x0800, ipv4(udp(header), protocol=random.choice((6, 16, 1))), tags),
        ethernet(0x0800, ipv4(udp(header), fragment=random.choice((1, 0x100, 0x1000))), tags),
        ethernet(0x0800, ipv4(udp(header), version=random.choice((6, 5, 0))), tags),
        ethernet(random.choice((0x88F6, 0x08F7, 0x88B5, 0x86DD)), header, random.choice((tags, (VLAN, VLAN)))),
    )
    return frames[kind - 7], None


class Bench:
    def __init__(self, dut):
        self.dut = dut
        self.ports = dut.PORTS.value.to_unsigned()
        self.cycle = 0
        self.times = deque(maxlen=2000)  # of the last cycles
        self.now = random.getrandbits(33) * 10**9 << 32
        self.queues = [deque() for _ in range(2 * self.ports + 1)]
        self.lost = set()
        self.receive = [Wire() for _ in range(self.ports)]
        self.send = [Wire() for _ in range(self.ports)]
        self.edges = 0

    def shown(self):
        seconds, rest = divmod(self.now >> 32, 10**9)
        return seconds << 62 | rest << 32 | self.now & 0xFFFFFFFF

    async def start(self):
        dut = self.dut
        dut.rst_i.value = dut.awake_i.value = 1
        dut.all_i.value = 0
        for name in ("delimiter_i", "beat_i", "beat_valid_i", "gmii_txd_i", "gmii_tx_en_i", "gmii_tx_er_i"):
            getattr(dut, name).value = 0
        dut.capture_i.value = dut.clear_lost_i.value = dut.take_i.value = dut.take_source_i.value = 0
        dut.time_i.value = 0
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
        for _ in range(3):
            await FallingEdge(dut.clk_i)
        dut.rst_i.value = dut.awake_i.value = 0
        self.delimiters = deque([0] * 3, maxlen=3)

    def join(self, source, moment, message):
        """What is due in the queue of a source, a few cycles from now."""
        self.queues[source].append((moment, *message))

    def time_of(self, cycle):
        return self.times[cycle - self.cycle] if cycle < self.cycle else self.now

    async def tick(self):
        """One cycle: what is on the wires of it, then the edge."""
        dut = self.dut
        self.now += random.choice((0, 1 << 32, 8 << 32, 8 << 32, random.getrandbits(42)))
        dut.time_i.value = self.shown()
        delimiters = beats = valid = txd = tx_en = tx_er = 0
        for p, wire in enumerate(self.receive):
            # The delimiter is told three cycles after the first byte, the byte itself leaves the FIFO later.
            wire.tick(self.cycle)
            if wire.start == self.cycle - 3:
                delimiters |= 1 << p
            beat = wire.pop(self.cycle)
            if beat is not None:
                data, last, reason = beat
                beats |= (last << 12 | (reason << 8 if last else 0) | data) << 13 * p
                valid |= 1 << p
                if last and reason == 0 and wire.message:
                    self.join(p, self.time_of(wire.start), wire.message)
        for p, wire in enumerate(self.send):
            data, enabled, error, done = wire.gmii(self.cycle)
            txd |= data << 8 * p
            tx_en |= enabled << p
            tx_er |= error << p
            if done and wire.message:
                self.join(self.ports + p, self.time_of(wire.start), wire.message)
        dut.delimiter_i.value, dut.beat_i.value, dut.beat_valid_i.value = delimiters, beats, valid
        dut.gmii_txd_i.value, dut.gmii_tx_en_i.value, dut.gmii_tx_er_i.value = txd, tx_en, tx_er
        await FallingEdge(dut.clk_i)
        self.times.append(self.now)
        self.cycle += 1
        dut.take_i.value = dut.clear_lost_i.value = 0

    async def take(self, source):
        """(moment, messageType, sequenceId, whether it is no event message), or None."""
        dut = self.dut
        dut.take_i.value, dut.take_source_i.value = 1, source
        await self.tick()
        word = dut.stamp_o.value.to_unsigned()
        seconds, ns, fraction = word >> 62 & (1 << 48) - 1, word >> 32 & (1 << 30) - 1, word & 0xFFFFFFFF
        if not word >> 129 & 1:
            return None
        return (seconds * 10**9 + ns << 32 | fraction), word >> 126 & 3, word >> 110 & 0xFFFF, bool(word >> 128 & 1)

    async def expect(self, source):
        """The oldest stamp of a source is what was seen on its wire."""
        moment, message_type, sequence_id, *is_other = self.queues[source].popleft()
        wanted = (moment >> 24 << 24, message_type, sequence_id, is_other == [True])
        assert await self.take(source) == wanted, f"source {source}"

    async def drain(self):
        """Until all frames have passed, and a little longer."""
        while any(wire.frames or wire.bytes or wire.position is not None for wire in self.receive + self.send):
            await self.tick()
        for _ in range(60):
            await self.tick()

    async def expect_as_they_come(self, stamps):
        """So many, of the ports, none lost."""
        while stamps > 0:
            await self.tick()
            waiting = self.dut.waiting_o.value.to_unsigned()
            for source in range(2 * self.ports):
                if waiting >> source & 1 and self.queues[source]:
                    await self.expect(source)
                    stamps -= 1
        assert self.dut.lost_o.value == 0


class Wire:
    """Frames one after the other: for reception bytes that leave a FIFO, for sending the pins."""

    def __init__(self):
        self.frames = deque()
        self.message = None
        self.start = -100  # cycle of the first byte at the pins
        self.bytes = deque()
        self.pending = deque()
        self.free = 0
        self.position = None

    def tick(self, cycle):
        if self.frames and cycle >= self.free and not self.bytes:
            frame, message, reason, gap = self.frames.popleft()
            self.start = cycle + gap + 8
            self.message = message
            self.bytes = deque((byte, int(i == len(frame) - 1), reason) for i, byte in enumerate(frame))
            self.free = self.start + len(frame)
            self.delay = random.choice((5, 5, 6, 12, 20))

    def pop(self, cycle):
        if self.bytes and cycle >= self.start + self.delay:
            return self.bytes.popleft()
        return None

    def gmii(self, cycle):
        """Data, enable and error of this cycle; done in the one after a good frame."""
        if self.position is None:
            if self.frames and cycle >= self.free:
                frame, self.message, error, gap = self.frames.popleft()
                self.samples = [0x55] * 7 + [0xD5] + list(frame)
                self.error = error
                self.position = -gap
            else:
                return random.getrandbits(8), 0, 0, False
        at, self.position = self.position, self.position + 1
        if at < 0:
            return random.choice((0, 0xD5)), 0, 0, False
        if at == len(self.samples):
            self.position, self.free = None, cycle
            return 0, 0, 0, not self.error
        if at == 8:
            self.start = cycle
        return self.samples[at], 1, int(self.error and at == len(self.samples) - 1), False


def other(frame):
    """What tells a frame that is no event message: (0, the octets where one has its sequenceId, True)."""
    payload = 18 if frame[12:14] == VLAN else 14
    version, words = frame[payload] >> 4, frame[payload] & 0xF
    is_udp = frame[payload - 2 : payload] == b"\x08\x00" and version == 4 and words in (5, 6)
    fragment = int.from_bytes(frame[payload + 6 : payload + 8], "big") & 0x1FFF
    if is_udp and frame[payload + 9] == 17 and not fragment:
        ports = payload + 4 * words
        if frame[ports + 2 : ports + 4] == EVENT_PORT.to_bytes(2, "big"):
            payload = ports + 8
    return 0, int.from_bytes(frame[payload + 30 : payload + 32], "big"), True


def has_late_ports(frame):
    """UDP whose ports stand behind where a message on Ethernet has its sequenceId."""
    payload = 18 if frame[12:14] == VLAN else 14
    return frame[payload - 2 : payload] == b"\x08\x00" and frame[payload] & 0xF > 6


def frame_of(body):
    return with_fcs(body.ljust(60, b"\0"))


@cocotb.test()
async def stamps_event_messages_and_no_others(dut):
    """At all ports and both ways at once, good and bad frames, whatever else is sent."""
    bench = Bench(dut)
    await bench.start()
    for wire in bench.receive + bench.send:
        for _ in range(14):
            body, found = message()
            bad = random.random() < 0.2
            wire.frames.append((frame_of(body), None if bad else found, (5 if bad else 0), random.choice((1, 4, 12))))
    await bench.drain()
    sources = range(2 * bench.ports + 1)
    assert dut.waiting_o.value.to_unsigned() == sum(1 << s for s in sources if bench.queues[s])
    assert sum(map(len, bench.queues)) > 2 * bench.ports * 3
    work = [source for source in sources for _ in bench.queues[source]]
    random.shuffle(work)
    for source in work:
        await bench.expect(source)
    assert dut.waiting_o.value == 0 and dut.lost_o.value == 0
    for source in range(32):
        assert await bench.take(source) is None


@cocotb.test()
async def smallest_frames_back_to_back(dut):
    """Every frame a message of 64 bytes with the smallest gap, at all ports, taken as they come."""
    bench = Bench(dut)
    await bench.start()
    for wire in bench.receive + bench.send:
        for n in range(40):
            message_type = random.randrange(4)
            body = ethernet(0x88F7, ptp_header(message_type, n), ())
            wire.frames.append((frame_of(body), (message_type, n), 0, 1))
    await bench.expect_as_they_come(80 * bench.ports)


@cocotb.test()
async def stamps_every_frame_where_it_is_asked_for(dut):
    """Of some sources all frames, good ones, beside others of which event messages are."""
    bench = Bench(dut)
    await bench.start()
    everything = random.getrandbits(2 * bench.ports) | 1 << bench.ports
    dut.all_i.value = everything
    for source, wire in enumerate(bench.receive + bench.send):
        for _ in range(14):
            body, found = message()
            frame = frame_of(body)
            if everything >> source & 1 and (found is None or has_late_ports(frame)):
                found = other(frame)
            bad = random.random() < 0.1
            wire.frames.append((frame, None if bad else found, (5 if bad else 0), random.choice((1, 4, 12))))
    await bench.drain()
    for source, queue in enumerate(bench.queues):
        while queue:
            await bench.expect(source)
    assert dut.waiting_o.value == 0 and dut.lost_o.value == 0


@cocotb.test()
async def smallest_frames_of_any_kind_back_to_back(dut):
    """Every frame of 64 bytes with the smallest gap is stamped, at all ports, taken as they come."""
    bench = Bench(dut)
    await bench.start()
    dut.all_i.value = (1 << 2 * bench.ports) - 1
    for wire in bench.receive + bench.send:
        for _ in range(40):
            frame = frame_of(ethernet(random.choice((0x88B5, 0x0800, 0x0806)), random.randbytes(46), ()))
            wire.frames.append((frame, other(frame), 0, 1))
    await bench.expect_as_they_come(80 * bench.ports)


@cocotb.test()
async def keeps_the_oldest(dut):
    """A queue that is full keeps what it has, and says that it lost some."""
    bench = Bench(dut)
    await bench.start()
    source = bench.ports + 1
    for n in range(HOLDS + 3):
        bench.send[1].frames.append((frame_of(ethernet(0x88F7, ptp_header(2, n), (VLAN,))), (2, n), 0, 12))
    for _ in range((HOLDS + 3) * 90 + 100):
        await bench.tick()
    assert dut.lost_o.value.to_unsigned() == 1 << source
    dut.clear_lost_i.value = 1
    await bench.tick()
    assert dut.lost_o.value == 0
    for _ in range(HOLDS):
        await bench.expect(source)
    assert dut.waiting_o.value == 0
    bench.queues[source].clear()
    bench.send[1].frames.append((frame_of(ethernet(0x88F7, ptp_header(0, 99), ())), (0, 99), 0, 12))
    for _ in range(140):
        await bench.tick()
    await bench.expect(source)


@cocotb.test()
async def edges_of_the_input(dut):
    """Each rising edge is stamped with the time of its cycle and numbered; those that come too fast are counted."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(10):
        await bench.tick()
    source, number = 2 * bench.ports, 0
    for _ in range(30):
        dut.capture_i.value = 1
        at = bench.cycle
        for _ in range(random.randrange(1, 5)):
            await bench.tick()
        dut.capture_i.value = 0
        for _ in range(4 * bench.ports + 8):
            await bench.tick()
        bench.queues[source].append((bench.time_of(at), 0, number))
        await bench.expect(source)
        number += 1
    assert dut.lost_o.value == 0
    for level in (1, 0, 1, 0, 1, 0):
        dut.capture_i.value = level
        await bench.tick()
        await bench.tick()
    for _ in range(100):
        await bench.tick()
    assert dut.lost_o.value.to_unsigned() == 1 << source
    assert (await bench.take(source))[2] == number


@pytest.mark.parametrize("ports", [pytest.param(2, marks=pytest.mark.slow), 4, 8])
def test_pen_time_stamp(ports):
    own = HERE / "pen_time_stamp" / "pen_time_stamp_tb.sv"
    run_module("pen_time_stamp_tb", __name__, {"PORTS": ports}, extra_sources=[own])
