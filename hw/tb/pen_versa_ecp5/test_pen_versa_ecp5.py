# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest
from runner import HERE, run_module

pytestmark = pytest.mark.long(165)

BOARD = HERE.parent / "board"


def board_sources() -> list[Path]:
    """The files of the board, as it is built, and models of what its FPGA and its PHYs have in silicon."""
    lines = (line.split("//")[0].strip() for line in (BOARD / "versa_ecp5" / "files.f").read_text().splitlines())
    models = [HERE / "models" / name for name in ("ecp5.sv", "rgmii_phy.sv")]
    return [*models, *(BOARD / line for line in lines if line), Path(__file__).with_name("pen_versa_ecp5_tb.sv")]


def test_pen_versa_ecp5() -> None:
    run_module(
        "pen_versa_ecp5_tb",
        "cocotb_pen_versa_ecp5",
        extra_sources=board_sources(),
        build_args=["--timing", "--no-sched-zero-delay", "-CFLAGS", "-std=gnu++20"],
        env={"PYTHONPATH": str(Path(__file__).parent)},
    )
