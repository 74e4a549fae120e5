# SPDX-License-Identifier: Apache-2.0
"""Masters that read one memory: each burst comes whole to who asked for it, and addresses take turns."""

import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from runner import card_sources, run_module

ADDRESS_W = 48
OPEN = 4


@cocotb.test()
async def bursts_come_to_who_asked(dut):
    masters = int(dut.MASTERS.value)
    everyone = range(masters)
    wanted = [None] * masters  # (address, length) that is offered
    others = [0] * masters  # bursts of others that were taken since this one was offered
    memory = deque()  # (master, words left)
    stands, came, taken, most = None, 0, [0] * masters, 0
    dut.rst_i.value = 1
    dut.araddr_i.value = dut.arlen_i.value = dut.arvalid_i.value = dut.rready_i.value = 0
    dut.m_axi_arready_i.value = dut.m_axi_rlast_i.value = dut.m_axi_rvalid_i.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_i.value = 0
    asking, slow, dull = 0.5, 0.5, 0.5
    for cycle in range(6_000):
        if cycle % 500 == 0:
            asking, slow, dull = (random.choice((0, 0.1, 0.5, 0.9)) for _ in range(3))
            asking = asking or 1
        for master in everyone:
            is_open = sum(owner == master for owner, _ in memory) == OPEN
            if wanted[master] is None and not is_open and random.random() < asking:
                wanted[master] = random.getrandbits(ADDRESS_W), random.choice((0, 0, 1, 7, 255))
                others[master] = 0
        dut.arvalid_i.value = sum(1 << master for master in everyone if wanted[master])
        dut.araddr_i.value = sum(wanted[m][0] << ADDRESS_W * m for m in everyone if wanted[m])
        dut.arlen_i.value = sum(wanted[m][1] << 8 * m for m in everyone if wanted[m])
        dut.rready_i.value = ready = sum(1 << master for master in everyone if random.random() >= dull)
        dut.m_axi_arready_i.value = takes = int(random.random() >= slow)
        gives = bool(memory) and random.random() >= slow
        dut.m_axi_rvalid_i.value = int(gives)
        dut.m_axi_rlast_i.value = int(memory[0][1] == 1) if gives else random.getrandbits(1)
        await ReadOnly()
        offered = int(dut.m_axi_arvalid_o.value)
        there = (int(dut.m_axi_araddr_o.value), int(dut.m_axi_arlen_o.value)) if offered else None
        assert offered == any(wanted), "an address is on the bus as soon as anybody has one"
        assert stands in (None, there), "what is offered stays until it is taken"
        stands = there if offered and not takes else None
        grants = [master for master in everyone if int(dut.arready_o.value) >> master & 1 and wanted[master]]
        assert len(grants) == (offered and takes)
        gets = int(dut.rvalid_o.value)
        if gives:
            owner = memory[0][0]
            assert gets == 1 << owner
            assert int(dut.m_axi_rready_o.value) == ready >> owner & 1
            if ready >> owner & 1:
                came += 1
                memory[0][1] -= 1
                if memory[0][1] == 0:
                    memory.popleft()
        else:
            assert gets == 0
        for master in grants:
            assert there == wanted[master]
            assert others[master] < masters, "others were before it, and each of them once"
            for other in everyone:
                others[other] += 1
            memory.append([master, wanted[master][1] + 1])
            most = max(most, sum(owner == master for owner, _ in memory))
            taken[master] += 1
            wanted[master] = None
        await FallingEdge(dut.clk_i)
    assert min(taken) > 5
    assert came > 1_000
    assert most == OPEN


@pytest.mark.parametrize("masters", [1, 3])
def test_pen_axi_read(masters):
    run_module("pen_axi_read", __name__, {"MASTERS": masters, "OPEN": OPEN}, extra_sources=card_sources())
