# SPDX-License-Identifier: Apache-2.0
"""Every word of every port, from where it comes; 64-bit values read as one."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from runner import run_module

OVERRUNS, CREDIT, HIGHEST, LOWEST = 0x20, 0x40, 0x60, 0x80
WHICH = {OVERRUNS: 3, CREDIT: 0, HIGHEST: 1, LOWEST: 2}


class Bench:
    def __init__(self, dut):
        self.dut, self.ports = dut, dut.PORTS.value.to_unsigned()
        self.asked, self.answers = [], {}

    async def start(self):
        dut = self.dut
        for name in (
            "request",
            "write",
            "addr",
            "overruns_ack",
            "overruns_data",
            "credit_ack",
            "credit_data",
            "gate_ready",
            "gate_busy",
        ):
            getattr(dut, f"{name}_i").value = 0
        self.gates = {
            "open": [random.getrandbits(8) for _ in range(self.ports)],
            "running": random.getrandbits(self.ports),
            "pending": random.getrandbits(self.ports),
        }
        dut.gate_open_i.value = sum(states << 8 * p for p, states in enumerate(self.gates["open"]))
        dut.gate_running_i.value, dut.gate_pending_i.value = self.gates["running"], self.gates["pending"]
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
        for _ in range(3):
            await FallingEdge(dut.clk_i)
        dut.rst_i.value = 0
        cocotb.start_soon(self.ask_ports())
        cocotb.start_soon(self.ask_lists())

    async def ask_ports(self):
        dut = self.dut
        while True:
            await FallingEdge(dut.clk_i)
            dut.overruns_ack_i.value = dut.overruns_data_i.value = dut.credit_ack_i.value = dut.credit_data_i.value = 0
            overruns, credit = dut.overruns_read_o.value.to_unsigned(), dut.credit_read_o.value.to_unsigned()
            if not overruns and not credit:
                continue
            assert not overruns or not credit
            port = (overruns | credit).bit_length() - 1
            assert overruns | credit == 1 << port
            which = 3 if overruns else int(dut.credit_which_o.value)
            asked = (port, which, int(dut.class_o.value), int(dut.clear_o.value))
            for _ in range(random.randrange(20)):
                await FallingEdge(dut.clk_i)
                assert dut.overruns_read_o.value.to_unsigned() == overruns
                assert dut.credit_read_o.value.to_unsigned() == credit
            self.asked.append(asked)
            value = self.answers[asked[:3]] = random.getrandbits(16 if overruns else 32)
            if overruns:
                dut.overruns_ack_i.value, dut.overruns_data_i.value = 1, value
            else:
                dut.credit_ack_i.value, dut.credit_data_i.value = 1, value

    async def ask_lists(self):
        """What is told of a list changes with each answer."""
        dut = self.dut
        self.lists = {}
        while True:
            await FallingEdge(dut.clk_i)
            dut.gate_ready_i.value = 0
            if dut.gate_read_o.value == 1:
                self.lists = {
                    "change_time_ns": random.getrandbits(64),
                    "base_time_ns": random.getrandbits(64),
                    "cycle_time_ns": random.getrandbits(32),
                    "extension_ns": random.getrandbits(32),
                    "errors": random.getrandbits(16),
                    "error": random.getrandbits(4),
                }
                self.list_port = int(dut.gate_port_o.value)
                for _ in range(random.randrange(5)):
                    await FallingEdge(dut.clk_i)
                dut.gate_value_i.value = (
                    self.lists["change_time_ns"],
                    self.lists["base_time_ns"],
                    self.lists["extension_ns"] << 32 | self.lists["cycle_time_ns"],
                )[int(dut.gate_which_o.value)]
                dut.gate_errors_i.value, dut.gate_error_i.value = self.lists["errors"], self.lists["error"]
                dut.gate_ready_i.value = 1

    async def access(self, port, offset, write=False):
        dut = self.dut
        dut.request_i.value, dut.write_i.value, dut.addr_i.value = 1, int(write), (port << 8 | offset) >> 2
        await FallingEdge(dut.clk_i)
        dut.request_i.value = 0
        for _ in range(60):
            if dut.ack_o.value == 1:
                value = dut.data_o.value.to_unsigned()
                await FallingEdge(dut.clk_i)
                assert dut.ack_o.value == 0
                return value
            await FallingEdge(dut.clk_i)
        raise AssertionError("no answer")


@cocotb.test()
async def every_word(dut):
    bench = Bench(dut)
    await bench.start()
    for _ in range(3):
        for port in range(8):
            if port >= bench.ports:
                assert await bench.access(port, random.choice([0, 8, 0x44])) == 0
                continue
            busy = random.getrandbits(1)
            dut.gate_busy_i.value = busy
            states = bench.gates["open"][port] | (bench.gates["running"] >> port & 1) << 8
            states |= (bench.gates["pending"] >> port & 1) << 9 | busy << 10
            assert await bench.access(port, 0x00) == states
            found = await bench.access(port, 0x04)
            assert found == bench.lists["error"] << 16 | bench.lists["errors"] and bench.list_port == port
            for offset, name in ((0x08, "change_time_ns"), (0x10, "base_time_ns")):
                low = await bench.access(port, offset)
                value = bench.lists[name]
                assert low | await bench.access(port, offset + 4) << 32 == value
            for offset, name in ((0x18, "cycle_time_ns"), (0x1C, "extension_ns")):
                assert await bench.access(port, offset) == bench.lists[name]
            for block, which in WHICH.items():
                k = random.randrange(8)
                value = await bench.access(port, block + 4 * k)
                assert bench.asked[-1] == (port, which, k, 0) and value == bench.answers[port, which, k]
                await bench.access(port, block + 4 * k, write=True)
                assert bench.asked[-1] == (port, which, k, 1)
            asked = len(bench.asked)
            await bench.access(port, 0x08, write=True)  # answered, and nothing else
            assert len(bench.asked) == asked


@pytest.mark.parametrize("ports", [2, 8])
def test_pen_port_status(ports):
    run_module("pen_port_status", __name__, {"PORTS": ports})
