# SPDX-License-Identifier: Apache-2.0
"""Masters that write one memory: each burst stands behind its address, and its answer goes to who wrote it."""

import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from runner import card_sources, run_module

ADDRESS_W = 48
OPEN = 8  # bursts of a master that wait for their answer


class Master:
    def __init__(self):
        self.burst = None  # (address, words): offered, or its words are on their way
        self.is_taken, self.sent, self.open, self.others, self.done = False, 0, 0, 0, 0

    def start(self):
        self.burst = random.getrandbits(ADDRESS_W), [random.getrandbits(64) for _ in range(random.choice((1, 2, 9)))]
        self.is_taken, self.sent, self.others = False, 0, 0

    @property
    def asks(self):
        return self.burst is not None and not self.is_taken


@cocotb.test()
async def bursts_are_whole_and_answered(dut):
    count = int(dut.MASTERS.value)
    masters = [Master() for _ in range(count)]
    writing = None  # whose words go to the memory
    answers = deque()  # masters of whole bursts, in the order of the memory
    stands = None
    dut.rst_i.value = 1
    for name in ("awaddr", "awlen", "awvalid", "wdata", "wstrb", "wlast", "wvalid"):
        getattr(dut, f"{name}_i").value = 0
    dut.m_axi_awready_i.value = dut.m_axi_wready_i.value = dut.m_axi_bvalid_i.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_i.value = 0
    asking, slow, late = 0.5, 0.5, 0.5
    for cycle in range(6_000):
        if cycle % 500 == 0:
            asking, slow, late = (random.choice((0, 0.1, 0.5, 0.9)) for _ in range(3))
            asking = asking or 1
        for master in masters:
            if master.burst is None and master.open < OPEN and random.random() < asking:
                master.start()
        # Words may be there before their address is taken.
        valid = [master.burst is not None and random.random() >= slow for master in masters]
        dut.awvalid_i.value = sum(master.asks << k for k, master in enumerate(masters))
        dut.awaddr_i.value = sum(master.burst[0] << ADDRESS_W * k for k, master in enumerate(masters) if master.burst)
        dut.awlen_i.value = sum(len(master.burst[1]) - 1 << 8 * k for k, master in enumerate(masters) if master.burst)
        dut.wvalid_i.value = sum(v << k for k, v in enumerate(valid))
        words = [master.burst[1][master.sent] if master.burst else random.getrandbits(64) for master in masters]
        dut.wdata_i.value = sum(word << 64 * k for k, word in enumerate(words))
        dut.wstrb_i.value = sum((word & 0xFF) << 8 * k for k, word in enumerate(words))
        lasts = [master.burst is not None and master.sent == len(master.burst[1]) - 1 for master in masters]
        dut.wlast_i.value = sum(last << k for k, last in enumerate(lasts))
        dut.m_axi_awready_i.value = takes = int(random.random() >= slow)
        dut.m_axi_wready_i.value = stores = int(random.random() >= slow)
        answered = answers.popleft() if answers and random.random() >= late else None
        dut.m_axi_bvalid_i.value = int(answered is not None)
        await ReadOnly()
        assert int(dut.m_axi_bready_o.value) == 1
        assert int(dut.bvalid_o.value) == (0 if answered is None else 1 << answered)
        if answered is not None:
            masters[answered].open -= 1
            masters[answered].done += 1
        # Words: of the burst whose address was taken last, and of no other.
        stored = int(dut.m_axi_wvalid_o.value) and stores
        if count > 1 or masters[0].is_taken:
            assert int(dut.m_axi_wvalid_o.value) == (writing is not None and valid[writing])
            assert int(dut.wready_o.value) == (0 if writing is None or not stores else 1 << writing)
        before = writing
        if stored and before is not None:
            owner = masters[before]
            assert int(dut.m_axi_wdata_o.value) == words[before]
            assert int(dut.m_axi_wstrb_o.value) == words[before] & 0xFF
            assert int(dut.m_axi_wlast_o.value) == lasts[before]
            owner.sent += 1
            if owner.sent == len(owner.burst[1]):
                owner.burst, writing = None, None
                answers.append(before)
        # Addresses
        offered = int(dut.m_axi_awvalid_o.value)
        there = (int(dut.m_axi_awaddr_o.value), int(dut.m_axi_awlen_o.value)) if offered else None
        assert stands in (None, there), "what is offered stays until it is taken"
        stands = there if offered and not takes else None
        if before is None:
            assert offered == any(master.asks for master in masters)
        grants = [k for k, m in enumerate(masters) if m.asks and int(dut.awready_o.value) >> k & 1]
        assert len(grants) == (offered and takes)
        for k in grants:
            assert before is None, "a burst's words are still on their way"
            master = masters[k]
            assert there == (master.burst[0], len(master.burst[1]) - 1)
            assert master.others < count, "others were before it, and each of them once"
            for other in masters:
                other.others += 1
            master.is_taken, writing = True, k
            master.open += 1
        await FallingEdge(dut.clk_i)
    assert min(master.done for master in masters) > 20


@pytest.mark.parametrize("masters", [2, 3])
def test_pen_axi_write(masters):
    run_module("pen_axi_write", __name__, {"MASTERS": masters, "OPEN": OPEN}, extra_sources=card_sources())
