# SPDX-License-Identifier: Apache-2.0
"""The bytes of a correctionField with the time that the message was inside."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from ingress_model import begun
from runner import run_module

CHANGES = 6  # bytes of the field that may change
WRAP = 1 << 30


@cocotb.test()
async def the_time_inside_is_added(dut):
    late = dut.LATE.value.to_unsigned()
    for name in ("taken_i", "position_i", "cycles_i", "is_carried_i", "late_cycle_i", "place_i", "data_i"):
        getattr(dut, name).value = 0
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start())
    await FallingEdge(dut.clk_i)
    for _ in range(300):
        field = random.choice((0, 0xFF, 0x7FFE, 0xFFFF, random.getrandbits(16))) << 48
        field |= random.choice((0, (1 << 48) - 1, random.getrandbits(48)))
        # The first byte behind the delimiter at the pins of both ports, the first of which is noted three cycles late.
        came, inside = random.getrandbits(30), random.choice((1, 99, random.getrandbits(27), (1 << 29) - 1))
        leaves = came + inside
        correction = begun(field, (came + 3) % WRAP)
        at = random.randrange(22, 33)
        left = bytearray()
        for position in range(at + CHANGES):
            dut.taken_i.value = 1
            dut.position_i.value = position
            # The first byte is taken in the cycle before it is at the pins.
            dut.late_cycle_i.value = (leaves - 1 + position - late) % WRAP
            if position >= 2:
                dut.cycles_i.value, dut.is_carried_i.value = correction["cycles"], correction["is_carried"]
            place = position - at
            dut.place_i.value = (place + 1) % 8
            dut.data_i.value = field.to_bytes(8, "big")[place] if place >= 0 else random.getrandbits(8)
            await Timer(1, "ns")
            if place >= 0:
                left.append(int(dut.data_o.value))
            await FallingEdge(dut.clk_i)
        wanted = ((field + (inside << 19)) % (1 << 64)).to_bytes(8, "big")
        assert left == wanted[:CHANGES], (hex(field), inside)
        assert field.to_bytes(8, "big")[CHANGES:] == wanted[CHANGES:]


@pytest.mark.parametrize("late", [1, 4, 8])
def test_pen_correction_end(late):
    run_module("pen_correction_end", __name__, {"LATE": late})
