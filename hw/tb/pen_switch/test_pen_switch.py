# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest
from runner import run_module

pytestmark = pytest.mark.long(163)


def test_pen_switch() -> None:
    run_module(
        "pen_switch_tb",
        "cocotb_pen_switch",
        extra_sources=[Path(__file__).with_name("pen_switch_tb.sv")],
        env={"PYTHONPATH": str(Path(__file__).parent)},
    )
