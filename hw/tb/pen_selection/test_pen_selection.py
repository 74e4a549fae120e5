# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
from cocotb.triggers import Timer
from runner import run_module


@cocotb.test()
async def highest_class_first(dut):
    """Every set of ready classes, in random order, with the transmitter free and busy."""
    cases = [(enable, ready) for enable in (0, 1) for ready in range(256)]
    random.shuffle(cases)
    for enable, ready in cases:
        dut.enable_i.value, dut.ready_i.value = enable, ready
        await Timer(1, "ns")
        assert dut.grant_o.value == int(bool(enable and ready)), (enable, ready)
        if enable and ready:
            assert dut.class_o.value == ready.bit_length() - 1, ready


def test_pen_selection():
    run_module("pen_selection", __name__)
