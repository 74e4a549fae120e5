# SPDX-License-Identifier: Apache-2.0
"""Messages of PTP and others, byte by byte: what goes on of the correction of those that have one."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from ingress_model import begun, random_message
from runner import run_module
from structs import unpack

BEHIND = 16  # of the message: what is not read


@cocotb.test()
async def corrections_are_begun(dut):
    dut.clear_i.value = 1
    for name in ("valid_i", "type_valid_i", "last_two_i", "arrival_i"):
        getattr(dut, name).value = 0
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start())
    await FallingEdge(dut.clk_i)
    met = {True: 0, False: 0}
    for _ in range(400):
        dut.clear_i.value = 1
        await FallingEdge(dut.clk_i)
        dut.clear_i.value = 0
        head = random.randbytes(random.choice((12, 16)))
        message, field = random_message(random)
        if random.random() < 0.1:  # of another EtherType
            message, field = bytes([message[0] ^ 1 << random.randrange(8)]) + message[1:], None
        arrival = dut.arrival_i.value = random.getrandbits(30)
        frame = head + message + random.randbytes(30)
        for at in range(1, len(frame)):
            dut.valid_i.value = 0
            while random.random() < 0.1:
                dut.type_valid_i.value = random.getrandbits(1)
                dut.last_two_i.value = random.choice((0x88F7, random.getrandbits(16)))
                await FallingEdge(dut.clk_i)
            dut.valid_i.value = 1
            dut.type_valid_i.value = int(at == len(head) + 1)
            dut.last_two_i.value = int.from_bytes(frame[at - 1 : at + 1], "big")
            await FallingEdge(dut.clk_i)
            found = unpack("correction", int(dut.correction_o.value))
            is_due = field is not None and at >= len(head) + BEHIND - 1
            assert found["is_due"] == is_due, at
            if is_due:
                assert found == begun(field, arrival)
        dut.valid_i.value = 0
        met[field is not None] += 1
    assert min(met.values()) > 50, met


def test_pen_correction_begin():
    run_module("pen_correction_begin", __name__)
