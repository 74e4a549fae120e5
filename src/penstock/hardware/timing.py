# SPDX-License-Identifier: Apache-2.0
"""How fast each module runs on an ECP5: synthesized, placed and routed alone, with a register at every port."""

from collections.abc import Iterator, Sequence
from typing import Any

from penstock.hardware.place import GOAL_MHZ, place
from penstock.hardware.synth import update_section

MODULES = (
    "pen_admission",
    "pen_ats",
    "pen_config",
    "pen_counters",
    "pen_credit",
    "pen_credit_config",
    "pen_egress_reader",
    "pen_fdb",
    "pen_free_list",
    "pen_gate_config",
    "pen_gates",
    "pen_ingress",
    "pen_mac_rx_fifo",
    "pen_mac_tx",
    "pen_ptp_clock",
    "pen_queue",
    "pen_reclaim",
    "pen_references",
    "pen_store",
    "pen_stream_table",
    "pen_time_stamp",
)

Row = dict[str, Any]


def timing(modules: Sequence[str], speed: int = 8) -> Iterator[Row]:
    """One row per module, with the parameters that it has by itself; raises ToolError if a tool fails."""
    for module in modules:
        mhz = place(module, speed).clock_mhz
        row = {"id": f"ecp5.speed{speed}.{module}", "quantity": f"highest clock of {module}", "unit": "MHz"}
        yield {**row, "measured": mhz, "goal": GOAL_MHZ, "ok": mhz >= GOAL_MHZ}


def update_documentation(speed: int, rows: Sequence[Row]) -> None:
    """Replaces the table of this speed grade in docs/synthesis.md."""
    table = [f"| module, speed grade {speed} | highest clock |", "|---|--:|"]
    table += [f"| `{row['id'].rpartition('.')[2]}` | {row['measured']:.0f} MHz |" for row in rows]
    update_section(f"clock {speed}", "\n".join(table))
