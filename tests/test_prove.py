# SPDX-License-Identifier: Apache-2.0
"""A proof says PASS of what holds and nothing else; the solver behind it answers when it is asked."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import data
from penstock.hardware.prove import _prove

COUNTER = """module counter (input logic clk_i, input logic rst_i);
  logic [3:0] count_q;
  logic       past_q = 1'b0;
  always_ff @(posedge clk_i) begin
    past_q  <= 1'b1;
    count_q <= rst_i || count_q == 4'd9 ? '0 : count_q + 1'b1;
  end
  always_comb begin
    if (!past_q) assume (rst_i);
    else assert (count_q <= 4'dLIMIT);
    cover (past_q && count_q == 4'dREACHED);
  end
endmodule
"""
TASKS = """[tasks]
prove
cover

[options]
prove: mode prove
cover: mode cover
depth 12

[engines]
smtbmc bitwuzla

[script]
read_slang --threads 1 -DFORMAL --top counter counter.sv
prep -top counter

[files]
counter.sv
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    # Where Yosys as WebAssembly sees it.
    with tempfile.TemporaryDirectory(prefix=".test-", dir=data.HARDWARE / "formal") as name:
        yield Path(name)


@pytest.mark.parametrize(
    ("task", "limit", "reached", "status"),
    [("prove", 9, 9, "PASS"), ("prove", 8, 9, "FAIL"), ("cover", 9, 9, "PASS"), ("cover", 9, 10, "FAIL")],
)
def test_what_does_not_hold_or_cannot_be_reached_fails(
    folder: Path, task: str, limit: int, reached: int, status: str
) -> None:
    (folder / "counter.sv").write_text(COUNTER.replace("LIMIT", str(limit)).replace("REACHED", str(reached)))
    (folder / "counter.sby").write_text(TASKS)
    proof = _prove(folder / "counter.sby", task)
    assert proof.status == status, proof.log


def test_the_solver_answers_each_command_before_the_next_one_comes() -> None:
    command = [sys.executable, "-c", "from penstock.hardware.solver import main; main()", "--lang", "smt2"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def ask(text: str) -> str:
            assert process.stdin is not None
            assert process.stdout is not None
            print(text, file=process.stdin, flush=True)
            return process.stdout.readline().strip()

        print("(set-logic QF_BV)\n(declare-const |a (0| (_ BitVec 8)) ; (not a parenthesis", file=process.stdin)
        print("(assert\n  (= (bvmul |a (0| #x03) #x0f))", file=process.stdin)
        assert ask("(check-sat)") == "sat"
        assert ask("(get-value (|a (0|))") == "((|a (0| #b00000101))"
        assert ask("(push 1)\n(assert (= |a (0| #x04))\n(check-sat)") == "unsat"
        assert ask("(pop 1)\n(check-sat)") == "sat"
        print("(exit)", file=process.stdin, flush=True)
        assert process.wait(timeout=60) == 0


def test_the_solver_ends_when_it_is_told_what_it_does_not_know() -> None:
    command = [sys.executable, "-c", "from penstock.hardware.solver import main; main()", "--lang", "smt2"]
    done = subprocess.run(command, input="(set-logic QF_BV)\n(assert nothing)\n", capture_output=True, text=True)
    assert done.returncode != 0
    assert "nothing" in done.stderr
