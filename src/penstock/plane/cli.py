# SPDX-License-Identifier: Apache-2.0
"""`penstock plane`: starts a data plane on interfaces, and asks and changes one that runs."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.command.answer import answer, refusal
from penstock.command.console import output, say
from penstock.command.ending import Status, interruptible
from penstock.command.options import JsonOption
from penstock.command.tables import print_whole
from penstock.errors import InputError, located

app = typer.Typer(no_args_is_help=True, help="A data plane on real packets: queues, gates and a table of rules.")

NameArgument = Annotated[str, typer.Argument(metavar="[NAME]", help="Of the plane, as its file says.")]
SocketOption = Annotated[Path | None, typer.Option("--socket", metavar="PATH", help="Where it is asked instead.")]


@app.command()
def run(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What the plane is, as TOML or JSON: docs/plane.md.")],
    socket: SocketOption = None,
    trace: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write what happened to each frame, as CSV.")
    ] = None,
    port: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=SOCKETS",
            help="How a port's frames come and go: auto, zero_copy, native, generic (AF_XDP) or packet (AF_PACKET).",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Take interfaces of a default route too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Run a plane until Ctrl-C; prints what it counted."""
    from penstock.plane import show
    from penstock.plane.binary import PROGRAM
    from penstock.plane.config import read, socket_of

    config = read(file)
    name = config.setdefault("name", "plane")
    path = socket or socket_of(str(name))
    program = PROGRAM.build()
    command = [str(program), "--config", "-", "--control", str(path)]
    command += ["--trace", str(trace)] if trace else []
    command += [f"--port={each}" for each in port or ()]
    command += ["--yes"] if yes else []
    status, printed, said = _wait(command, json.dumps(config, default=str), file)
    if status:
        if as_json:
            answer(refusal(map(located, said)))
        raise typer.Exit(Status.BAD_INPUT if status == Status.BAD_INPUT else Status.MACHINE)
    found = json.loads(printed)
    if as_json:
        answer(found)
    else:
        print_whole(show.counters(found["counters"]), output())


def _wait(command: list[str], config: str, file: Path) -> tuple[int, str, list[str]]:
    """Runs it to its end, with which it ends too; Ctrl-C is handed on, as it ends the plane in good order."""
    from penstock.command.console import tell
    from penstock.signals import handled

    bound = ["setpriv", "--pdeathsig", "TERM", *command]
    pipe = subprocess.PIPE
    process = subprocess.Popen(bound, stdin=pipe, stdout=pipe, stderr=pipe, text=True, process_group=0)
    assert process.stdin
    assert process.stdout
    assert process.stderr
    with handled(lambda number, _frame: process.send_signal(number), signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(config)
            process.stdin.close()
        said = []
        for line in process.stderr:
            said.append(line.rstrip().removeprefix("penstock-plane: ").replace("standard input:", f"{file}:"))
            tell(f"penstock plane: {said[-1]}")
        return process.wait(), process.stdout.read(), said


@app.command()
def gates(
    port: Annotated[str, typer.Argument(metavar="PORT", help="Whose gate control list it becomes.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The list: cycle_time, base_time and entries.")],
    name: NameArgument = "plane",
    socket: SocketOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a port another gate control list; it takes over at a cycle's begin, and no frame is lost."""
    from penstock.plane.config import read

    found = _ask(name, socket, "gates", port=port, gates=read(file))
    if as_json:
        answer(found)
    else:
        say(f"{port}: the list takes over at {_changes_at(found)} ns of TAI")


@app.command()
def propose(
    port: Annotated[str, typer.Argument(metavar="PORT", help="By which the frames leave.")],
    traffic_class: Annotated[int, typer.Argument(metavar="CLASS", min=0, max=7, help="Whose frames are watched.")],
    name: NameArgument = "plane",
    duration: Annotated[str, typer.Option("--for", metavar="TIME", help="How long to watch.")] = "2s",
    tolerance: Annotated[
        str, typer.Option(metavar="TIME", help="By which departures may be late, as the plane's file says.")
    ] = "20us",
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the list there.")] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Give it to the port.")] = False,
    socket: SocketOption = None,
    as_json: JsonOption = False,
) -> None:
    """Watch the flows of a class, and propose a gate control list that has a window for each of their frames."""
    from penstock.plane import show, watching
    from penstock.plane.control import Control
    from penstock.scenario.limits import DURATION
    from penstock.scenario.units import read_option

    seconds = read_option(DURATION, duration, "--for") / 1e12
    tolerance_ns = read_option(DURATION, tolerance, "--tolerance") // 1000
    with interruptible(), Control(_path(name, socket)) as control:
        found = watching.propose(control, port, traffic_class, seconds, tolerance_ns)
        change = control.ask("gates", port=port, gates=found.gates) if apply else None
    if out is not None:
        out.write_text(show.as_toml(found), encoding="utf-8")
    if as_json:
        answer(show.as_json(found) | ({} if change is None else {"config_change_time_tai_ns": _changes_at(change)}))
        return
    print_whole(show.flows(found), output())
    say(show.in_words(found))
    if out is None:
        say(show.as_toml(found).rstrip())
    if change is not None:
        say(f"{port}: the list takes over at {_changes_at(change)} ns of TAI")


def _changes_at(change: dict[str, Any]) -> int:
    return int(change["config_change_time_tai_ns"])


@app.command()
def table(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The rules as `table`, and their `streams`.")],
    name: NameArgument = "plane",
    socket: SocketOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replace the table of rules, whole: each frame sees the one before or this one."""
    from penstock.plane.config import read

    told = read(file)
    found = _ask(name, socket, "table", table=told.get("table", []), streams=told.get("streams", {}))
    if as_json:
        answer(found)
    else:
        say(f"{len(told.get('table', []))} rules act")


@app.command()
def limit(
    port: Annotated[str, typer.Argument(metavar="PORT")],
    traffic_class: Annotated[int, typer.Argument(metavar="CLASS", min=0, max=7)],
    frames: Annotated[int, typer.Argument(metavar="FRAMES", min=0, help="That may wait in the queue.")],
    name: NameArgument = "plane",
    socket: SocketOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say how many frames may wait in a queue."""
    found = _ask(name, socket, "limit", port=port, **{"class": traffic_class}, frames=frames)
    if as_json:
        answer(found)
    else:
        say(f"{port}, class {traffic_class}: {frames} frames may wait")


@app.command()
def counters(
    name: NameArgument = "plane",
    socket: SocketOption = None,
    prometheus: Annotated[bool, typer.Option("--prometheus", help="As text for Prometheus.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what a plane counted."""
    from penstock.plane import show

    if prometheus and as_json:
        raise InputError("stands beside --json", allowed="one of both", file="--prometheus")
    found = _ask(name, socket, "metrics" if prometheus else "counters")
    if prometheus:
        say(found["text"].rstrip())
    elif as_json:
        answer(found)
    else:
        print_whole(show.counters(found), output())


@app.command()
def watch(
    name: NameArgument = "plane",
    socket: SocketOption = None,
    every_ms: Annotated[int, typer.Option("--every", min=20, metavar="MS", help="Between two views.")] = 250,
    views: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="So many views; until Ctrl-C if not given.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE", help="Write the last of --views as SVG.")
    ] = None,
) -> None:
    """Follow gates, queues and lateness on the terminal."""
    from rich.live import Live

    from penstock.folder import check_file
    from penstock.plane import show
    from penstock.plane.control import Control

    if picture is not None:
        if views is None:
            raise InputError("has no last view", allowed="--views N with it", file="--picture")
        check_file(picture, "--picture")
    console = output()
    with interruptible(), Control(_path(name, socket)) as control:
        before = show.Reading(control.ask("counters"), control.ask("occupancy"))
        with Live(console=console, auto_refresh=False, screen=console.is_terminal and views is None) as live:
            shown = 0
            while views is None or shown < views:
                time.sleep(every_ms / 1000)
                now = show.Reading(control.ask("counters"), control.ask("occupancy"))
                seen = show.view(before, now)
                live.update(seen, refresh=True)
                before, shown = now, shown + 1
    if picture is not None:
        picture.write_text(show.picture(seen, f"penstock plane watch {name}"), encoding="utf-8")


@app.command()
def sync(
    port: Annotated[str, typer.Argument(metavar="PORT", help="Behind which somebody follows.")],
    name: NameArgument = "plane",
    socket: SocketOption = None,
    follower: Annotated[
        str | None,
        typer.Option(metavar="NAME:PORT", help="A plane of this machine that follows, to see its true error."),
    ] = None,
    interval_ms: Annotated[float, typer.Option("--interval", min=0.1, metavar="MS", help="From frame to frame.")] = 10,
    probes: Annotated[int, typer.Option(min=8, metavar="N", help="From which drift is reckoned.")] = 1000,
    after: Annotated[int, typer.Option(min=8, metavar="N", help="Probes after the clock was set.")] = 300,
    checks: Annotated[int, typer.Option(min=0, metavar="N", help="Probes after all, to see what is left.")] = 500,
    as_json: JsonOption = False,
) -> None:
    """Synchronize the clock of a plane behind a port by frames there and back: drift, then set and compensated."""
    from penstock.plane.control import Control
    from penstock.plane.sync import Peer, Plan, synchronize, table

    plan = Plan(interval_ms, probes, after, checks)
    with contextlib.ExitStack() as stack:
        control = stack.enter_context(Control(_path(name, socket)))
        peer = None
        if follower is not None:
            other, _, its_port = follower.rpartition(":")
            where = Path(other) if "/" in other else _path(other, None)
            peer = Peer(stack.enter_context(Control(where)), its_port)
        found = synchronize(control, port, plan, peer)
    if as_json:
        answer(found)
        return
    print_whole(table(found), output())
    say(f"drift: {found['drift']['slope_ppb'] / 1000:.4f} ppm; {found['lost']} of the frames had no answer")


@app.command()
def stop(name: NameArgument = "plane", socket: SocketOption = None) -> None:
    """End a plane."""
    _ask(name, socket, "stop")


def _path(name: str, socket: Path | None) -> Path:
    from penstock.plane.config import socket_of

    return socket or socket_of(name)


def _ask(name: str, socket: Path | None, what: str, **details: Any) -> dict[str, Any]:
    from penstock.plane.control import Control

    with Control(_path(name, socket)) as control:
        return control.ask(what, **details)
