# SPDX-License-Identifier: Apache-2.0
import random
from collections import Counter

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from gmii import (
    FCS,
    GIANT,
    IDLE,
    NONE,
    PREAMBLE,
    REASONS,
    RUNT,
    RX_ER,
    carrier,
    fields_of_beat,
    random_carrier,
    random_frame,
    receive,
)
from runner import run_module

LATENCY = 2  # cycles from the last byte at the pins to the last beat


async def start(dut, max_frame_bytes=1522):
    dut.rst_i.value = 1
    dut.gmii_rx_dv_i.value = 0
    dut.max_frame_bytes_i.value = max_frame_bytes
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start())
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_i.value = 0
    for _ in range(14):
        await FallingEdge(dut.clk_i)


async def play(dut, samples):
    """Drives the samples; returns (cycle, last, short_gap, reason, data) of every beat."""
    beats = []
    for cycle, (dv, er, data) in enumerate(samples + [IDLE] * 20):
        if dut.valid_o.value == 1:
            beats.append((cycle, *fields_of_beat(dut.beat_o.value.to_unsigned())))
        dut.gmii_rx_dv_i.value, dut.gmii_rx_er_i.value, dut.gmii_rxd_i.value = dv, er, data
        await FallingEdge(dut.clk_i)
    return beats


def check(samples, beats, max_frame_bytes):
    """Compares the beats with the reference receiver; returns how often each reason came."""
    expected = receive(samples, max_frame_bytes)
    assert sum(beat[1] for beat in beats) == len(expected), "not one last beat for each carrier"
    seen, rest = Counter(), iter(beats)
    for frame in expected:
        data = bytearray()
        for cycle, last, short_gap, reason, byte in rest:  # noqa: B007
            data.append(byte)
            if last:
                break
            assert (short_gap, reason) == (0, 0)
        assert cycle == frame.end + LATENCY
        assert REASONS[reason] == REASONS[frame.reason]
        assert short_gap == frame.short_gap
        if frame.data:
            assert data == frame.data
        else:
            assert len(data) == 1  # nothing was received, so the beat's byte has no meaning
        seen[reason] += 1
    assert next(rest, None) is None
    return seen


async def expect(dut, samples, reasons, max_frame_bytes=1522):
    seen = check(samples, await play(dut, samples), max_frame_bytes)
    assert seen == Counter(reasons), [REASONS[reason] for reason in seen]


@cocotb.test()
async def each_reason(dut):
    await start(dut)
    good = random_frame(100)
    bad = good[:-1] + bytes([good[-1] ^ 0x80])
    await expect(dut, carrier(good), [NONE])
    await expect(dut, [IDLE] * 12 + [(1, 0, 0x55)] * 30, [PREAMBLE])
    await expect(dut, carrier(good, errors={50}), [RX_ER])
    await expect(dut, carrier(random_frame(1523)), [GIANT])
    await expect(dut, carrier(random_frame(1522)), [NONE])
    await expect(dut, carrier(random_frame(63)), [RUNT])
    await expect(dut, carrier(random_frame(64)), [NONE])
    await expect(dut, carrier(b""), [RUNT])
    await expect(dut, carrier(bad), [FCS])


@cocotb.test()
async def precedence(dut):
    await start(dut)
    giant = bytes(1600)
    await expect(dut, carrier(giant, errors={3}), [RX_ER])
    await expect(dut, carrier(giant, errors={1522}), [RX_ER])  # the byte that makes it a giant
    await expect(dut, carrier(giant, errors={1523}), [GIANT])  # behind the cut
    await expect(dut, carrier(bytes(20), errors={19}), [RX_ER])
    await expect(dut, carrier(bytes(20)), [RUNT])


@cocotb.test()
async def delimiter(dut):
    await start(dut)
    for preamble in (0, 1, 6, 8, 100):
        await expect(dut, carrier(random_frame(64), preamble=preamble), [NONE])
    # Any content is passed over, and a delimiter with rx_er is none.
    samples = [IDLE] * 12 + [(1, 1, 0xD5), (1, 0, 0x12)] + carrier(random_frame(64), gap=0)
    await expect(dut, samples, [NONE])


@cocotb.test()
async def gaps(dut):
    await start(dut)
    for gap in (1, 2, 11):
        beats = await play(dut, samples := carrier(random_frame(64)) + carrier(random_frame(64), gap=gap))
        check(samples, beats, 1522)
        assert [beat[2] for beat in beats if beat[1]] == [0, 1]
    for gap in (12, 13, 500):
        beats = await play(dut, samples := carrier(random_frame(64)) + carrier(random_frame(64), gap=gap))
        check(samples, beats, 1522)
        assert [beat[2] for beat in beats if beat[1]] == [0, 0]


@cocotb.test()
async def carrier_at_end_of_reset_is_ignored(dut):
    await start(dut)
    frame = carrier(random_frame(64))
    for release in (1, 5, 20, 21, 40, 83, 84):
        dut.rst_i.value = 1
        for cycle, (dv, er, data) in enumerate(frame + [IDLE] * 12):
            assert dut.valid_o.value == 0 or cycle < 2
            if cycle == 12 + release - 1:
                dut.rst_i.value = 0
            dut.gmii_rx_dv_i.value, dut.gmii_rx_er_i.value, dut.gmii_rxd_i.value = dv, er, data
            await FallingEdge(dut.clk_i)
        await expect(dut, carrier(random_frame(70)), [NONE])


@cocotb.test()
async def random_carriers(dut):
    max_frame_bytes = random.choice((64, 256, 300))
    await start(dut, max_frame_bytes)
    seen = Counter()
    for _ in range(6):
        samples = [s for _ in range(60) for s in random_carrier(max_frame_bytes)]
        seen += check([IDLE] * 12 + samples, await play(dut, [IDLE] * 12 + samples), max_frame_bytes)
    cocotb.log.info("%s", {REASONS[reason]: count for reason, count in seen.items()})
    assert set(seen) == {NONE, PREAMBLE, RX_ER, GIANT, RUNT, FCS}, "the random mixture left a reason out"


@cocotb.test()
async def limit_is_read_at_the_delimiter(dut):
    await start(dut, 100)
    samples = carrier(random_frame(100))
    beats = []
    for cycle, (dv, er, data) in enumerate(samples + [IDLE] * 20):
        if dut.valid_o.value == 1:
            beats.append((cycle, *fields_of_beat(dut.beat_o.value.to_unsigned())))
        dut.max_frame_bytes_i.value = 100 if cycle < 30 else 64
        dut.gmii_rx_dv_i.value, dut.gmii_rx_er_i.value, dut.gmii_rxd_i.value = dv, er, data
        await FallingEdge(dut.clk_i)
    assert check(samples, beats, 100) == Counter([NONE])
    await expect(dut, samples, [GIANT], 64)


def test_pen_mac_rx():
    run_module("pen_mac_rx", __name__)
