# SPDX-License-Identifier: Apache-2.0
"""Registers of time slots against their twin in the engine: the same list, or the same reason against it."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from runner import card_sources, run_module
from structs import pack

from penstock import _engine

US, NS, CYCLE, GUARD, COUNT, COMMIT, ERROR, ORDER = 0x500, 0x540, 0x580, 0x584, 0x588, 0x58C, 0x590, 0x600
FRAME_NS = (1522 + 20) * 8
LEAST_INTERVAL_NS = 64
REASONS = {
    "which is not there": 3,
    "which has no time": 4,
    "no slot in the order": 5,
    "more than the cycle": 6,
    "a cycle of": 7,
    "less than the longest frame": 8,
}
ADMIN_BITS = {"port": 3, "entries": 16, "extension_ns": 32, "cycle_time_ns": 32, "base_ns": 30, "base_seconds": 48}


class Bench:
    def __init__(self, dut):
        self.dut = dut
        self.queues = dut.QUEUES.value.to_unsigned()
        self.entries = dut.ENTRIES.value.to_unsigned()
        self.list, self.commits = {}, []

    async def start(self):
        dut = self.dut
        dut.access_i.value = dut.entry_ready_i.value = dut.commit_ready_i.value = 0
        dut.max_frame_bytes_i.value = 1522
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
        for _ in range(3):
            await FallingEdge(dut.clk_i)
        dut.rst_i.value = 0
        for _ in range(40):
            await FallingEdge(dut.clk_i)

    async def access(self, address, **kind):
        """Until it is answered; what the unit gives to the gates meanwhile is kept."""
        dut = self.dut
        dut.access_i.value = pack("config_access", address=address, **kind)
        for _ in range(3000):
            await FallingEdge(dut.clk_i)
            dut.access_i.value = pack("config_access", address=address, data=kind.get("data", 0))
            if dut.answer_o.value == 1:
                value = int(dut.answer_data_o.value)
                await FallingEdge(dut.clk_i)
                return value
            if dut.entry_valid_o.value == 1 and random.random() < 0.5:
                index, entry = int(dut.entry_index_o.value), int(dut.entry_o.value)
                dut.entry_ready_i.value = 1
                assert index not in self.list
                self.list[index] = (entry >> 32, entry & 0xFFFFFFFF)
                await FallingEdge(dut.clk_i)
                dut.entry_ready_i.value = 0
            if dut.commit_o.value == 1 and random.random() < 0.3:
                vector, admin = int(dut.admin_o.value), {}
                for name, bits in ADMIN_BITS.items():
                    admin[name], vector = vector & (1 << bits) - 1, vector >> bits
                self.commits.append(admin)
                dut.commit_ready_i.value = 1
                await FallingEdge(dut.clk_i)
                dut.commit_ready_i.value = 0
                assert dut.answer_o.value == 1
                await FallingEdge(dut.clk_i)
                return 0
        raise AssertionError(f"{address:#x} is not answered")

    async def write(self, address, data):
        await self.access(address, write=1, data=data)

    async def read(self, address):
        return await self.access(address, read=1)

    async def commit(self, slot_ns, order, cycle_ns, guard_ns):
        for queue, value in enumerate(slot_ns):
            await self.write(NS + 4 * queue, value)
        for word in range(0, min(len(order), 128), 4):
            await self.write(ORDER + word, sum(queue << 8 * i for i, queue in enumerate(order[word : word + 4])))
        for address, value in ((CYCLE, cycle_ns), (GUARD, guard_ns), (COUNT, len(order))):
            await self.write(address, value)
        self.list, self.commits = {}, []
        await self.write(COMMIT, 0)
        return await self.read(ERROR)

    def expected(self, slot_ns, order, cycle_ns, guard_ns):
        """The code, and the list of the twin if it is good for gates."""
        if len(order) > 128:
            return 2, None
        try:
            twin = _engine.slots(slot_ns, order, cycle_ns, guard_ns)
        except _engine.InputError as error:
            return next(code for text, code in REASONS.items() if text in str(error)), None
        free_ns = cycle_ns - sum(slot_ns[queue] for queue in order)
        slots = [slot_ns[queue] for queue in order]
        if free_ns and len(set(order)) < self.queues:
            slots.append(free_ns)
        if order and min(slots) < FRAME_NS + guard_ns:
            return 8, None
        if len(twin) > self.entries or any(interval < LEAST_INTERVAL_NS for _, interval in twin):
            return 9, None
        return 0, twin


def drawn(queues):
    """Slots of which some are good."""
    count = random.choice((0, 1, 2, 3, 5, random.randint(0, 24), 128, 129))
    guard_ns = random.choice((0, 0, 64, 63, random.randint(1, 5000)))
    used = random.sample(range(queues), random.randint(1, queues))
    slot_ns = [0] * queues
    for queue in used:
        slot_ns[queue] = (
            FRAME_NS + guard_ns + random.choice((0, 1, random.randrange(10**6), random.randrange(2**32 - 10**5)))
        )
    order = [random.choice(used) for _ in range(count)]
    for queue in used:
        if queue not in order and random.random() < 0.9:
            slot_ns[queue] = 0
    whole = sum(slot_ns[queue] for queue in order)
    free = random.choice((0, 0, 63, FRAME_NS + guard_ns, FRAME_NS + guard_ns - 1, random.randrange(10**6)))
    cycle_ns = min(whole + free, 2**32 - 1)
    if not order:
        guard_ns = cycle_ns = 0
    fault = random.random()
    if fault < 0.05:
        cycle_ns = random.choice((0, max(whole - 1, 0) % 2**32))
    elif fault < 0.1 and order:
        order[random.randrange(len(order))] = random.choice((queues, 255, random.randrange(queues)))
    elif fault < 0.15:
        slot_ns[random.randrange(queues)] -= 1 if min(slot_ns) else 0
    elif fault < 0.2:
        slot_ns[random.randrange(queues)] = random.randrange(2**32)
    elif fault < 0.25:
        guard_ns = random.randrange(2**32)
    return slot_ns, order, cycle_ns, guard_ns


@cocotb.test()
async def slots_become_the_list_of_the_twin(dut):
    bench = Bench(dut)
    await bench.start()
    met, enabled = set(), False
    for _ in range(400):
        case = drawn(bench.queues)
        code, twin = bench.expected(*case)
        assert await bench.commit(*case) == code, case
        met.add(code)
        if code == 0:
            assert [bench.list[i] for i in range(len(bench.list))] == twin, case
            enabled = bool(twin)
            wanted = {"cycle_time_ns": case[2], "entries": len(twin)}
            assert bench.commits == [dict.fromkeys(ADMIN_BITS, 0) | wanted] * enabled
        else:
            assert not bench.list and not bench.commits, "what is wrong changes nothing"
        assert dut.enable_o.value == enabled
    assert met >= {0, 2, 3, 5, 6, 7, 8, 9}, met


@cocotb.test()
async def what_is_written_is_read(dut):
    bench = Bench(dut)
    await bench.start()
    for address in (NS, ORDER, CYCLE, GUARD, COUNT, ERROR):
        assert await bench.read(address) == 0
    for queue in range(bench.queues):
        micros = random.choice((0, 1, 999, 4_294_967, 4_294_968, random.randrange(2**32)))
        await bench.write(US + 4 * queue, micros)
        ns = min(1000 * micros, 2**32 - 1)
        assert await bench.read(NS + 4 * queue) == ns
        assert await bench.read(US + 4 * queue) == ns // 1000
    for queue in range(bench.queues):
        ns = random.choice((999, 1000, 2**32 - 1, random.randrange(2**32)))
        await bench.write(NS + 4 * queue, ns)
        assert (await bench.read(US + 4 * queue), await bench.read(NS + 4 * queue)) == (ns // 1000, ns)
    await bench.write(NS + 4 * 15, 5)
    assert await bench.read(NS + 4 * 15) == 0, "of a queue that is not there"
    words = [random.getrandbits(32) for _ in range(32)]
    for number, word in enumerate(words):
        await bench.write(ORDER + 4 * number, word)
    assert [await bench.read(ORDER + 4 * number) for number in range(32)] == words
    await bench.write(COMMIT, 1)
    assert await bench.read(ERROR) == 1


@pytest.mark.parametrize(("queues", "entries"), [(4, 16), (8, 128)])
def test_pen_slots(queues, entries):
    parameters = {"QUEUES": queues, "ENTRIES": entries, "SLOTS_AT": US, "ORDER_AT": ORDER}
    run_module("pen_slots", __name__, parameters, extra_sources=card_sources())
