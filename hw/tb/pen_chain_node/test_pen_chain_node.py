# SPDX-License-Identifier: Apache-2.0
"""Words reach all units of a chain in one cycle, and an answer takes as long from each of them."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from runner import HERE, run_module
from structs import pack, unpack, width

NONE, STAGE, WRITE, READ, ANSWER = range(5)


class Bench:
    def __init__(self, dut):
        self.dut, self.nodes, self.cycle = dut, dut.NODES.value.to_unsigned(), 0
        self.seen = []  # (cycle, node, access) of what units are given
        self.back = []  # (cycle, word) of what comes back

    async def start(self):
        dut = self.dut
        dut.rst_i.value = 1
        dut.chain_i.value = dut.answer_i.value = dut.answer_data_i.value = 0
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
        for _ in range(3):
            await FallingEdge(dut.clk_i)
        dut.rst_i.value = 0

    async def step(self, kind=NONE, address=0, data=0, answer=None, answer_data=0):
        """One cycle, in which a word is issued or a unit answers."""
        dut, size = self.dut, width("config_access")
        dut.chain_i.value = pack("config_word", kind=kind, address=address, data=data)
        dut.answer_i.value = 0 if answer is None else 1 << answer
        dut.answer_data_i.value = 0 if answer is None else answer_data << 32 * answer
        await FallingEdge(dut.clk_i)
        self.cycle += 1
        word = dut.access_o.value.to_unsigned()
        for node in range(self.nodes):
            access = unpack("config_access", word >> size * node & (1 << size) - 1)
            if access["stage"] or access["write"] or access["read"]:
                self.seen.append((self.cycle, node, access))
        back = unpack("config_word", dut.chain_o.value.to_unsigned())
        if back["kind"] != NONE:
            self.back.append((self.cycle, back))


@cocotb.test()
async def words_act_in_all_units_at_once(dut):
    bench = Bench(dut)
    await bench.start()
    for _ in range(60):
        kind, address, data = random.choice((WRITE, READ)), 4 * random.getrandbits(14), random.getrandbits(32)
        staged = [(4 * random.getrandbits(14), random.getrandbits(32)) for _ in range(random.randrange(4))]
        bench.seen, bench.back = [], []
        first = bench.cycle + 1
        for word in staged:
            await bench.step(STAGE, *word)
        issued = bench.cycle + 1
        await bench.step(kind, address, data)
        for _ in range(2 * bench.nodes):
            await bench.step()
        access = {"stage": 0, "write": int(kind == WRITE), "read": int(kind == READ), "address": address, "data": data}
        acted = [(cycle, node, found) for cycle, node, found in bench.seen if not found["stage"]]
        assert acted == [(issued + bench.nodes - 1, node, access) for node in range(bench.nodes)]
        for number, (address_, data_) in enumerate(staged):
            given = {"stage": 1, "write": 0, "read": 0, "address": address_, "data": data_}
            for node in range(bench.nodes):
                assert (first + number + node, node, given) in bench.seen
        assert len(bench.seen) == bench.nodes * (1 + len(staged))
        assert bench.back[-1] == (issued + bench.nodes - 1, {"kind": kind, "address": address, "data": data})
        # Until it is answered the word stands where the unit has it; the answer takes as long from each.
        node, answer = random.randrange(bench.nodes), random.getrandbits(32)
        for _ in range(random.randrange(10)):
            await bench.step()
            found = unpack("config_access", dut.access_o.value.to_unsigned() >> width("config_access") * node)
            assert (found["address"], found["data"] & 0xFFFFFFFF) == (address, data)
        bench.back = []
        asked = bench.cycle + 1
        await bench.step(answer=node, answer_data=answer)
        for _ in range(bench.nodes + 3):
            await bench.step()
        (came,) = bench.back
        assert came[0] == asked + bench.nodes - 1
        assert (came[1]["kind"], came[1]["data"]) == (ANSWER, answer)


@cocotb.test()
async def a_reset_takes_words_away(dut):
    bench = Bench(dut)
    await bench.start()
    await bench.step(WRITE, 4, 4)
    dut.rst_i.value = 1
    for _ in range(2 * bench.nodes):
        await bench.step()
    dut.rst_i.value = 0
    bench.seen = []
    for _ in range(2 * bench.nodes):
        await bench.step()
    assert not bench.seen


@pytest.mark.parametrize("nodes", [1, 5])
def test_pen_chain_node(nodes):
    own = HERE / "pen_chain_node" / "pen_chain_node_tb.sv"
    run_module("pen_chain_node_tb", __name__, {"NODES": nodes}, extra_sources=[own])
