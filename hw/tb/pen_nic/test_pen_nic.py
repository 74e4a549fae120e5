# SPDX-License-Identifier: Apache-2.0
import random
import zlib
from itertools import pairwise

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from runner import card_sources, run_module

NEXT, WRITE, INDIRECT = 1, 2, 4
SIZE = 16
MEMORY = 1 << 20
REGISTERS = {
    "id": 0x000, "notify": 0x030, "interrupts": 0x034, "errors": 0x038, "select": 0x040, "descriptors": 0x044,
    "driver": 0x04C, "device": 0x054, "size": 0x05C, "index": 0x060, "command": 0x064, "state": 0x068,
    "window_first": 0x070, "window_last": 0x080, "gate_states": 0x420, "gate_enable": 0x440,
}  # fmt: skip


class Host:
    """Memory behind an AXI bus with random delays, registers, and what comes from the wire."""

    def __init__(self, dut):
        self.dut = dut
        self.memory = bytearray(MEMORY)
        self.touched = []  # (address, is_write) of every burst
        self.frames = []  # (cycle of the first byte after the delimiter, bytes)
        self.interrupts = 0
        self.cycle = 0
        self.slow = 3  # cycles that the bus waits, at most
        self._read = self._write = None
        self._answers = []
        self._line = []

    async def reset(self):
        dut = self.dut
        for signal in ("arready", "rvalid", "rlast", "rdata", "rresp", "awready", "wready", "bvalid", "bresp"):
            getattr(dut, f"m_axi_{signal}_i").value = 0
        for signal in (
            "awaddr",
            "awprot",
            "awvalid",
            "wdata",
            "wvalid",
            "bready",
            "araddr",
            "arprot",
            "arvalid",
            "rready",
        ):
            getattr(dut, f"s_axil_{signal}_i").value = 0
        dut.s_axil_wstrb_i.value = 0xF
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start())
        for _ in range(4):
            await FallingEdge(dut.clk_i)
        dut.rst_i.value = 0
        assert await self.read("id") == 0x50454E4E

    def _memory_side(self):
        dut = self.dut
        if self._read is None:
            dut.m_axi_rvalid_i.value = 0
            dut.m_axi_arready_i.value = 1
        else:
            address, beats, wait = self._read
            dut.m_axi_arready_i.value = 0
            dut.m_axi_rvalid_i.value = int(wait == 0)
            good = address + 8 <= MEMORY
            word = self.memory[address : address + 8] if good else random.randbytes(8)
            dut.m_axi_rdata_i.value = int.from_bytes(word, "little")
            dut.m_axi_rresp_i.value = 0 if good else 3
            dut.m_axi_rlast_i.value = int(beats == 1)
        dut.m_axi_awready_i.value = int(self._write is None)
        dut.m_axi_wready_i.value = int(self._write is not None and random.randrange(self.slow + 1) == 0)
        dut.m_axi_bvalid_i.value = int(bool(self._answers) and self._answers[0][0] <= self.cycle)
        dut.m_axi_bresp_i.value = self._answers[0][1] if self._answers else 0

    def _memory_edge(self):
        dut = self.dut
        if self._answers and dut.m_axi_bvalid_i.value == 1:
            self._answers.pop(0)
        if self._read is None:
            if dut.m_axi_arvalid_o.value == 1:
                address, length = int(dut.m_axi_araddr_o.value), int(dut.m_axi_arlen_o.value) + 1
                assert address >> 12 == (address + 8 * length - 1) >> 12, "a burst crosses a page"
                self.touched.append((address, False))
                self._read = (address, length, random.randint(0, self.slow))
        else:
            address, beats, wait = self._read
            if wait:
                self._read = (address, beats, wait - 1)
            elif dut.m_axi_rready_o.value == 1:
                self._read = (address + 8, beats - 1, 0) if beats > 1 else None
        if self._write is None:
            if dut.m_axi_awvalid_o.value == 1:
                self._write = (int(dut.m_axi_awaddr_o.value), int(dut.m_axi_awlen_o.value) + 1)
                self.touched.append((self._write[0], True))
        elif dut.m_axi_wvalid_o.value == 1 and dut.m_axi_wready_i.value == 1:
            address, beats = self._write
            data, strobes = int(dut.m_axi_wdata_o.value), int(dut.m_axi_wstrb_o.value)
            good = address + 8 <= MEMORY
            for lane in range(8):
                if good and strobes >> lane & 1:
                    self.memory[address + lane] = data >> 8 * lane & 0xFF
            assert (beats == 1) == (dut.m_axi_wlast_o.value == 1)
            self._write = (address + 8, beats - 1) if beats > 1 else None
            if beats == 1:
                self._answers.append((self.cycle + 1 + random.randint(0, self.slow), 0 if good else 3))

    def _wire(self):
        dut = self.dut
        if dut.gmii_tx_en_o.value == 1:
            assert dut.gmii_tx_er_o.value == 0
            self._line.append(int(dut.gmii_txd_o.value))
        elif self._line:
            line = bytes(self._line)
            assert line[:8] == bytes([0x55] * 7 + [0xD5])
            self.frames.append((self.cycle - len(line) + 8, line[8:]))
            self._line = []

    async def step(self, cycles=1):
        for _ in range(cycles):
            self._memory_side()
            await Timer(1, "ns")  # what the card says to this
            self._memory_edge()
            self.taken = [
                self.dut.s_axil_awready_o.value == 1 and self.dut.s_axil_awvalid_i.value == 1,
                self.dut.s_axil_arready_o.value == 1 and self.dut.s_axil_arvalid_i.value == 1,
            ]
            self._wire()
            await FallingEdge(self.dut.clk_i)
            self.interrupts |= int(self.dut.interrupt_o.value)
            self.cycle += 1

    async def write(self, name, value, offset=0):
        dut = self.dut
        dut.s_axil_awaddr_i.value = REGISTERS[name] + offset
        dut.s_axil_wdata_i.value = value
        dut.s_axil_awvalid_i.value = dut.s_axil_wvalid_i.value = dut.s_axil_bready_i.value = 1
        for _ in range(20000):
            await self.step()
            if self.taken[0]:
                dut.s_axil_awvalid_i.value = dut.s_axil_wvalid_i.value = 0
            if dut.s_axil_bvalid_o.value == 1:
                assert dut.s_axil_bresp_o.value == 0
                await self.step()
                return
        raise AssertionError(f"{name} does not answer")

    async def read(self, name, offset=0):
        dut = self.dut
        dut.s_axil_araddr_i.value = REGISTERS[name] + offset
        dut.s_axil_arvalid_i.value = dut.s_axil_rready_i.value = 1
        for _ in range(20000):
            await self.step()
            if self.taken[1]:
                dut.s_axil_arvalid_i.value = 0
            if dut.s_axil_rvalid_o.value == 1:
                value = int(dut.s_axil_rdata_o.value)
                await self.step()
                return value
        raise AssertionError(f"{name} does not answer")


class Queue:
    """The driver's side of a transmit queue."""

    def __init__(self, host, pair, base, first=0):
        self.host, self.virtqueue = host, 2 * pair + 1
        self.descriptors, self.driver, self.device = base, base + 0x400 + 2, base + 0x800 + 4
        self.buffers = base + 0x1000
        self.next, self.seen, self.free = first, first, 0
        self.put(self.driver, first << 16, 4)
        self.put(self.device, first << 16, 4)

    def put(self, address, value, size):
        self.host.memory[address : address + size] = value.to_bytes(size, "little")

    def get(self, address, size):
        return int.from_bytes(self.host.memory[address : address + size], "little")

    async def start(self):
        host = self.host
        await host.write("select", self.virtqueue)
        for name, value in (("descriptors", self.descriptors), ("driver", self.driver), ("device", self.device)):
            await host.write(name, value)
            await host.write(name, 0, 4)
        await host.write("size", SIZE)
        await host.write("index", self.next | self.next << 16)
        await host.write("command", 1)

    def descriptor(self, index, address, length, flags=0, following=0):
        place = self.descriptors + 16 * index
        self.put(place, address, 8)
        self.put(place + 8, length, 4)
        self.put(place + 12, flags, 2)
        self.put(place + 14, following, 2)

    def offer(self, head):
        self.put(self.driver + 4 + 2 * (self.next % SIZE), head, 2)
        self.next = (self.next + 1) % 65536
        self.put(self.driver + 2, self.next, 2)

    def room(self):
        return (self.next - self.seen) % 65536 < 4

    def send(self, frame):
        """One frame in a chain of one to four buffers, in four descriptors of its own."""
        first = 4 * (self.next % 4)
        whole = bytes(12) + frame
        cuts = sorted(random.sample(range(1, len(whole)), random.randint(0, 3)))
        pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
        address = self.buffers + 0x1000 * (self.next % 4) + random.randrange(16)
        for number, piece in enumerate(pieces):
            is_last = number + 1 == len(pieces)
            self.host.memory[address : address + len(piece)] = piece
            link = (0, 0) if is_last else (NEXT, first + number + 1)
            self.descriptor(first + number, address, len(piece), *link)
            address += len(piece) + random.randrange(20)
        self.offer(first)
        return first

    def given_back(self):
        """The heads that the card has given back since."""
        heads = []
        while self.seen != self.get(self.device + 2, 2):
            place = self.device + 4 + 8 * (self.seen % SIZE)
            assert self.get(place + 4, 4) == 0
            heads.append(self.get(place, 4))
            self.seen = (self.seen + 1) % 65536
        return heads


def on_the_wire(frame):
    frame = frame.ljust(60, b"\0")
    return frame + zlib.crc32(frame).to_bytes(4, "little")


async def host_of(dut):
    host = Host(dut)
    await host.reset()
    await host.write("window_first", 0)
    await host.write("window_last", MEMORY // 4096 - 1)
    return host


async def until_quiet(host, limit=30000):
    for _ in range(limit // 50):
        await host.step(50)
        if host.dut.idle_o.value == 1 and not host._line:
            return
    raise AssertionError("the card does not come to rest")


@cocotb.test()
async def frames_of_all_queues_arrive_whole_and_in_order(dut):
    host = await host_of(dut)
    queues = [Queue(host, k, 0x10000 * (k + 1), first=random.choice((0, 65530))) for k in range(4)]
    for queue in queues:
        await queue.start()
    sent = {queue: [] for queue in queues}
    heads = {queue: [] for queue in queues}
    back = {queue: [] for queue in queues}
    for _ in range(60):
        queue = random.choice(queues)
        while not queue.room():
            await host.step(20)
            back[queue] += queue.given_back()
        size = random.choice((14, 59, 60, 61, random.randint(14, 200), random.randint(14, 1518)))
        frame = bytes([queue.virtqueue]) + random.randbytes(size - 1)
        heads[queue].append(queue.send(frame))
        sent[queue].append(on_the_wire(frame))
        await host.write("notify", queue.virtqueue)
        await host.step(random.choice((0, 0, 5, 300)))
    await until_quiet(host)
    for queue in queues:
        back[queue] += queue.given_back()
        assert back[queue] == heads[queue]
        arrived = [data for _, data in host.frames if data[0] == queue.virtqueue]
        assert arrived == sent[queue]
        assert host.interrupts >> queue.virtqueue & 1 or not sent[queue]
    assert len(host.frames) == 60


@cocotb.test()
async def frames_follow_each_other_without_a_gap_too_many(dut):
    host = await host_of(dut)
    host.slow = 0
    queues = [Queue(host, k, 0x10000 * (k + 1)) for k in range(2)]
    for queue in queues:
        await queue.start()
        for _ in range(4):
            queue.descriptor(queue.next, queue.buffers + 0x1000 * queue.next, 12 + 60)
            queue.offer(queue.next)
    for queue in queues:
        await host.write("notify", queue.virtqueue)
    await until_quiet(host)
    starts = [start for start, _ in host.frames]
    assert len(starts) == 8
    gaps = [b - a for a, b in pairwise(starts)]
    assert gaps[1:] == [64 + 20] * 6, gaps


@cocotb.test()
async def a_bad_descriptor_stops_its_queue_alone(dut):
    host = await host_of(dut)
    good = Queue(host, 1, 0x20000)
    await good.start()
    base = 0x10000
    outside = MEMORY + 0x1000

    def loop(queue):
        queue.descriptor(0, queue.buffers, 8, NEXT, 1)
        queue.descriptor(1, queue.buffers, 8, NEXT, 0)
        queue.offer(0)

    def single(*what):
        def make(queue):
            queue.descriptor(0, *what)
            queue.offer(0)

        return make

    def jump(queue):
        queue.put(queue.driver + 2, (queue.next + SIZE + 1) % 65536, 2)

    cases = [
        (2, jump),
        (3, lambda queue: queue.offer(SIZE)),
        (3, single(base, 20, NEXT, SIZE)),
        (4, loop),
        (5, single(base, 0)),
        (6, single(base, 65537)),
        (7, single(base, 100, WRITE)),
        (7, single(base, 100, INDIRECT)),
        (8, single(outside, 100)),
        (8, single(MEMORY - 64, 100)),
        (8, single(1 << 60, 100)),
    ]
    for error, make in cases:
        bad = Queue(host, 0, base, first=random.randrange(65536))
        await bad.start()
        host.interrupts = 0
        make(bad)
        await host.write("notify", bad.virtqueue)
        frame = random.randbytes(random.randint(14, 300))
        good.send(frame)
        await host.write("notify", good.virtqueue)
        await until_quiet(host)
        await host.write("select", bad.virtqueue)
        state = await host.read("state")
        assert state >> 20 & 0xF == error, (error, hex(state))
        assert not state >> 16 & 1
        assert await host.read("errors") == 1 << bad.virtqueue
        assert host.interrupts >> bad.virtqueue & 1
        assert bad.given_back() == []
        assert host.frames.pop()[1] == on_the_wire(frame)
        assert not host.frames
        good.given_back()
    assert all(address < MEMORY for address, _ in host.touched)


@cocotb.test()
async def a_closed_gate_holds_its_queue_and_no_other(dut):
    host = await host_of(dut)
    queues = [Queue(host, k, 0x10000 * (k + 1)) for k in range(2)]
    await host.write("gate_enable", 1)
    await host.write("gate_states", 0b10)
    for queue in queues:
        await queue.start()
        queue.send(bytes([queue.virtqueue]) + random.randbytes(100))
        await host.write("notify", queue.virtqueue)
    await host.step(1000)
    assert [data[0] for _, data in host.frames] == [3]
    await host.write("gate_states", 0b01)
    await until_quiet(host)
    assert [data[0] for _, data in host.frames] == [3, 1]


@cocotb.test()
async def a_stopped_queue_goes_on_where_it_stood(dut):
    host = await host_of(dut)
    queue = Queue(host, 0, 0x10000)
    await queue.start()
    for _ in range(3):
        queue.send(random.randbytes(64))
    await host.write("notify", queue.virtqueue)
    await until_quiet(host)
    assert len(queue.given_back()) == 3
    await host.write("command", 0)
    queue.send(random.randbytes(64))
    await host.write("notify", queue.virtqueue)
    before = len(host.touched)
    await host.step(500)
    assert len(host.touched) == before
    assert await host.read("state") & 0x1FFFF == 3
    queue_index = queue.next
    await host.write("index", 3 | 3 << 16)
    await host.write("command", 1)
    await until_quiet(host)
    assert len(queue.given_back()) == 1 and queue.seen == queue_index
    assert len(host.frames) == 4


@pytest.mark.parametrize("pairs", [4, pytest.param(8, marks=pytest.mark.slow)])
def test_pen_nic(pairs):
    run_module("pen_nic", __name__, {"PAIRS": pairs}, extra_sources=card_sources())
