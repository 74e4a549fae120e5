# SPDX-License-Identifier: Apache-2.0
"""Table 5: what the hardware costs."""

from __future__ import annotations

from penstock.reproduce import drawing
from penstock.reproduce.ats_switch import printed
from penstock.reproduce.cost import QUANTITIES, cost, origin
from penstock.reproduce.experiment import Experiment, Found, Options, Outcomes, Picture
from penstock.reproduce.row import Row

# Our blocks that do what a component of the paper's does. What is in none is counted as one of the others.
_OURS = {
    "MAC": ("pen_mac_rx_fifo", "pen_mac_tx"),
    "FIFO": ("pen_store", "pen_buffer", "pen_free_list", "pen_references", "pen_reclaim"),
    "Sched.": ("pen_ats", "pen_stream_table"),
    "FDB Sw.": ("pen_fdb", "pen_vlan_table", "pen_ingress_port", "pen_ingress", "pen_admission", "pen_delay"),
    "Trans. Selec.": (
        "pen_queue",
        "pen_selection",
        "pen_gates",
        "pen_gate_config",
        "pen_credit",
        "pen_credit_extremes",
        "pen_credit_config",
        "pen_egress_reader",
        "pen_egress_port",
    ),
}
_OTHERS = "Others"


def _evaluate(_outcomes: Outcomes, options: Options) -> Found:
    blocks = cost(options.synthesize)
    component_of = {block: component for component, blocks in _OURS.items() for block in blocks}
    found = Found()
    figure = drawing.figure("", "LUTs", barmode="group")
    for theirs, ours in QUANTITIES.items():
        sums = dict.fromkeys(printed.TABLE_5_COLUMNS, 0.0)
        for block, used in blocks.items():
            sums[component_of.get(block, _OTHERS)] += used.get(ours, 0.0)
        *parts, total = printed.TABLE_5[theirs]
        label = f"{theirs} of the whole switch"
        found.rows.append(Row.at_most(f"table5.{ours}.total", label, theirs, sum(sums.values()), total).as_key())
        for component, paper in zip(printed.TABLE_5_COLUMNS, parts, strict=True):
            name = f"table5.{ours}.{component.lower().replace('. ', '_').replace(' ', '_').replace('.', '')}"
            measured = sums[component] if component in _OURS or component == _OTHERS else None
            found.rows.append(Row.told(name, f"{theirs}: {component}", theirs, measured, paper=paper))
        if theirs == "LUTs":
            figure.add_bar(x=list(sums), y=list(sums.values()), name="ours", marker_color=drawing.COLORS[0])
            figure.add_bar(x=list(sums), y=parts, name="paper", marker_color="#98A2AC")
    where = origin(options.synthesize)
    note = f"Four ports. The paper's figures are of Vivado, ours, {where}, of Yosys for the same family."
    found.pictures.append(Picture("LUTs by component", note, figure))
    return found


EXPERIMENTS = (Experiment("table5", "Hardware resources", "Table 5", (), _evaluate),)
