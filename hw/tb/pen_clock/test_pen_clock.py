# SPDX-License-Identifier: Apache-2.0
"""Clock, stamps and their registers together: what software reads is one time, and what it commands acts."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from gmii import with_fcs
from runner import run_module

from penstock._engine import PtpClock

SECOND = 10**9
SET, STEP, SLEW, INCREMENT = 1, 2, 3, 4
COMMAND, STATUS, NANOSECONDS, FRACTION, SECONDS_LOW, SECONDS_HIGH, INCREMENT_FRACTION, INCREMENT_NS = range(8)
WAITING, LOST, TAKE, TAG, STAMP_NS, STAMP_FRACTION, STAMP_SECONDS_LOW, STAMP_SECONDS_HIGH, ALL = range(0x20, 0x29)
REQUEST_TO_ACT = 43  # cycles from the request of a command to the one in which it acts


class Bench:
    def __init__(self, dut):
        self.dut = dut
        self.ports = dut.PORTS.value.to_unsigned()
        self.cycle = 0
        self.twin = PtpClock(0, 0)

    async def start(self):
        dut = self.dut
        for signal in dut:
            if signal._name.endswith("_i") and signal._name != "clk_i":
                signal.value = 0
        dut.rst_i.value = dut.awake_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
        for _ in range(3):
            await FallingEdge(dut.clk_i)
        dut.rst_i.value = dut.awake_i.value = 0

    async def tick(self):
        await FallingEdge(self.dut.clk_i)
        self.cycle += 1

    async def send(self, port, body):
        """Gives the cycle of the first byte behind the delimiter."""
        at = self.cycle + 8
        for byte in bytes([0x55] * 7 + [0xD5]) + with_fcs(body):
            self.dut.gmii_tx_en_i.value, self.dut.gmii_txd_i.value = 1 << port, byte << 8 * port
            await self.tick()
        self.dut.gmii_tx_en_i.value = 0
        for _ in range(60):
            await self.tick()
        return at

    async def access(self, addr, data=None):
        """A request; returns the answer and the cycle in which it was made."""
        dut, at = self.dut, self.cycle
        dut.request_i.value, dut.write_i.value, dut.addr_i.value = 1, int(data is not None), addr
        dut.data_i.value = random.getrandbits(16) if data is None else data
        await self.tick()
        dut.request_i.value = 0
        for _ in range(60):
            if dut.ack_o.value == 1:
                answer = dut.data_o.value.to_unsigned()
                await self.tick()
                assert dut.ack_o.value == 0
                return answer, at
            await self.tick()
        raise AssertionError("no answer")

    async def read(self, addr):
        return (await self.access(addr))[0]

    async def command(self, which, data):
        self.dut.command_data_i.value = data
        _, at = await self.access(COMMAND, which)
        assert self.cycle == at + REQUEST_TO_ACT + 2, "the answer follows the act"
        return at + REQUEST_TO_ACT

    def act(self, cycle, which, data):
        """The same in the twin; gives the error."""
        low, high = data & 0xFFFFFFFF, data >> 32
        if which == SET:
            return self.twin.set(cycle, high, low)
        if which == STEP:
            return self.twin.step(cycle, high - (high >> 47 << 48), low)
        if which == SLEW:
            return self.twin.slew(cycle, low, high)
        return self.twin.set_increment(cycle, data) if which == INCREMENT else 5

    async def time(self):
        """Seconds, nanoseconds and fraction as software reads them, and the cycle in which they were."""
        ns, at = await self.access(NANOSECONDS)
        for _ in range(random.choice((0, 0, 50))):
            await self.tick()
        fraction, low, high = [await self.read(addr) for addr in (FRACTION, SECONDS_LOW, SECONDS_HIGH)]
        return (high << 32 | low, ns, fraction), at + 1


@cocotb.test()
async def time_is_read_as_one(dut):
    """Around the end of a second, at every phase."""
    bench = Bench(dut)
    await bench.start()
    assert await bench.read(INCREMENT_NS) == 8 and await bench.read(INCREMENT_FRACTION) == 0
    increment = (8 << 32) + 0x00ABCDEF
    acted = await bench.command(INCREMENT, increment)
    bench.twin.set_increment(acted, increment)
    assert await bench.read(INCREMENT_NS) << 32 | await bench.read(INCREMENT_FRACTION) == increment
    for late in range(0, 100, 3):
        seconds = random.choice((0xFFFFFFFF, random.getrandbits(33)))
        acted = await bench.command(SET, seconds << 32 | SECOND - 1 - late)
        assert bench.twin.set(acted, seconds, SECOND - 1 - late) == 0
        shown, at = await bench.time()
        assert shown == bench.twin.time(at)


@cocotb.test()
async def commands_act_or_say_why_not(dut):
    bench = Bench(dut)
    await bench.start()
    for which, data in (
        (SET, 1 << 32 | SECOND),
        (STEP, (1 << 47) << 32),
        (INCREMENT, 1),
        (SLEW, 5),
        (0, 0),
        (7, 0),
        (SET, 77 << 32 | 123),
        (STEP, ((1 << 48) - 2) << 32 | 999),
    ):
        acted = await bench.command(which, data)
        error = bench.act(acted, which, data)
        assert await bench.read(STATUS) == error
        shown, at = await bench.time()
        assert shown == bench.twin.time(at)
    acted = await bench.command(SLEW, 1 << 24 << 32 | 3)
    bench.twin.slew(acted, 3, 1 << 24)
    assert await bench.read(STATUS) == 1 << 8
    for _ in range(3 * 256):
        await bench.tick()
    assert await bench.read(STATUS) == 0
    shown, at = await bench.time()
    assert shown == bench.twin.time(at)


@cocotb.test()
async def stamps_are_taken(dut):
    """A Sync from each port and an edge of the input: found in the registers, in order, with the twin's time."""
    bench = Bench(dut)
    await bench.start()
    acted = await bench.command(SET, 0x1_2345_6789 << 32 | SECOND - 300)
    bench.twin.set(acted, 0x1_2345_6789, SECOND - 300)
    expected = []
    dut.capture_i.value = 1
    expected.append((16, 0, 0, bench.cycle))
    for port in range(bench.ports):
        sequence_id = random.getrandbits(16)
        header = bytes([0]) + bytes(29) + sequence_id.to_bytes(2, "big") + bytes(20)
        at = await bench.send(port, bytes(12) + b"\x88\xf7" + header)
        expected.append((8 + port, 0, sequence_id, at))
    assert await bench.read(WAITING) == 1 << 16 | ((1 << bench.ports) - 1) << 8
    assert await bench.read(LOST) == 0
    for source, message_type, sequence_id, at in expected:
        await bench.access(TAKE, source)
        assert await bench.read(TAG) == 1 << 31 | message_type << 16 | sequence_id
        fraction, low, high = [await bench.read(a) for a in (STAMP_FRACTION, STAMP_SECONDS_LOW, STAMP_SECONDS_HIGH)]
        assert (high << 32 | low, await bench.read(STAMP_NS), fraction) == bench.twin.time(at)
    assert await bench.read(WAITING) == 0
    await bench.send(0, bytes(12) + b"\x88\xb5" + bytes(46))
    assert await bench.read(WAITING) == 0
    ports = (1 << bench.ports) - 1
    await bench.access(ALL, 0xFFFF)
    assert await bench.read(ALL) == ports << 8 | ports
    await bench.access(ALL, 0x0100)
    assert await bench.read(ALL) == 0x0100
    at = await bench.send(0, bytes(12) + b"\x88\xb5" + bytes(30) + b"\x12\x34" + bytes(14))
    await bench.send(1, bytes(12) + b"\x88\xb5" + bytes(46))
    assert await bench.read(WAITING) == 0x0100
    await bench.access(TAKE, 8)
    assert await bench.read(TAG) == 1 << 31 | 1 << 20 | 0x1234
    assert await bench.read(STAMP_NS) == bench.twin.time(at)[1]
    for source in (0, 7, 8 + bench.ports % 8, 16, 31):
        await bench.access(TAKE, source)
        assert await bench.read(TAG) >> 31 == 0


@cocotb.test()
async def says_where_stamps_were_lost(dut):
    bench = Bench(dut)
    await bench.start()
    for _ in range(17):
        for level in (1, 0):
            dut.capture_i.value = level
            for _ in range(40):
                await bench.tick()
    assert await bench.read(LOST) == 1 << 16
    assert await bench.read(LOST) == 0


@pytest.mark.parametrize("ports", [pytest.param(3, marks=pytest.mark.slow), 4, pytest.param(8, marks=pytest.mark.slow)])
def test_pen_clock(ports):
    run_module("pen_clock", __name__, {"PORTS": ports})
