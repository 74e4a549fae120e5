# SPDX-License-Identifier: Apache-2.0
"""What all commands share: how they end, and what they say to people and programs."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer

from penstock import cli
from penstock.command import ending
from penstock.command.answer import answer
from penstock.command.console import output, say
from penstock.command.options import JsonOption
from penstock.errors import CollectedInputError, EngineError, InputError, RunError
from penstock.hardware.tools import ToolError
from penstock.linux.errors import CollectedHostError, HostError
from penstock.words import count
from program import invoke

ROOT = Path(__file__).parents[1]
HELLO = ROOT / "scenarios" / "hello"
PENSTOCK = (sys.executable, "-m", "penstock")
Run = Callable[..., tuple[int, str, str]]

BAD = InputError("is wrong", allowed="what is right", file="a.toml", line=3, key="streams.x")
WORSE = InputError("is worse", allowed="less", file="a.toml", line=7)
FULL = OSError(28, "No space left on device", "/disk/run")
HOST = CollectedHostError([HostError("no eth0", "a host with eth0"), HostError("eth1 is down", "one that is up")])


def fault() -> Exception:
    """An exception that nobody expected."""
    return ValueError("no such thing")


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """A command that ends as it is told to."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delenv(ending.DEBUG, raising=False)

    def call(ended_by: BaseException | bool, *words: str) -> tuple[int, str, str]:
        app = typer.Typer()

        @app.command()
        def command(
            seed: Annotated[int, typer.Option(min=0)] = 0, said: bool = False, as_json: JsonOption = False
        ) -> None:
            if said:
                answer({"ok": True})
            if isinstance(ended_by, BaseException):
                raise ended_by
            ending.end(ended_by)

        return (ending.run(app, words), *capfd.readouterr())

    return call


CASES: dict[str, tuple[BaseException | bool, int, list[dict[str, object]]]] = {
    "met": (True, 0, []),
    "not met": (False, 1, []),
    "bad input": (
        CollectedInputError([WORSE, BAD]),
        2,
        [
            {"file": "a.toml", "line": 3, "key": "streams.x", "what": "is wrong", "allowed": "what is right"},
            {"file": "a.toml", "line": 7, "key": None, "what": "is worse", "allowed": "less"},
        ],
    ),
    "an engine": (EngineError("the engine is not built"), 3, [{"what": "the engine is not built", "allowed": None}]),
    "a run": (RunError("a frame was lost"), 3, [{"what": "a frame was lost"}]),
    "a tool": (ToolError("make is missing"), 3, [{"what": "make is missing"}]),
    "a host": (HOST, 3, [{"what": "no eth0", "allowed": "a host with eth0"}, {"what": "eth1 is down"}]),
    "a full disk": (FULL, 3, [{"file": "/disk/run", "what": "No space left on device"}]),
    "a disk": (OSError(5, "Input/output error"), 3, [{"file": None, "what": "Input/output error"}]),
    "no memory": (MemoryError(), 3, [{"what": "memory is short"}]),
    "a fault": (fault(), 3, [{"what": "ValueError: no such thing; this is a fault of Penstock"}]),
    "Ctrl-C": (KeyboardInterrupt(), 130, [{"what": "interrupted"}]),
}


@pytest.mark.parametrize("case", CASES)
def test_one_place_decides_how_a_command_ends(case: str, run: Run) -> None:
    ended_by, status, errors = CASES[case]
    plain = run(ended_by)
    assert (plain[0], plain[1]) == (status, "")
    assert "Traceback" not in plain[2]
    for error in errors:
        assert status == 130 or str(error["what"]) in plain[2]
    found = run(ended_by, "--json")
    assert found[0] == status
    if not errors:
        assert found[1] == ""
        return
    told = json.loads(found[1])
    assert told["ok"] is False
    assert all(list(each) == ["file", "line", "key", "what", "allowed"] for each in told["errors"])
    assert [each | wanted for each, wanted in zip(told["errors"], errors, strict=True)] == told["errors"]


def test_json_is_one_object_though_the_command_fails_after_it(run: Run) -> None:
    status, out, err = run(RunError("lost"), "--said", "--json")
    assert (status, json.loads(out)) == (3, {"ok": True})
    assert "the run failed: lost" in err


def test_a_fault_leaves_its_stack_trace(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, _, err = run(fault())
    (file,) = tmp_path.glob("penstock-*.txt")
    assert status == 3
    assert str(file) in err.replace("\n", "")
    assert "ValueError: no such thing" in file.read_text()
    monkeypatch.setenv(ending.DEBUG, "1")
    assert "Traceback" in run(fault())[2]
    assert len(list(tmp_path.glob("penstock-*.txt"))) == 1


@pytest.mark.parametrize(
    ("words", "place"), [(["--seed", "-1"], "--seed"), (["--sed", "1"], "--sed"), (["--seed"], "--seed")]
)
def test_an_option_that_is_wrong_is_bad_input(words: list[str], place: str, run: Run) -> None:
    status, out, err = run(True, *words)
    assert (status, out) == (2, "")
    assert place in err
    status, out, _ = run(True, "--json", *words)
    (error,) = json.loads(out)["errors"]
    assert status == 2
    assert place in error["file"]
    assert error["what"]


def test_what_is_behind_two_dashes_is_not_ours(run: Run) -> None:
    assert run(True, "--seed", "x", "--", "--json")[1] == ""


def paths(command: Any, *before: str) -> Iterator[tuple[str, ...]]:
    yield before
    for name, below in getattr(command, "commands", {}).items():
        yield from paths(below, *before, name)


def test_help_is_in_words_and_fits_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    cli._add_hardware()
    known = list(paths(typer.main.get_command(cli.app)))
    assert {(), ("run",), ("hw", "register"), ("linux", "apply"), ("bench", "engine")} <= set(known)
    for words in known:
        done = invoke(cli.app, [*words, "--help"])
        assert done.status == 0
        assert f"Usage: {' '.join(('penstock', *words))} " in done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 80, words
        assert not re.search(r"<\w+>|<\w+\[", done.stdout), words
        for wrong in ("list[", "[[", "\N{HORIZONTAL ELLIPSIS}", "python"):
            assert wrong not in done.stdout, words


@pytest.mark.parametrize("typed", ["penstock", "./penstock"])
def test_a_shell_completes_commands_and_options(typed: str, tmp_path: Path) -> None:
    program = tmp_path / "penstock"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m penstock "$@"\n')
    program.chmod(0o755)
    script = f"""
        eval "$(_PENSTOCK_COMPLETE=source_bash ./penstock)"
        COMP_WORDS=({typed} rep) COMP_CWORD=1; $1 {typed}; echo "${{COMPREPLY[@]}}"
        COMP_WORDS=({typed} run --no) COMP_CWORD=2; $1 {typed}; echo "${{COMPREPLY[@]}}"
        complete -p penstock"""
    done = subprocess.run(
        ["bash", "-c", script, "bash", "_penstock_completion"],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    commands, options, registered = done.stdout.splitlines()
    assert {"replay", "report", "reproduce"} <= set(commands.split())
    assert {"--nodes", "--no-captures"} <= set(options.split())
    assert registered.endswith("-F _penstock_completion penstock")


def test_a_command_starts_before_the_libraries_that_it_may_need() -> None:
    large = ("numpy", "polars", "pydantic", "plotly", "jinja2", "pyarrow", "pyroute2", "penstock._engine")
    script = f"import sys, penstock.cli; print([name for name in {large} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_words_count() -> None:
    assert [count(n, "bridge") for n in (0, 1, 5)] == ["0 bridges", "1 bridge", "5 bridges"]
    assert count(2, "gate entry") == "2 gate entries"
    assert count(1200, "box") == "1,200 boxes"
    assert count(2, "day") == "2 days"


def start(*words: str, environment: dict[str, str] | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*PENSTOCK, *words],
        env=os.environ | (environment or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("words", [("check", str(HELLO)), ("bound", str(HELLO), "--json"), ("--help",)])
def test_whoever_stops_reading_is_no_error(words: tuple[str, ...]) -> None:
    process = start(*words)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert (process.stderr.read(), process.wait(60)) == ("", 0)


def test_the_status_is_true_though_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    read, written = os.pipe()
    os.close(read)
    app = typer.Typer()

    @app.command()
    def command() -> None:
        output().print("one")
        say("two")
        answer({"ok": False})
        ending.end(False)

    with os.fdopen(written, "w") as nobody:
        monkeypatch.setattr(sys, "stdout", nobody)
        assert ending.run(app, []) == 1


def test_a_full_disk_behind_standard_output_is_the_machine() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    with full.open("w") as file:
        done = subprocess.run([*PENSTOCK, "check", str(HELLO)], stdout=file, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 3
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words", [("--help",), ("check", str(HELLO)), ("bound", str(HELLO)), ("check", "\udcff\u2013")]
)
def test_a_terminal_that_knows_only_ascii_is_no_crash(words: tuple[str, ...]) -> None:
    process = start(*words, environment={"PYTHONIOENCODING": "ascii", "LC_ALL": "C"})
    out, err = process.communicate(timeout=60)
    assert process.returncode == (2 if words[1:] == ("\udcff\u2013",) else 0)
    assert (out + err).isascii()
    assert "Traceback" not in err


def test_ctrl_c_while_modules_are_loaded_is_130_without_a_word(tmp_path: Path) -> None:
    # A module of the command line that takes as long to load as the test wants.
    slow = tmp_path / "sitecustomize.py"
    slow.write_text(
        "import sys, time\n"
        "class Slow:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'penstock.cli':\n"
        "            print('loading', flush=True)\n"
        "            time.sleep(30)\n"
        "sys.meta_path.insert(0, Slow())\n"
    )
    process = start("--version", environment={"PYTHONPATH": str(tmp_path)})
    assert process.stdout is not None
    assert process.stdout.readline() == "loading\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, "", "")


def test_ctrl_c_that_is_held_back_is_not_lost() -> None:
    """The entry script holds it back while the interpreter starts, which would answer with a stack trace."""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process = start("hw", "prove")
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    process.send_signal(signal.SIGINT)
    started = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "")
    assert time.monotonic() - started < 20


def test_a_newcomer_sees_three_commands(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["penstock"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    out, err = capfd.readouterr()
    assert (end.value.code, err) == (0, "")
    commands = [line.split()[1] for line in out.splitlines() if line.strip().startswith("penstock ")]
    assert commands[:3] == ["run", "check", "bound"]
    assert "penstock --help" in out
    assert len(out.splitlines()) < 15
    assert max(map(len, out.splitlines())) <= 80
