# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
from cocotb.triggers import Timer
from runner import run_module


@cocotb.test()
async def highest_class_first(dut):
    """Every set of classes that may send, told apart by each of the reasons, with the transmitter free and busy."""
    cases = [(enable, may_send) for enable in (0, 1) for may_send in range(256)]
    random.shuffle(cases)
    for enable, may_send in cases:
        # What may not send lacks one of the three, or more.
        ready, fits, credit = (may_send | random.getrandbits(8) for _ in range(3))
        extra = ready & fits & credit & ~may_send
        credit &= ~extra
        dut.enable_i.value, dut.ready_i.value, dut.fits_i.value, dut.credit_i.value = enable, ready, fits, credit
        await Timer(1, "ns")
        assert dut.grant_o.value == int(bool(enable and may_send)), (enable, ready, fits, credit)
        if enable and may_send:
            assert dut.class_o.value == may_send.bit_length() - 1, (ready, fits, credit)


def test_pen_selection():
    run_module("pen_selection", __name__)
