# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from runner import run_module

VLANS = 4096


class Bench:
    """The table as a list; answers are due two cycles after their question. Only bits of ports that exist are kept."""

    def __init__(self, dut):
        self.dut = dut
        ports = (1 << int(dut.PORTS.value)) - 1
        self.kept = 0xFFFF_0000 | ports << 8 | ports  # of members, and of who sends without a tag
        self.entries = [0xFFFF & self.kept if vlan == 1 else 0 for vlan in range(VLANS)]
        self.due = [None, None]

    async def start(self):
        dut = self.dut
        for name in ("read_i", "vlan_id_i", "write_i", "write_index_i", "write_data_i", "init_index_i"):
            getattr(dut, name).value = 0
        dut.init_busy_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
        for index in range(VLANS):
            dut.init_index_i.value = index
            await RisingEdge(dut.clk_i)
        dut.init_busy_i.value = 0

    async def cycle(self, read=None, write=None):
        """One cycle: a question or none, and a write of (VLAN, entry) or none."""
        dut = self.dut
        dut.read_i.value = int(read is not None)
        dut.vlan_id_i.value = random.randrange(VLANS) if read is None else read
        vlan, entry = write or (random.randrange(VLANS), random.getrandbits(32))
        dut.write_i.value = int(write is not None)
        dut.write_index_i.value, dut.write_data_i.value = vlan, entry
        self.due.append(None if read is None else (read, self.entries[read]))
        if write:
            self.entries[vlan] = entry & self.kept
        await FallingEdge(dut.clk_i)
        if answer := self.due.pop(0):
            assert dut.entry_o.value == answer[1], f"VLAN {answer[0]}"
        await RisingEdge(dut.clk_i)


@cocotb.test()
async def only_vlan_1_at_start(dut):
    bench = Bench(dut)
    await bench.start()
    for vlan in [*range(VLANS), None, None]:
        await bench.cycle(vlan)


@cocotb.test()
async def written_and_read(dut):
    """Questions with and without pauses, about few VLANs that are being rewritten, and about all in the end."""
    bench = Bench(dut)
    await bench.start()
    used, rate = [], 0.5
    for cycle in range(3000):
        if cycle % 200 == 0:
            used, rate = random.sample(range(VLANS), random.randint(1, 20)), random.choice((0.1, 0.6, 1.0))
        read = random.choice(used) if random.random() < rate else None
        write = (random.choice(used), random.getrandbits(32)) if random.random() < 0.3 else None
        if write and write[0] == read:  # which of the two comes first is left open
            write = None
        await bench.cycle(read, write)
    for vlan in [*random.sample(range(VLANS), VLANS), None, None]:
        await bench.cycle(vlan)


@pytest.mark.parametrize("ports", [4, 8])
def test_pen_vlan_table(ports):
    run_module("pen_vlan_table", __name__, {"PORTS": ports})
