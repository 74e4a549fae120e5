# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest
from runner import card_sources, run_module

pytestmark = pytest.mark.long(154)


@pytest.mark.parametrize("pairs", [4, pytest.param(8, marks=pytest.mark.slow)])
def test_pen_nic(pairs: int) -> None:
    folder = str(Path(__file__).parent)
    modules = "cocotb_transmit,cocotb_receive,cocotb_launch,cocotb_ats"
    run_module("pen_nic", modules, {"PAIRS": pairs}, extra_sources=card_sources(), env={"PYTHONPATH": folder})
