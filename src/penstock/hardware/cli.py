# SPDX-License-Identifier: Apache-2.0
"""The commands `penstock hw ...`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer

from penstock import data
from penstock.command.answer import answer
from penstock.command.console import output, part_of, progress, say, tell
from penstock.command.ending import end
from penstock.command.options import JsonOption
from penstock.command.tables import new_table, print_whole
from penstock.errors import InputError
from penstock.folder import check_file, check_folder
from penstock.hardware.tools import hardware_folder
from penstock.words import count

if TYPE_CHECKING:
    from penstock.hardware.synth import Synthesis

app = typer.Typer(no_args_is_help=True, help="The hardware: lint, test, prove, bench, soak, diff, synthesize, time.")
Ports = Annotated[int, typer.Option(min=2, max=8, help="Ports of the switch.")]


def _finish(rows: list[dict[str, Any]], as_json: bool) -> NoReturn:
    ok = all(row["ok"] for row in rows)
    if as_json:
        answer({"ok": ok, "rows": rows})
    end(ok)


@app.command()
def lint(
    top: Annotated[str, typer.Option(help="Module to start from.")] = "pen_switch",
    as_json: JsonOption = False,
) -> None:
    """Verilator and slang on the switch with 2, 4 and 8 ports, boards and the network card; no warning is allowed."""
    from penstock.hardware.lint import TOP, lint_boards, lint_card
    from penstock.hardware.lint import lint as run_lint

    findings = run_lint(top) + ([*lint_boards(), *lint_card()] if top == TOP else [])
    rows = []
    for finding in findings:
        warnings = len(finding.text.splitlines())
        name = finding.what.replace(" ", "_")
        row = {"id": f"{finding.tool}.{name}", "quantity": "lines of complaint", "unit": "lines"}
        rows.append({**row, "measured": warnings, "goal": 0, "ok": finding.ok})
        if not as_json:
            verdict = "clean" if finding.ok else finding.text
            say(f"{finding.tool}, {finding.what}: {verdict}")
    _finish(rows, as_json)


@app.command("test")
def bench_modules(
    modules: Annotated[list[str] | None, typer.Argument(metavar="[MODULE]...", help="All if none is named.")] = None,
    seed: Annotated[str | None, typer.Option(help="A number, or `random`; the same each time if not given.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Test benches at a time.")] = 2,
) -> None:
    """The cocotb test bench of each module, with random idle and back-pressure."""
    from penstock.hardware.testbench import run_testbenches

    if seed is not None and seed != "random" and not seed.isdecimal():
        raise typer.BadParameter(f'{seed} is not a seed; allowed: a whole number, or "random"', param_hint="--seed")
    status = run_testbenches(modules, seed, jobs)
    end(status == 0)


@app.command()
def prove(
    names: Annotated[list[str] | None, typer.Argument(metavar="[PROOF]...", help="All if none is named.")] = None,
    as_json: JsonOption = False,
) -> None:
    """The formal proofs of hw/formal."""
    from penstock.hardware.prove import prove as run_proofs

    rows = []
    for proof in run_proofs(names):
        row = {"id": proof.name, "quantity": "proof", "unit": "pass", "measured": int(proof.ok), "goal": 1}
        rows.append({**row, "ok": proof.ok})
        if as_json:
            continue
        say(f"{proof.name}: {proof.status} ({proof.seconds:.0f} s)")
        if not proof.ok:
            say(proof.log)
    _finish(rows, as_json)


@app.command()
def bench(
    ports: Ports = 4,
    seed: Annotated[int, typer.Option(help="Of the frames' content and of the random mix.")] = 1,
    against: Annotated[
        str | None,
        typer.Option(metavar="REVISION", help="Only the simulation's speed, in turns with that of this git revision."),
    ] = None,
    update_docs: Annotated[bool, typer.Option("--update-docs", help="Put the table into docs/performance.md.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Loss at line rate, latency when idle, speed of the simulation."""
    from penstock.bench import page
    from penstock.hardware.bench import bench as run_bench
    from penstock.hardware.speed import against as run_against

    rows = []
    for row in run_bench(ports, seed) if against is None else run_against(against, ports):
        rows.append(row)
        if not as_json:
            line = f"{row['quantity']}: {row['measured']:,} {row['unit']}".rstrip()
            line += f", goal {row['goal']:,}" if "goal" in row else ""
            say(line + ("" if row["ok"] else " NOT MET"))
    if update_docs:
        page.update(f"{ports} ports" if against is None else "speed", rows)
    _finish(rows, as_json)


@app.command()
def soak(
    frames: Annotated[int, typer.Option(min=1, help="How many.")] = 200_000,
    seed: Annotated[int, typer.Option(help="Of the first run; the others have the next ones.")] = 1,
    ports: Ports = 4,
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs at a time; one per core if not given.")] = None,
    record: Annotated[
        Path | None, typer.Option(help="Keep each run in this file, and leave out those that it already has.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Random frames of every kind through the switch against a scoreboard: none lost, doubled, reordered or damaged."""
    from penstock.hardware.soak.campaign import campaign, total

    if record is not None:
        check_file(record, "--record")
    with progress() as bar:
        outcomes = campaign(
            frames,
            seed=seed,
            ports=ports,
            jobs=jobs or os.cpu_count() or 1,
            record=record,
            progress=part_of(bar, f"{frames:,} frames"),
        )
    sent = sum(outcome.sent for outcome in outcomes)
    faults = [f"seed {outcome.seed}: {fault}" for outcome in outcomes for fault in outcome.faults]
    quantity = f"faults in {sent:,} frames, seeds {seed} to {seed + len(outcomes) - 1}"
    row = {"id": f"soak.{ports}_ports", "quantity": quantity, "unit": "faults", "measured": len(faults), "goal": 0}
    if not as_json:
        dropped = ", ".join(f"{number:,} {reason}" for reason, number in sorted(total(outcomes).items()))
        delivered = sum(outcome.delivered for outcome in outcomes)
        summary = f"{count(sent, 'frame')} in, {count(delivered, 'copy')} out; dropped: {dropped or 'none'}"
        say(summary, *faults)
        say(f"{len(faults)} {quantity}")
    _finish([{**row, "ok": not faults}], as_json)


@app.command()
def diff(
    scenarios: Annotated[int, typer.Option(min=1, help="How many.")] = 120,
    seed: Annotated[int, typer.Option(help="Of the first; the others have the next ones.")] = 1,
    frames: Annotated[int, typer.Option(min=1, help="In each scenario.")] = 700,
    ports: Annotated[
        list[int] | None,
        typer.Option(min=2, max=8, help="Ports of the switch; several in turn; else 2, 3, 4, 8."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Scenarios at a time; one per core if not given.")] = None,
    out: Annotated[Path, typer.Option(help="Where scenarios that differ are written.")] = Path("differential"),
    replay: Annotated[Path | None, typer.Option(help="Play the scenario in this file instead.")] = None,
    as_json: JsonOption = False,
) -> None:
    """The switch against its model on random scenarios: every frame the same fate, to the clock cycle."""
    from penstock.hardware.differential.campaign import SIZES, campaign
    from penstock.hardware.differential.report import replayed, shrunk

    def show(*lines: str) -> None:
        if not as_json:
            say(*lines)

    with progress() as bar:
        if replay:
            row, lines = replayed(replay)
            rows = [row]
            show(*lines)
        else:
            check_folder(out, "--out")
            report = campaign(
                scenarios,
                seed=seed,
                frames=frames,
                sizes=ports or SIZES,
                jobs=jobs or os.cpu_count() or 1,
                progress=part_of(bar, f"{scenarios:,} scenarios"),
            )
            rows = [*report.rows()]
            for row in rows:
                show(f"{row['quantity']}: {row['measured']:,}" + ("" if row["ok"] else " NOT MET"))
            for lines in shrunk(report, out):
                # Also with --json: a seed that fails must not be lost.
                tell("\n".join(lines))
    _finish(rows, as_json)


@app.command()
def timing(
    modules: Annotated[list[str] | None, typer.Argument(metavar="[MODULE]...", help="All if none is named.")] = None,
    speed: Annotated[int, typer.Option(help="Speed grade of the ECP5: 6 or 8.")] = 8,
    update_docs: Annotated[bool, typer.Option("--update-docs", help="Put the table into docs/synthesis.md.")] = False,
    as_json: JsonOption = False,
) -> None:
    """The highest clock of each module on an ECP5, placed and routed alone by nextpnr."""
    from penstock.hardware.place import DEVICES
    from penstock.hardware.timing import MODULES, update_documentation
    from penstock.hardware.timing import timing as run_timing

    rows = []
    if speed not in DEVICES:
        raise InputError("is no speed grade", allowed=" or ".join(map(str, DEVICES)), file=f"--speed {speed}")
    for row in run_timing(modules or MODULES, speed):
        rows.append(row)
        if not as_json:
            line = f"{row['quantity']}: {row['measured']:.1f} MHz" + ("" if row["ok"] else ", goal not met")
            say(line)
    if update_docs:
        update_documentation(speed, rows)
    _finish(rows, as_json)


@app.command()
def synth(
    target: Annotated[list[str] | None, typer.Option(help="xc7, ecp5; both if none is named.")] = None,
    top: Annotated[str, typer.Option(help="Module to start from: switch, nic, or a name of hw/rtl.")] = "pen_switch",
    ports: Annotated[
        int | None, typer.Option(min=1, max=8, help="Ports; if nothing is said, 4, of the card 1.")
    ] = None,
    host: Annotated[bool, typer.Option("--host", help="The last port of the switch is the host's.")] = False,
    no_ats: Annotated[bool, typer.Option("--no-ats", help="The card without ATS.")] = False,
    route: Annotated[
        bool, typer.Option("--route", help="Place and route the whole on the ECP5, too: the clock that it meets.")
    ] = False,
    seeds: Annotated[int, typer.Option(min=1, help="With --route: from so many seeds, 1 and on; one synthesis.")] = 1,
    grow: Annotated[
        bool, typer.Option("--growth", help="Instead: the switch with other numbers of streams, ports, gate entries.")
    ] = False,
    update_docs: Annotated[bool, typer.Option("--update-docs", help="Put the tables into docs/synthesis.md.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Synthesis by Yosys: cost per block, no latch, every large memory a block RAM."""
    from penstock.hardware import growth, place
    from penstock.hardware.synth import CARD, TARGETS, synthesize, update_documentation, update_section

    top = top if top.startswith("pen_") else f"pen_{top}"
    fewest, most, usual = (1, 4, 1) if top == CARD else (2, 8, 4)
    ports = usual if ports is None else ports
    if not fewest <= ports <= most:
        raise InputError(f"{top} has no such number of ports", allowed=f"{fewest} to {most}", file=f"--ports {ports}")
    targets = target or list(TARGETS)
    rows: list[dict[str, Any]] = []
    if grow and (route or host or top != "pen_switch"):
        raise InputError("is of the whole switch", allowed="no --route, --host or --top beside it", file="--growth")
    if host and top != "pen_switch":
        raise InputError("is a port of the switch", allowed="no --top beside it", file="--host")
    if no_ats and top != CARD:
        raise InputError("is a parameter of the card", allowed="--top nic beside it", file="--no-ats")
    if no_ats and update_docs:
        raise InputError("is not the card of the tables", allowed="no --update-docs beside it", file="--no-ats")
    parameters = ({"HOST": 1} if host else {}) | ({"ATS": 0} if no_ats else {})
    if route and "ecp5" not in targets:
        raise InputError("places on the ECP5", allowed="no --target, or --target ecp5", file="--route")
    for name in targets if grow else ():
        sizes = []
        for size in growth.growth(name):
            sizes.append(size)
            rows += size.rows()
            if not as_json:
                say(growth.markdown([size]).splitlines()[-1])
        if update_docs:
            growth.update_documentation(name, sizes)
    results = [synthesize(name, top, ports, parameters) for name in targets] if not grow else []
    if update_docs and results:
        update_documentation(results)
    for result in results:
        rows += result.rows()
        if not as_json:
            _print_synthesis(result)
    if route:
        placed = place.place_seeds(
            top, parameters={"PORTS": ports, **parameters}, placer=place.PLACER, seeds=range(1, seeds + 1)
        )
        rows += place.rows(placed)
        if not as_json:
            say(place.markdown(placed))
        if update_docs:
            update_section(place.mark(top), place.markdown(placed))
    if not as_json:
        for row in rows:
            if not row["ok"]:
                allowed = row.get("goal", row.get("bound"))
                say(f"{row['id']}: {row['measured']:g}, goal {allowed:g}")
    _finish(rows, as_json)


def _print_synthesis(result: "Synthesis") -> None:
    from penstock.hardware.synth import QUANTITIES

    console = output()
    console.print(result.title, markup=False)
    table = new_table(["block"], ["instances", *QUANTITIES.values()])
    for block in result.blocks:
        table.add_row(block.name, str(block.instances), *(f"{block.used[q]:g}" for q in QUANTITIES))
    table.add_section()
    table.add_row("all", "", *(f"{result.total(q):g}" for q in QUANTITIES))
    print_whole(table, console)
    for memory in result.memories:
        if not memory.ok:
            text = f"memory {memory.name}, {memory.words} x {memory.width} bit, became {memory.became}"
            console.print(text, markup=False, highlight=False)
    for latch in result.latches:
        console.print(f"latch {latch}", markup=False, highlight=False)


@app.command()
def bitstream(
    name: Annotated[str, typer.Argument(metavar="[BOARD]", help="Of hw/board.")] = "versa_ecp5",
    seed: Annotated[int, typer.Option(help="Of the placement; another one can be faster or slower.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Folder to write to; build/BOARD if not given.")] = None,
    allow_slow: Annotated[
        bool, typer.Option("--allow-slow", help="Write the files even if a clock is not met; still fails.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """The bitstream of a board by Yosys, nextpnr and ecppack, its pins and clocks checked; takes 10 to 30 minutes."""
    from penstock.hardware.bitstream import build
    from penstock.hardware.boards import board

    folder = out or Path("build") / name
    check_folder(folder, "--out")
    made = build(board(name), seed)
    written = made.write(folder) if made.ok or allow_slow else []
    if not as_json:
        for row in made.rows:
            line = f"{row['quantity']}: {row['measured']:,} of {row['goal']:,} {row['unit']}"
            say(line + ("" if row["ok"] else " NOT MET"))
        say(*made.slowest)
        text = "written: " + ", ".join(map(str, written)) if written else "a clock is not met: nothing written"
        say(text)
    _finish(made.rows, as_json)


@app.command()
def register(
    name: Annotated[str, typer.Argument(help="As docs/registers.md has it, such as port_vlan[1].")],
    value: Annotated[str | None, typer.Argument(help="To write, such as 12 or 0xff; without one it is read.")] = None,
    device: Annotated[Path, typer.Option("--uart", help="Serial line of the board.")] = Path("/dev/ttyUSB1"),
    baud: Annotated[int, typer.Option(min=1, max=12_000_000, help="Of the serial line.")] = 1_000_000,
    as_json: JsonOption = False,
) -> None:
    """Reads or writes a register of a switch on a board."""
    from penstock.hardware.uart import find, opened, read, write

    one = find(name)
    try:
        number = None if value is None else int(value, 0)
    except ValueError:
        raise InputError("is not a number", allowed="such as 12 or 0xff", file=f"VALUE {value}") from None
    with opened(device, baud) as bus:
        if number is not None:
            write(bus, one, number)
            found = number
        else:
            found = read(bus, one)
    fields = {field.name: field.extract(found) for field in one.fields.values()}
    if as_json:
        answer({"ok": True, "register": name, "value": found, "fields": fields})
        return
    if number is not None:
        return
    parts = ", ".join(f"{field} {number:#x}" for field, number in fields.items())
    say(f"{name} = {found:#x}: {parts}")


@app.command()
def host(
    first: Annotated[str, typer.Argument(help="Linux interface at the host port of the first switch.")],
    second: Annotated[str, typer.Argument(help="Another one, at the host port of the second.")],
    nodes: Annotated[Literal["rtl", "model"], typer.Option(help="What the switches are.")] = "rtl",
) -> None:
    """Two switches in a row between two Linux interfaces, by their host ports; until interrupted. Takes root."""
    from penstock.hardware.host_line import HostLine, carry, hardware, model, opened

    with opened(first) as one, opened(second) as other:
        line = HostLine(hardware if nodes == "rtl" else model)
        say(f"{first} - {second}: ready")
        names = (first, second)
        carry(
            line,
            (one, other),
            lambda end, frame: say(f"{names[end]}: {len(frame)} bytes for {frame[:6].hex('-')}"),
            lambda end, stamp: say(f"{names[end]}: frame {stamp.tag} left port {stamp.port} at {stamp.ns} ns"),
        )


@app.command()
def mailbox(
    interface: Annotated[str, typer.Argument(help="Linux interface at the board's host port.")],
    device: Annotated[Path, typer.Option("--uart", help="Serial line of the board.")] = Path("/dev/ttyUSB1"),
    baud: Annotated[int, typer.Option(min=1, max=12_000_000, help="Of the serial line.")] = 1_000_000,
) -> None:
    """A Linux interface at the host port of a board, by its serial line; until interrupted. Takes root."""
    from penstock.hardware.host_line import opened as opened_interface
    from penstock.hardware.mailbox import Mailbox, carry
    from penstock.hardware.uart import opened

    with opened(device, baud) as bus, opened_interface(interface) as one:
        box = Mailbox(bus)
        say(f"{interface}: ready")
        carry(
            box,
            one,
            lambda port, frame: say(f"from port {port}: {len(frame)} bytes for {frame[:6].hex('-')}"),
            lambda stamp: say(f"frame {stamp.tag} left port {stamp.port} at {stamp.ns} ns"),
        )


@app.command()
def docs() -> None:
    """Writes docs/registers.md and the C header from the SystemRDL source."""
    from penstock.hardware.registers import documentation, write_c_header

    data.page("registers.md").write_text(documentation())
    write_c_header(hardware_folder() / "regs" / "pen_switch.h")
