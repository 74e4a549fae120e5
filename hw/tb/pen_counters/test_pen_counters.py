# SPDX-License-Identifier: Apache-2.0
import random
from collections import Counter

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from runner import run_module

STORE_FULL, QUEUE_FULL, CLASS_FULL = 12, 13, 14
REFUSED = {STORE_FULL: 0xD8, QUEUE_FULL: 0xE0, CLASS_FULL: 0xE8, 16: 0xF8}


def pack(*fields):
    """(value, width) pairs, the most significant first, as in a packed struct."""
    word = 0
    for value, width in fields:
        assert 0 <= value < 1 << width
        word = word << width | value
    return word


def verdict(reason, short_gap, port, refused, traffic_class, length):
    """verdict_t; `refused` maps egress port to reason."""
    reasons = sum(why << 5 * egress for egress, why in refused.items())
    mask = sum(1 << egress for egress in refused)
    return pack(
        (1, 1), (reason, 5), (short_gap, 1), (port, 3), (0, 8), (mask, 8), (reasons, 40), (traffic_class, 3),
        (random.getrandbits(12), 12), (length, 11), (random.getrandbits(28), 28), (0, 1), (0, 12), (0, 1),
    )  # fmt: skip


def event(sent, expired, traffic_class, reason=15):
    """egress_event_t."""
    return pack((sent, 1), (expired, 1), (reason, 5), (traffic_class, 3), (random.getrandbits(12), 12))


EVENT_W = 22


async def start(dut):
    dut.rst_i.value = dut.init_busy_i.value = 1
    dut.verdict_i.value = dut.egress_event_i.value = dut.sent_length_i.value = dut.request_i.value = 0
    dut.init_index_i.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_i.value = 0
    for index in range(4096):
        dut.init_index_i.value = index
        await FallingEdge(dut.clk_i)
    dut.init_busy_i.value = 0


async def read(dut, port, offset):
    dut.request_i.value, dut.addr_i.value = 1, (port << 8 | offset) >> 2
    await FallingEdge(dut.clk_i)
    dut.request_i.value = 0
    for _ in range(200):
        if dut.ack_o.value == 1:
            value = dut.data_o.value.to_unsigned()
            await FallingEdge(dut.clk_i)
            return value
        await FallingEdge(dut.clk_i)
    raise AssertionError("no answer")


async def read_pair(dut, port, offset):
    return await read(dut, port, offset) | await read(dut, port, offset + 4) << dut.HALF_W.value.to_unsigned()


async def read_all(dut, ports):
    found = Counter()
    for port in range(ports):
        for offset in range(0, 0x80, 4):
            found[port, offset] = await read(dut, port, offset)
        for offset in range(0x80, 0x100, 8):
            found[port, offset] = await read_pair(dut, port, offset)
    return found


@cocotb.test()
async def every_event_is_counted_once(dut):
    """Full load: each port receives and sends as fast as it can, with what must be dropped in between."""
    ports = dut.PORTS.value.to_unsigned()
    await start(dut)
    expected = Counter()
    receives, sends = [0] * ports, [0] * ports  # first cycle in which the port may have its next frame
    pause = 52  # shortest distance of two frames that can be accepted
    for cycle in range(8000):
        word = 0
        port = cycle % ports
        if cycle >= receives[port] and random.random() < 0.9:
            reason = random.choice((0, 0, 0, *range(1, 16)))
            length, traffic_class = random.randint(64, 2000), random.randrange(8)
            short_gap = random.getrandbits(1)
            refused = {}
            if reason == 0:
                others = random.sample(range(ports), random.randrange(ports))
                refused = {egress: random.choice(list(REFUSED)) for egress in others}
                expected[port, 0x40 + 4 * traffic_class] += 1
                expected[port, 0xC0] += length
                receives[port] = cycle + pause
            else:
                expected[port, 4 * reason] += 1
            expected[port, 0xD0] += short_gap
            for egress, why in refused.items():
                expected[egress, REFUSED[why]] += 1
            word = verdict(reason, short_gap, port, refused, traffic_class, length)
        dut.verdict_i.value = word
        events = lengths = 0
        for port in range(ports):
            sent, expired = cycle >= sends[port] and random.random() < 0.5, random.random() < 0.2
            length, traffic_class = random.randint(64, 2000), random.randrange(8)
            if sent:
                expected[port, 0x80 + 8 * traffic_class] += 1
                expected[port, 0xC8] += length
                sends[port] = cycle + 84
                expired = False
            reason = random.choice((15, 15, 16))
            if expired:
                expected[port, 0xF0 if reason == 15 else 0xF8] += 1
            events |= event(int(sent), int(expired), traffic_class, reason) << EVENT_W * port
            lengths |= length << 11 * port
        dut.egress_event_i.value = events
        await FallingEdge(dut.clk_i)
        dut.sent_length_i.value = lengths  # of the cycle before
    dut.verdict_i.value = dut.egress_event_i.value = 0
    for _ in range(9 * ports + 10):
        await FallingEdge(dut.clk_i)
    found = await read_all(dut, ports)
    assert +found == +expected
    for port in range(ports, 8):
        assert await read(dut, port, 0x40) == 0


@cocotb.test()
async def reading_under_load_never_goes_back(dut):
    """Counters are read while they move; a 64-bit counter is read as one."""
    await start(dut)
    last = 0
    sent = 0
    for number in range(60):
        for _ in range(84):
            dut.egress_event_i.value = event(1, 0, 3) if _ == 0 else 0
            dut.sent_length_i.value = 2000 if _ == 1 else random.getrandbits(11)
            dut.verdict_i.value = verdict(5, 0, 0, {}, 0, 64) if _ % 2 == 0 else 0
            await FallingEdge(dut.clk_i)
        sent += 2000
        dut.egress_event_i.value = dut.verdict_i.value = 0
        value = await read_pair(dut, 0, 0xC8)
        assert last <= value <= sent, number
        last = value
    for _ in range(80):
        await FallingEdge(dut.clk_i)
    assert await read_pair(dut, 0, 0xC8) == sent


@pytest.mark.parametrize(
    ("ports", "half"), [(2, 32), (2, 13), (3, 32), (4, 14), pytest.param(4, 32, marks=pytest.mark.slow), (8, 32)]
)
def test_pen_counters(ports, half):
    """With halves of few bits they carry often."""
    run_module("pen_counters", __name__, {"PORTS": ports, "HALF_W": half})
