# SPDX-License-Identifier: Apache-2.0
"""The forwarding database against a plain model: learning, moving, ageing, static entries, full sets."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from ingress_model import Fdb, FdbEntry, fdb_set
from runner import run_module

LATENCY = 4  # of a lookup
VISIBLE = 5  # from a learning to the first operation that sees it
PERIOD_MS = 1


class Bench:
    def __init__(self, dut):
        self.dut = dut
        self.rng = random.Random(random.getrandbits(32))
        self.sets = dut.SETS.value.to_unsigned()
        self.model = Fdb(self.sets)
        self.now = 0
        self.time_ns = 0
        self.waiting = []  # (cycle, set, way, entry) still to be written
        self.due = {}  # cycle: ports or None
        self.hits = 0

    async def start(self, period_ms):
        dut = self.dut
        for name in ("time_ns_i", "lookup_i", "learn_i", "port_i", "address_i", "vlan_id_i", "learn_allow_i", "write_i",
                     "write_way_i", "write_index_i", "write_data_i"):  # fmt: skip
            getattr(dut, name).value = 0
        dut.aging_period_ms_i.value = period_ms
        dut.aging_period_is_new_i.value = 1
        dut.learn_allow_i.value = 1
        dut.rst_i.value = 1
        dut.init_busy_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
        await FallingEdge(dut.clk_i)
        await FallingEdge(dut.clk_i)
        dut.rst_i.value = 0
        for index in range(self.sets + 4):
            dut.init_index_i.value = index
            await FallingEdge(dut.clk_i)
            dut.aging_period_is_new_i.value = 0
        dut.init_busy_i.value = 0

    async def cycle(self, kind=None, address=0, vlan=0, port=0):
        """One clock with at most one operation."""
        dut = self.dut
        for write in [w for w in self.waiting if w[0] <= self.now]:
            self.waiting.remove(write)
            self.model.write(*write[1:])
        dut.lookup_i.value = int(kind == "lookup")
        dut.learn_i.value = int(kind == "learn")
        dut.address_i.value, dut.vlan_id_i.value, dut.port_i.value = address, vlan, port
        dut.time_ns_i.value = self.time_ns
        if kind == "lookup":
            self.due[self.now + LATENCY] = self.model.lookup(address, vlan)
        if kind == "learn":
            plan = self.model.plan_learn(address, vlan, port)
            if plan:
                self.waiting.append((self.now + VISIBLE, *plan))
        await FallingEdge(dut.clk_i)
        self.now += 1
        self.time_ns += 8
        if self.now in self.due:
            ports = self.due.pop(self.now)
            assert dut.hit_o.value == (ports is not None)
            if ports is not None:
                assert dut.ports_o.value == ports
                self.hits += 1

    async def write(self, way, index, entry):
        dut = self.dut
        dut.write_i.value = 1
        dut.write_way_i.value, dut.write_index_i.value = way, index
        dut.write_data_i.value = entry.pack() if entry else 0
        for _ in range(50):
            await self.cycle()
            if dut.write_ready_o.value == 1:
                break
        else:
            raise AssertionError("a write waits for ever")
        await self.cycle()  # its rising edge takes the write
        dut.write_i.value = 0
        self.waiting.append((self.now, index, way, entry))

    async def compare(self, addresses):
        """Every address, one lookup after the other."""
        for address, vlan in addresses:
            await self.cycle("lookup", address, vlan)
        for _ in range(8):
            await self.cycle()

    async def sweep(self):
        """Jumps to the next sweep and through it."""
        dut = self.dut
        for _ in range(12):
            await self.cycle()
        assert dut.idle_o.value == 1
        wake = int(dut.before_ns_q.value)
        assert self.time_ns <= wake <= self.time_ns + PERIOD_MS * 1_000_000
        self.time_ns = wake
        for _ in range(16 * self.sets + 40):
            await self.cycle()
        assert dut.idle_o.value == 1
        self.model.sweep()


def addresses(rng, count):
    return [(rng.getrandbits(48) & ~(1 << 40), rng.choice((1, 2, 4094))) for _ in range(count)]


@cocotb.test()
async def random_operations(dut):
    """An operation in most cycles, addresses that move between ports, more of them than the table holds."""
    bench = Bench(dut)
    await bench.start(0)
    rng, known = bench.rng, addresses(bench.rng, bench.sets * 4)
    for _ in range(4000):
        kind = rng.choice(("lookup", "lookup", "learn", None))
        address, vlan = rng.choice(known)
        if rng.random() < 0.05:
            vlan ^= 3
        await bench.cycle(kind, address, vlan, rng.randrange(8))
        if rng.random() < 0.02:
            index = fdb_set(address, vlan, bench.sets)
            await bench.write(
                rng.randrange(2), index, rng.choice((None, FdbEntry(address, vlan, rng.getrandbits(8), 3, True)))
            )
    await bench.compare(known)
    assert bench.hits > 100
    assert dut.idle_o.value == 1


@cocotb.test()
async def ages(dut):
    """An entry that is not heard again lasts two periods and goes in the third; static ones and refreshed ones stay."""
    bench = Bench(dut)
    await bench.start(PERIOD_MS)
    rng, known = bench.rng, addresses(bench.rng, bench.sets)
    static = FdbEntry(*known[0], 0xA5, 3, True)
    await bench.write(1, fdb_set(*known[0], bench.sets), static)
    for address, vlan in known:
        await bench.cycle("learn", address, vlan, rng.randrange(8))
    for _ in range(8):
        await bench.cycle()
    await bench.compare(known)
    for _ in range(5):
        await bench.sweep()
        await bench.compare(known)
        for address, vlan in known[: len(known) // 4]:
            await bench.cycle("learn", address, vlan, rng.randrange(8))
        for _ in range(8):
            await bench.cycle()
        await bench.compare(known)
    assert bench.model.lookup(*known[0]) == 0xA5


@cocotb.test()
async def software_waits_while_a_sweep_writes(dut):
    """One cycle in three, for each entry, the last one too."""
    bench = Bench(dut)
    await bench.start(PERIOD_MS)
    for _ in range(12):
        await bench.cycle()
    bench.time_ns = int(dut.before_ns_q.value)
    busy = []
    for _ in range(16 * bench.sets + 40):
        await bench.cycle()
        if dut.write_ready_o.value == 0:
            busy.append(bench.now)
    assert dut.idle_o.value == 1
    assert busy == [busy[0] + 3 * entry for entry in range(2 * bench.sets)]


@cocotb.test()
async def learns_during_a_sweep(dut):
    """What is learnt while the sweep runs is not undone by it."""
    bench = Bench(dut)
    await bench.start(PERIOD_MS)
    rng, known = bench.rng, addresses(bench.rng, bench.sets)
    bench.model = None
    where = {}
    for _ in range(3):
        bench.time_ns = int(dut.before_ns_q.value)
        for _ in range(6 * bench.sets):
            dut.time_ns_i.value = bench.time_ns
            bench.time_ns += 8
            address, vlan = rng.choice(known[: bench.sets // 4])
            learn = rng.random() < 0.4
            dut.learn_i.value = int(learn)
            if learn:
                port = rng.randrange(8)
                dut.address_i.value, dut.vlan_id_i.value, dut.port_i.value = address, vlan, port
                others = [k for k in where if fdb_set(*k, bench.sets) == fdb_set(address, vlan, bench.sets)]
                if len({*others, (address, vlan)}) <= 1:
                    where[address, vlan] = port
            await FallingEdge(dut.clk_i)
    dut.learn_i.value = 0
    for _ in range(10):
        await FallingEdge(dut.clk_i)
    for (address, vlan), port in where.items():
        dut.lookup_i.value = 1
        dut.address_i.value, dut.vlan_id_i.value = address, vlan
        await FallingEdge(dut.clk_i)
        dut.lookup_i.value = 0
        for _ in range(LATENCY - 1):
            await FallingEdge(dut.clk_i)
        assert dut.hit_o.value == 1 and dut.ports_o.value == 1 << port


@pytest.mark.parametrize("sets", [16, 64])
def test_pen_fdb(sets):
    run_module("pen_fdb", __name__, {"SETS": sets})
