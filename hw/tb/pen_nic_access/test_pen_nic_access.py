# SPDX-License-Identifier: Apache-2.0
"""Accesses for the registers of several ports: each to its port, one at a time, and an error where no such port is."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from runner import card_sources, run_module

DECODE_ERROR = 3


@cocotb.test()
async def one_access_at_a_time(dut):
    ports = int(dut.PORTS.value)
    dut.rst_i.value = 1
    for name in ("awvalid", "wvalid", "bready", "arvalid", "rready", "wready", "bvalid", "arready", "rvalid"):
        getattr(dut, f"{name}_i").value = 0
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_i.value = 0
    address, data, read = None, False, None  # the port of each that is offered, and whether the data is
    under_way, answer = None, None  # (is a write, port), and (response, data) once the port has it
    done = {(is_write, port): 0 for is_write in (False, True) for port in range(4)}
    for _ in range(6_000):
        address = random.randrange(4) if address is None and random.random() < 0.3 else address
        data = data or random.random() < 0.3
        read = random.randrange(4) if read is None and random.random() < 0.3 else read
        dut.awvalid_i.value, dut.awport_i.value = int(address is not None), address or 0
        dut.wvalid_i.value = int(data)
        dut.arvalid_i.value, dut.arport_i.value = int(read is not None), read or 0
        # Of the ports only the one that was asked has an answer.
        if under_way and under_way[1] < ports and answer is None and random.random() < 0.4:
            answer = random.choice((0, 2)), random.getrandbits(32)
        has = 1 << under_way[1] if under_way and answer else 0
        dut.bvalid_i.value, dut.rvalid_i.value = (has, 0) if under_way and under_way[0] else (0, has)
        at = under_way[1] if has else 0
        responses = [random.getrandbits(2) for _ in range(ports)]
        values = [random.getrandbits(32) for _ in range(ports)]
        if has:
            responses[at], values[at] = answer
        dut.bresp_i.value = dut.rresp_i.value = sum(each << 2 * k for k, each in enumerate(responses))
        dut.rdata_i.value = sum(each << 32 * k for k, each in enumerate(values))
        ready = random.getrandbits(ports), random.getrandbits(ports)
        dut.wready_i.value, dut.arready_i.value = ready
        takes = random.getrandbits(1), random.getrandbits(1)
        dut.bready_i.value, dut.rready_i.value = takes
        await ReadOnly()
        writes = under_way is None and address is not None and data
        reads = under_way is None and read is not None and not writes
        assert int(dut.wvalid_o.value) == (1 << address if writes and address < ports else 0)
        assert int(dut.arvalid_o.value) == (1 << read if reads and read < ports else 0)
        wrote = writes and (address >= ports or bool(ready[0] >> address & 1))
        asked = reads and (read >= ports or bool(ready[1] >> read & 1))
        assert int(dut.wready_o.value) == wrote
        assert int(dut.arready_o.value) == asked
        is_there = under_way is not None and (under_way[1] >= ports or answer is not None)
        assert int(dut.bvalid_o.value) == (is_there and under_way[0])
        assert int(dut.rvalid_o.value) == (is_there and not under_way[0])
        if is_there:
            response, value = answer or (DECODE_ERROR, 0)
            assert int((dut.bresp_o if under_way[0] else dut.rresp_o).value) == response
            assert under_way[0] or int(dut.rdata_o.value) == value
            if takes[not under_way[0]]:
                done[under_way] += 1
                under_way, answer = None, None
        if wrote:
            under_way, address, data = (True, address), None, False
        elif asked:
            under_way, read = (False, read), None
        await FallingEdge(dut.clk_i)
    assert min(done.values()) > 20


@pytest.mark.parametrize("ports", [1, 3])
def test_pen_nic_access(ports):
    run_module("pen_nic_access", __name__, {"PORTS": ports}, extra_sources=card_sources())
