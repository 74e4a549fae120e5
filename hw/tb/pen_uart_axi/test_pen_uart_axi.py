# SPDX-License-Identifier: Apache-2.0
"""Random requests over the serial line, good and damaged, against a memory with an AXI4-Lite bus that stalls."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge, Timer, with_timeout
from runner import run_module

BIT_CYCLES = 8
IDLE_CYCLES = 400
CYCLE_NS = 8
DONE, REFUSED, CHECK = b"K", b"E", b"C"


def crc8(data: bytes) -> int:
    """CRC-8 by long division: polynomial x^8 + x^2 + x + 1."""
    value = int.from_bytes(data, "big") << 8
    while value.bit_length() > 8:
        value ^= 0x107 << value.bit_length() - 9
    return value


def request(address: int, data: int | None = None) -> bytes:
    body = (b"R" if data is None else b"W") + address.to_bytes(2, "little")
    body += b"" if data is None else data.to_bytes(4, "little")
    return body + bytes([crc8(body)])


def answer(status: bytes, data: int = 0) -> bytes:
    body = status + data.to_bytes(4, "little")
    return body + bytes([crc8(body)])


class Bench:
    """The bridge between a serial line and a bus; the client's bits are up to 2 % longer or shorter than ours."""

    def __init__(self, dut):
        self.dut = dut
        self.bit_ps = round(BIT_CYCLES * CYCLE_NS * 1000 * random.uniform(0.98, 1.02))
        self.memory, self.refused, self.accesses = {}, set(), 0
        self.received = bytearray()
        dut.serial_i.value = 1
        for name in ("awready", "wready", "bvalid", "bresp", "arready", "rvalid", "rresp", "rdata"):
            getattr(dut, f"m_axil_{name}_i").value = 0
        dut.rst_i.value = 1

    async def start(self):
        cocotb.start_soon(Clock(self.dut.clk_i, CYCLE_NS, unit="ns").start(start_high=False))
        await ClockCycles(self.dut.clk_i, 4)
        self.dut.rst_i.value = 0
        cocotb.start_soon(self.serve_writes())
        cocotb.start_soon(self.serve_reads())
        cocotb.start_soon(self.listen())

    async def taken(self, channel):
        """The address or data of the next transfer of a channel, taken after a while."""
        valid, ready = getattr(self.dut, f"m_axil_{channel}valid_o"), getattr(self.dut, f"m_axil_{channel}ready_i")
        payload = getattr(self.dut, f"m_axil_{channel}{'data' if channel == 'w' else 'addr'}_o")
        early = random.random() < 0.5  # ready before valid
        while True:
            await FallingEdge(self.dut.clk_i)
            ready.value = int(early or (int(valid.value) and random.random() < 0.3))
            await RisingEdge(self.dut.clk_i)
            if int(valid.value) and int(ready.value):
                value = int(payload.value)
                await FallingEdge(self.dut.clk_i)
                ready.value = 0
                return value

    async def give(self, channel, address, data=None):
        """Answers on a channel after a while."""
        valid, ready = getattr(self.dut, f"m_axil_{channel}valid_i"), getattr(self.dut, f"m_axil_{channel}ready_o")
        await ClockCycles(self.dut.clk_i, random.choice((1, 1, 2, 30)))
        await FallingEdge(self.dut.clk_i)
        getattr(self.dut, f"m_axil_{channel}resp_i").value = random.choice((2, 3)) if address in self.refused else 0
        if data is not None:
            self.dut.m_axil_rdata_i.value = data
        valid.value = 1
        while True:
            await RisingEdge(self.dut.clk_i)
            if int(ready.value):
                break
        await FallingEdge(self.dut.clk_i)
        valid.value = 0
        self.accesses += 1

    async def serve_writes(self):
        while True:
            first, second = cocotb.start_soon(self.taken("aw")), cocotb.start_soon(self.taken("w"))
            address, data = await first, await second
            assert int(self.dut.m_axil_wstrb_o.value) == 0xF
            if address not in self.refused:
                self.memory[address] = data
            await self.give("b", address)

    async def serve_reads(self):
        while True:
            address = await self.taken("ar")
            await self.give("r", address, self.memory.get(address, 0xDEADBEEF))

    async def send(self, data, stop=1):
        for byte in data:
            for bit in (0, *(byte >> i & 1 for i in range(8)), stop):
                self.dut.serial_i.value = bit
                await Timer(self.bit_ps, unit="ps")
            self.dut.serial_i.value = 1

    async def listen(self):
        while True:
            await FallingEdge(self.dut.serial_o)
            await Timer(BIT_CYCLES * CYCLE_NS * 3 // 2, unit="ns")
            value = 0
            for i in range(8):
                value |= int(self.dut.serial_o.value) << i
                await Timer(BIT_CYCLES * CYCLE_NS, unit="ns")
            assert int(self.dut.serial_o.value) == 1, "no stop bit"
            self.received.append(value)

    async def answered(self, expected):
        async def enough():
            while len(self.received) < len(expected):
                await ClockCycles(self.dut.clk_i, 4)

        await with_timeout(enough(), 40, "us")
        assert bytes(self.received) == expected, f"{bytes(self.received).hex()}, expected {expected.hex()}"
        self.received.clear()

    async def silence(self):
        """As long as a client waits that got no answer; nothing may come."""
        await ClockCycles(self.dut.clk_i, IDLE_CYCLES + 20)
        assert not self.received, self.received.hex()


@cocotb.test()
async def reads_and_writes(dut):
    """Requests back to back or after a pause are done once each and answered in order."""
    bench = Bench(dut)
    await bench.start()
    bench.refused = {0x0BAD, 0xFFFC}
    expected, asked = {}, 0
    for _ in range(120):
        address = random.choice((0x0000, 0x0BAD, 0xFFFC, 0x1234, 0x3412, 0x00FF))
        data = random.choice((None, 0, 0xFFFFFFFF, 0x01020304, random.getrandbits(32)))
        if random.random() < 0.2:  # what does not begin a request is passed over
            await bench.send(bytes(random.choices([b for b in range(256) if b not in b"RW"], k=3)))
        await bench.send(request(address, data))
        asked += 1
        if address in bench.refused:
            await bench.answered(answer(REFUSED))
        elif data is None:
            await bench.answered(answer(DONE, expected.get(address, 0xDEADBEEF)))
        else:
            expected[address] = data
            await bench.answered(answer(DONE))
        if random.random() < 0.3:
            await Timer(random.randrange(2000), unit="ns")
    assert bench.memory == expected and bench.accesses == asked


@cocotb.test()
async def damage_has_no_effect(dut):
    """A request with a wrong bit is refused or not answered, and is never done; the next one is understood."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(60):
        good = request(random.getrandbits(16), random.choice((None, random.getrandbits(32))))
        kind = random.choice(("bit", "short", "stop"))
        if kind == "bit":  # in all but the command, whose damage can turn it into another
            place, bit = random.randrange(1, len(good)), random.randrange(8)
            await bench.send(good[:place] + bytes([good[place] ^ 1 << bit]) + good[place + 1 :])
            await bench.answered(answer(CHECK))
        elif kind == "short":
            await bench.send(good[: random.randrange(1, len(good))])
            await bench.silence()
        else:
            place = random.randrange(len(good))
            await bench.send(good[:place])
            await bench.send(good[place : place + 1], stop=0)
            await bench.silence()
        assert bench.accesses == 0 and not bench.memory
    await bench.send(request(0x0040, 0x12345678))
    await bench.answered(answer(DONE))
    assert bench.memory == {0x0040: 0x12345678}


def test_pen_uart_axi() -> None:
    run_module("pen_uart_axi", __name__, {"BIT_CYCLES": BIT_CYCLES, "IDLE_CYCLES": IDLE_CYCLES})
