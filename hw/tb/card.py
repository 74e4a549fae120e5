# SPDX-License-Identifier: Apache-2.0
"""The host of a network card in tests: memory behind AXI, a driver's virtqueues, registers, the wire."""

import random
from collections import deque

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from gmii import IDLE, carrier, with_fcs

NEXT, WRITE, INDIRECT = 1, 2, 4
SIZE = 16
MEMORY = 1 << 20
REGISTERS = {
    "id": 0x000, "notify": 0x030, "interrupts": 0x034, "errors": 0x038, "select": 0x040, "descriptors": 0x044,
    "driver": 0x04C, "device": 0x054, "size": 0x05C, "index": 0x060, "command": 0x064, "state": 0x068,
    "window_first": 0x070, "window_last": 0x080, "gate_states": 0x420, "gate_enable": 0x440, "table_data": 0x200,
    "table_index": 0x210, "table_commit": 0x214, "filter": 0x480, "steering": 0x484, "queue_of_pcp": 0x488,
    "slots_us": 0x500, "slots_ns": 0x540, "slot_cycle": 0x580,
    "slot_guard": 0x584, "slot_count": 0x588, "slot_commit": 0x58C, "slot_error": 0x590, "slot_order": 0x600,
    "address_low": 0x48C, "address_high": 0x490, "counters": 0x1000,
    "schedulers": 0x01C, "ats_queues": 0x690, "ats_overhead": 0x694,
    "launch_enable": 0x680, "launch_drop": 0x684, "launch_horizon": 0x688,
    "ptp": 0x300, "stamp_take": 0x388, "stamp_tag": 0x38C, "stamp_ns": 0x390, "stamp_all": 0x3A0,
}  # fmt: skip
# Of the counters, from their base on.
NO_BUFFER, NOT_SENT, FILTERED, FULL, BAD, RECEIVED, SENT, RECEIVED_OCTETS, SENT_OCTETS, LATE, DROPPED, BEYOND = (
    0x00, 0x04, 0x0C, 0x10, 0x20, 0x40, 0x80, 0x100, 0x180, 0x200, 0x280, 0x300,
)  # fmt: skip
RESIDENCE = 0x380


class Host:
    """Memory behind an AXI bus with random delays, registers, and what comes from the wire."""

    def __init__(self, dut):
        self.dut = dut
        self.memory = bytearray(MEMORY)
        self.touched = []  # (address, is_write) of every burst
        self.frames = []  # (cycle of the first byte after the delimiter, bytes)
        self.interrupts = 0
        self.response = 0  # to what was read last
        self.cycle = 0
        self.slow = 3  # cycles that the bus waits, at most
        self.settling = 0  # and until a write is answered, at least
        self._read = self._write = None
        self._answers = []
        self._line = []
        self._carrier = 0
        self.incoming = deque()  # samples of the wire to the card

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
        dut.gmii_rx_dv_i.value = dut.gmii_rx_er_i.value = dut.gmii_rxd_i.value = 0
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start())
        cocotb.start_soon(Clock(dut.gmii_rx_clk_i, 8, "ns").start())
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
                wait = self.settling + random.randint(0, self.slow)
                self._answers.append((self.cycle + 1 + wait, 0 if good else 3))

    def _wire(self):
        dut = self.dut
        if self.incoming or self._carrier:
            self._carrier, error, data = self.incoming.popleft() if self.incoming else IDLE
            dut.gmii_rx_dv_i.value, dut.gmii_rx_er_i.value, dut.gmii_rxd_i.value = self._carrier, error, data
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

    def arrive(self, frame, **kind):
        """A frame with its FCS comes by the wire, behind all that have been said before; see `gmii.carrier`."""
        self.incoming.extend(carrier(frame, **kind))

    async def count(self, which, pair=0):
        """A counter of 32 bits, or of 64 by queue."""
        if which < SENT:
            return await self.read("counters", which + 4 * pair)
        low = await self.read("counters", which + 8 * pair)
        return low | await self.read("counters", which + 8 * pair + 4) << 32

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
                self.response = int(dut.s_axil_rresp_o.value)
                value = int(dut.s_axil_rdata_o.value)
                await self.step()
                return value
        raise AssertionError(f"{name} does not answer")


class Queue:
    """The driver's side of a transmit queue."""

    def __init__(self, host, pair, base, first=0, size=SIZE):
        self.host, self.virtqueue, self.size = host, 2 * pair + 1, size
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
        await host.write("size", self.size)
        await host.write("index", self.next | self.next << 16)
        await host.write("command", 1)

    def descriptor(self, index, address, length, flags=0, following=0):
        place = self.descriptors + 16 * index
        self.put(place, address, 8)
        self.put(place + 8, length, 4)
        self.put(place + 12, flags, 2)
        self.put(place + 14, following, 2)

    def offer(self, head):
        self.put(self.driver + 4 + 2 * (self.next % self.size), head, 2)
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
            place = self.device + 4 + 8 * (self.seen % self.size)
            assert self.get(place + 4, 4) == 0
            heads.append(self.get(place, 4))
            self.seen = (self.seen + 1) % 65536
        return heads


class ReceiveQueue(Queue):
    """The driver's side of a receive queue: chains of any shape, and the frames that come in them."""

    def __init__(self, host, pair, base, first=0, size=32):
        super().__init__(host, pair, base, first, size)
        self.virtqueue = 2 * pair
        self.free_descriptors = list(range(size))
        self.chains = {}  # head: [(address, length)]
        self.at = 0  # in the space for buffers
        self.reused = False  # something of a frame that found no room may stand in buffers

    def provide(self, *lengths):
        """One chain of buffers of these lengths; nothing if there are too few descriptors."""
        if len(lengths) > len(self.free_descriptors):
            return False
        numbers = [self.free_descriptors.pop(random.randrange(len(self.free_descriptors))) for _ in lengths]
        chain = []
        for place, (number, length) in enumerate(zip(numbers, lengths, strict=True)):
            if self.at + length + 8 > 0x10000:
                self.at = 0
            address = self.buffers + self.at + random.randrange(8)
            self.at += length + 8
            self.host.memory[address : address + length] = b"\xaa" * length
            link = (WRITE, 0) if place + 1 == len(numbers) else (WRITE | NEXT, numbers[place + 1])
            self.descriptor(number, address, length, *link)
            chain.append((number, address, length))
        self.chains[numbers[0]] = chain
        self.offer(numbers[0])
        return True

    def _take_chain(self):
        place = self.device + 4 + 8 * (self.seen % self.size)
        head, written = self.get(place, 4), self.get(place + 4, 4)
        self.seen = (self.seen + 1) % 65536
        data = b""
        for number, address, length in self.chains.pop(head):
            data += bytes(self.host.memory[address : address + length])
            self.free_descriptors.append(number)
        assert self.reused or data[written:] == b"\xaa" * len(data[written:]), "more was written than is told"
        return data[:written]

    def frames(self):
        """What has come since, without headers."""
        found = []
        while self.seen != self.get(self.device + 2, 2):
            data = self._take_chain()
            assert data[:10] == bytes(10)
            for _ in range(1, int.from_bytes(data[10:12], "little")):
                assert self.seen != self.get(self.device + 2, 2), "the driver sees a part of a frame"
                data += self._take_chain()
            found.append(data[12:])
        return found


def on_the_wire(frame):
    return with_fcs(frame.ljust(60, b"\0"))


async def host_of(dut):
    host = Host(dut)
    await host.reset()
    await host.write("window_first", 0)
    await host.write("window_last", MEMORY // 4096 - 1)
    return host


async def until_quiet(host, limit=30000):
    quiet = 0
    for _ in range(limit // 50):
        await host.step(50)
        is_quiet = host.dut.idle_o.value == 1 and not host._line and not host.incoming
        quiet = quiet + 1 if is_quiet else 0  # the last byte of the wire takes some cycles to be seen
        if quiet == 2:
            return
    raise AssertionError("the card does not come to rest")
