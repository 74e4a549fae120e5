# SPDX-License-Identifier: Apache-2.0
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock import data
from penstock.errors import InputError
from penstock.hardware import growth as growth_module
from penstock.hardware import place, synth
from penstock.hardware.cli import app
from penstock.hardware.growth import GROWTH, Size
from penstock.hardware.lint import Finding, lint_slang, lint_verilator
from penstock.hardware.place import markdown, read_report, rows, slowest
from penstock.hardware.registers import files_of
from penstock.hardware.synth import Block, Synthesis, synthesize, update_documentation
from penstock.hardware.tools import ToolError, hardware_folder

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


def test_a_host_port_is_told_and_counts_against_the_goal(tmp_path: Path) -> None:
    whole = source(tmp_path, GOOD.replace("#(parameter", "#(parameter bit HOST = 0, parameter", 1))
    result = synthesize("xc7", "thing", 8, {"HOST": 1}, files=whole)
    assert result.title == "Xilinx 7 series, thing with 8 ports, the last one for the host"


@pytest.mark.parametrize("words", [["--growth", "--host"], ["--top", "nic", "--host"]])
def test_a_host_port_is_one_of_the_whole_switch(words: list[str]) -> None:
    with pytest.raises(InputError, match=r"--host|port of the switch"):
        CliRunner().invoke(app, ["synth", *words], catch_exceptions=False, standalone_mode=False)


def test_a_card_without_ats_is_told(tmp_path: Path) -> None:
    card = source(tmp_path, GOOD.replace("#(parameter", "#(parameter bit ATS = 1, parameter", 1))
    titles = [synthesize("xc7", "thing", 1, {"ATS": ats}, files=card).title for ats in (0, 1)]
    assert titles == [f"Xilinx 7 series, thing with 1 port{but}" for but in (", without ATS", "")]


@pytest.mark.parametrize(
    ("words", "what"),
    [(["--no-ats"], "parameter of the card"), (["--top", "nic", "--no-ats", "--update-docs"], "tables")],
)
def test_ats_is_left_out_of_a_card_alone(words: list[str], what: str) -> None:
    with pytest.raises(InputError, match=what):
        CliRunner().invoke(app, ["synth", *words], catch_exceptions=False, standalone_mode=False)


def test_a_card_is_placed_of_its_own_files() -> None:
    assert {path.name for path in files_of("pen_nic")} > {path.name for path in files_of("pen_switch")}
    assert "pen_nic.sv" in {path.name for path in files_of("pen_nic")}
    assert [place.mark(top) for top in ("pen_switch", "pen_nic")] == ["route", "pen_nic.route"]


SUM = """\
module thing #(parameter int PORTS = 4) (
  input logic clk_i, input logic signed [39:0] a_i, input logic signed [19:0] b_i, output logic signed [47:0] c_o
);
  (* use_dsp = "{use}" *) logic signed [47:0] total;
  assign total = a_i + b_i;
  {when} c_o <= total;
endmodule
"""


@pytest.mark.parametrize(("use", "blocks"), [("yes", 1), ("no", 0)])
def test_a_sum_that_is_marked_takes_a_dsp_block(use: str, blocks: int, tmp_path: Path) -> None:
    text = SUM.format(use=use, when="always_ff @(posedge clk_i)")
    result = synthesize("xc7", "thing", files=source(tmp_path, text))
    assert result.total("dsp") == blocks
    assert (result.total("lut") == 0) == (blocks == 1)


def test_the_sum_in_a_dsp_block_is_the_same(tmp_path: Path) -> None:
    """As Yosys describes the block of this family, for every input."""
    source(tmp_path, SUM.format(use="yes", when="always_comb").replace("<=", "="))
    shutil.copyfile(hardware_folder() / "synth" / "xc7_adder.v", tmp_path / "xc7_adder.v")
    read = "read_slang --threads 1 --top thing thing.sv"
    synth.yosys(
        tmp_path,
        read,
        "techmap -map xc7_adder.v t:$add",
        "select -assert-count 1 t:DSP48E1",
        "read_verilog +/xilinx/cells_sim.v",
        "hierarchy -top thing",
        "proc",
        "flatten",
        "opt -full",
        "select -assert-none t:DSP48E1",
        "rename thing mapped",
        "design -stash mapped",
        read,
        "design -copy-from mapped mapped",
        "miter -equiv -flatten -make_assert thing mapped both",
        "sat -verify -prove-asserts both",
    )


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


def test_a_mapping_that_loses_block_ram_is_refused() -> None:
    before = [Block("store", 1, Counter(bram36=35)), Block("stamps", 2, Counter(bram36=2))]
    synth.check_kept(before, list(reversed(before)))
    for after in ([before[0]], [before[0], Block("stamps", 1, Counter(bram36=1))]):
        with pytest.raises(ToolError, match=r"stamps has lost block RAM, 2 and then [01] after"):
            synth.check_kept(before, after)


def test_what_cannot_be_synthesized_is_said(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"thing\.sv"):
        synthesize("xc7", "thing", files=source(tmp_path, SYNTAX))
    with pytest.raises(InputError, match="--target ice40: there is no such target; allowed: xc7, ecp5"):
        synthesize("ice40", "thing")


def test_documentation_keeps_other_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "PAGES", tmp_path)
    results = [Synthesis(target, "pen_switch", 4, [], [], []) for target in ("xc7", "ecp5")]
    path = update_documentation(results)
    before = path.read_text()
    assert update_documentation(results[1:]).read_text() == before
    assert before.count("## ") == 2


def step(cells: str, kind: str, delay: float) -> dict[str, Any]:
    begin, end = cells.split()
    return {"from": {"cell": begin}, "to": {"cell": end}, "type": kind, "delay": delay}


def report(achieved: float) -> dict[str, Any]:
    """Two clocks of like names: the longest path of the slower one counts, whatever lies between them."""
    path = [
        step("u_queue.head_q_TRELLIS_FF_Q_3 u_queue.head_q_TRELLIS_FF_Q_3", "clk-to-q", 0.5),
        step("u_queue.head_q_TRELLIS_FF_Q_3 u_queue.load_LUT4_Z", "routing", 2.0),
        step("u_queue.load_LUT4_Z u_queue.load_CCU2C_S0_1$CCU2_COMB0", "setup", 0.25),
    ]
    other = [step("other other", "logic", 9.0)]
    return {
        "fmax": {"clk_i": {"achieved": achieved}, "rx_clk_i": {"achieved": 300.0}},
        "utilization": {"TRELLIS_COMB": {"used": 70, "available": 100}, "DP16KD": {"used": 3, "available": 2}},
        "critical_paths": [
            {"from": "posedge rx_clk_i", "to": "posedge rx_clk_i", "path": other},
            {"from": "posedge clk_i", "to": "posedge clk_i", "path": path},
            {"from": "posedge rx_clk_i", "to": "posedge clk_i", "path": other},
        ],
    }


def test_a_report_of_place_and_route_is_read() -> None:
    placed = read_report("pen_switch", 8, report(101.0))
    assert (placed.clock_mhz, placed.path_ns, placed.path_logic_ns) == (101.0, 2.75, 0.75)
    assert placed.path == ("u_queue.head_q", "u_queue.load")
    assert [(row["measured"], row["ok"]) for row in rows([placed])] == [(101.0, False), (70, True), (3, False)]
    assert "| LUT | 70 | 100 |" in markdown([placed])


def test_each_seed_has_its_clock_and_the_slowest_its_path() -> None:
    fast, slow = (read_report("pen_switch", 8, report(mhz), seed) for seed, mhz in ((1, 125.0), (2, 124.9)))
    assert [row["ok"] for row in rows([fast, slow])[:2]] == [True, False]
    assert rows([fast, slow])[1]["id"] == "ecp5.route.pen_switch.clock.seed_2"
    assert slowest([fast, slow]) == slow
    assert "125.0 MHz from seed 1, 124.9 MHz from seed 2." in markdown([fast, slow])


def test_no_clock_is_said() -> None:
    with pytest.raises(ToolError, match="no clock"):
        read_report("pen_switch", 8, {**report(1.0), "fmax": {}})


def test_growth_has_a_row_for_each_size() -> None:
    blocks = [Block("a", 1, Counter(lut=5, ff=2)), Block("b", 2, Counter(lut=7))]
    size = Size("streams", 1024, Synthesis("xc7", "pen_switch", 4, blocks, [], []))
    assert growth_module.markdown([size]).splitlines()[-1] == "| 1024 streams | 12 | 0 | 2 | 0 | 0 |"
    assert size.rows()[0]["id"] == "xc7.streams_1024.lut"
    assert all(default in values for _, values, default in GROWTH.values())


def test_each_size_changes_one_parameter(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, dict[str, int]]] = []

    def synthesis(target: str, ports: int = 4, parameters: dict[str, int] | None = None) -> Synthesis:
        asked.append((ports, parameters or {}))
        return Synthesis(target, "pen_switch", ports, [], [], [])

    monkeypatch.setattr(growth_module, "synthesize", synthesis)
    assert [size.value for size in growth_module.growth("ecp5")] == [256, 1024, 4096, 2, 4, 8, 16, 128, 1024]
    streams = [{"STREAMS": 1024}, {"STREAMS": 4096}]
    gates = [{"GATE_ENTRIES": 16}, {"GATE_ENTRIES": 1024}]
    assert asked == [(4, {}), (4, streams[0]), (4, streams[1]), (2, {}), (8, {}), (4, gates[0]), (4, gates[1])]


def test_the_card_has_goals_and_a_table_of_its_own() -> None:
    def of(top: str, ports: int | None, lut: int) -> Synthesis:
        return Synthesis("xc7", top, ports, [Block(top, 1, Counter(lut=lut))], [], [])

    assert of("pen_nic", 1, 15_000).ok
    assert not of("pen_nic", 1, 15_001).ok
    assert of("pen_nic", 4, 15_001).ok
    assert of("pen_nic", 4, 1).mark not in (of("pen_nic", 1, 1).mark, of("pen_switch", 4, 1).mark)
    assert of("pen_switch", 4, 15_001).ok
    assert of("pen_nic", 1, 1).mark != of("pen_switch", 4, 1).mark
    assert "`pen_nic` with 1 port\n" in synth.markdown(of("pen_nic", 1, 1))
    assert "with 4 ports" in synth.markdown(of("pen_switch", 4, 1))
