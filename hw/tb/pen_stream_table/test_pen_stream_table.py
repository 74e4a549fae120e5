# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from ingress_model import stream_slots
from runner import run_module

LATENCY = 4


def a_key(rng):
    """Any that a frame can have: there are three identification functions."""
    return rng.randrange(3) << 107 | rng.getrandbits(107)


def another(rng, key):
    """One that differs in one bit."""
    changed = key ^ 1 << rng.randrange(109)
    return changed if changed >> 107 != 3 else key ^ 1


async def begin(dut):
    """Clears the table."""
    for name in ("valid_i", "key_i", "write_i", "write_table_i", "write_index_i", "write_data_i"):
        getattr(dut, name).value = 0
    dut.rst_i.value = 1
    dut.init_busy_i.value = 1
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
    await clear(dut)
    dut.rst_i.value = 0


async def clear(dut):
    dut.init_busy_i.value = 1
    for index in range(max(4096, 2 * dut.STREAMS.value.to_unsigned())):
        dut.init_index_i.value = index
        await FallingEdge(dut.clk_i)
    dut.init_busy_i.value = 0


@cocotb.test()
async def is_cleared_whole(dut):
    """Entries in slots of all kinds are found until the table is cleared."""
    rng = random.Random(random.getrandbits(32))
    streams = dut.STREAMS.value.to_unsigned()
    await begin(dut)
    keys = [a_key(rng) for _ in range(100)]
    for stream, key in enumerate(keys):
        for way, slot in enumerate(stream_slots(key, streams)):
            dut.write_i.value = 1
            dut.write_table_i.value = way
            dut.write_index_i.value = slot
            dut.write_data_i.value = 1 << 121 | stream % streams << 109 | key
            await FallingEdge(dut.clk_i)
    dut.write_i.value = 0
    assert await lookup(dut, keys[-1])
    await clear(dut)
    for key in keys:
        assert not await lookup(dut, key)


@cocotb.test()
async def a_slot_says_what_is_not_kept(dut):
    """One key stands in each slot: it is found, and what differs from it in one of the bits that are not kept."""
    rng = random.Random(random.getrandbits(32))
    streams = dut.STREAMS.value.to_unsigned()
    await begin(dut)
    key = a_key(rng)
    bits = (2 * streams).bit_length() - 1
    for way in range(2):
        for slot in range(2 * streams):
            await write(dut, way, slot, key)
        found = [bit for bit in range(109) if (key ^ 1 << bit) >> 107 != 3 and await lookup(dut, key ^ 1 << bit)]
        assert len(found) == bits, found
        assert max(found) < 104
        for slot in range(2 * streams):
            await write(dut, way, slot, None)
        assert not await lookup(dut, key ^ 1 << found[0])
        for bit in found:
            await write(dut, way, stream_slots(key, streams)[way], key)
            assert await lookup(dut, key)
            assert not await lookup(dut, key ^ 1 << bit)


async def write(dut, way, slot, key):
    """An entry, or none."""
    dut.write_i.value = 1
    dut.write_table_i.value = way
    dut.write_index_i.value = slot
    dut.write_data_i.value = 0 if key is None else 1 << 121 | key
    await FallingEdge(dut.clk_i)
    dut.write_i.value = 0


async def lookup(dut, key):
    """Whether a key is found."""
    dut.valid_i.value = 1
    dut.key_i.value = key
    await FallingEdge(dut.clk_i)
    dut.valid_i.value = 0
    for _ in range(LATENCY - 1):
        await FallingEdge(dut.clk_i)
    assert dut.valid_o.value == 1
    return bool(dut.hit_o.value)


@cocotb.test()
async def finds_what_was_written(dut):
    """Lookups of present, absent and nearly equal keys in random cycles, while entries come and go."""
    rng = random.Random(random.getrandbits(32))
    streams = dut.STREAMS.value.to_unsigned()
    await begin(dut)

    table = {}  # (table, slot): (key, stream)
    keys = []
    while len(keys) < min(streams, 256):
        keys.append(a_key(rng) if rng.random() < 0.5 or not keys else another(rng, rng.choice(keys)))
    expected = []
    hits = 0
    for _ in range(6000):
        dut.write_i.value = 0
        if rng.random() < 0.2:
            key, way = rng.choice(keys), rng.randrange(2)
            slot = stream_slots(key, streams)[way]
            valid, stream = rng.random() < 0.8, rng.randrange(streams)
            elsewhere = table.get((1 - way, stream_slots(key, streams)[1 - way]))
            if not (valid and elsewhere and elsewhere[0] == key):
                dut.write_i.value = 1
                dut.write_table_i.value = way
                dut.write_index_i.value = slot
                dut.write_data_i.value = valid << 121 | stream << 109 | key
                # A lookup that is one cycle ahead has not read the table yet.
                for when, looked, _ in expected[-1:]:
                    if when == LATENCY - 1 and looked is not None:
                        expected[-1] = (when, looked, "any" if stream_slots(looked, streams)[way] == slot else _)
                table[way, slot] = (key, stream) if valid else None
                fresh = (way, slot)
            else:
                fresh = None
        else:
            fresh = None
        looked = None
        if rng.random() < 0.7:
            looked = rng.choice(keys)
            if rng.random() < 0.2:
                looked = another(rng, looked)
        dut.valid_i.value = int(looked is not None)
        if looked is not None:
            dut.key_i.value = looked
            found = [table.get((w, s)) for w, s in enumerate(stream_slots(looked, streams))]
            found = [entry[1] for entry in found if entry and entry[0] == looked]
            expected.append((LATENCY, looked, found[0] if found else None))
            assert fresh is None or len(found) <= 1
        await FallingEdge(dut.clk_i)
        expected = [(when - 1, key, stream) for when, key, stream in expected]
        due = expected.pop(0) if expected and expected[0][0] == 0 else None
        assert dut.valid_o.value == (due is not None)
        if due and due[2] != "any":
            assert dut.hit_o.value == (due[2] is not None), hex(due[1])
            if due[2] is not None:
                assert dut.stream_o.value == due[2]
                hits += 1
    assert hits > 500


@pytest.mark.parametrize("streams", [16, 256, 4096])
def test_pen_stream_table(streams):
    run_module("pen_stream_table", __name__, {"STREAMS": streams})
