# SPDX-License-Identifier: Apache-2.0
"""`penstock lab` and `penstock doctor`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from penstock.command.answer import answer
from penstock.command.console import output, tell
from penstock.command.ending import end, interruptible
from penstock.command.options import JsonOption, YesOption
from penstock.errors import InputError
from penstock.lab.emulation import KINDS, MOST_ICOUNT_SHIFT, Emulation
from penstock.show.output import CsvOption, Form, WideOption, print_summary

WhereOption = Enum("WhereOption", {"AUTO": "auto", "HERE": "here", "GUEST": "guest"})
NodesOption = Enum("NodesOption", {"LINUX": "linux", "PLANE": "plane"})
EmulationOption = Enum("EmulationOption", {"AUTO": "auto", "KVM": "kvm", "TCG": "tcg", "ICOUNT": "icount"})


def lab(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="SCENARIO", help="A folder or file; with --shell a command.")
    ] = None,
    shell: Annotated[bool, typer.Option("--shell", help="Run a command in the guest: --shell -- COMMAND...")] = False,
    prepare: Annotated[
        bool, typer.Option("--prepare", help="Get and unpack the newest real-time kernel, and missing programs.")
    ] = False,
    emulation: Annotated[
        EmulationOption,
        typer.Option(help="Of the guest. auto: KVM where it works; else icount for a scenario, tcg for a command."),
    ] = EmulationOption.AUTO,
    icount_shift: Annotated[
        int, typer.Option(min=0, max=MOST_ICOUNT_SHIFT, help="With icount: an instruction takes 2^N ns.")
    ] = 0,
    where: Annotated[
        WhereOption, typer.Option("--on", help="This machine's kernel or a guest; auto: here if it has all qdiscs.")
    ] = WhereOption.AUTO,
    nodes: Annotated[
        NodesOption | None,
        typer.Option(help="What bridges are: Linux's own or data planes; what the scenario says, else Linux's own."),
    ] = None,
    duration: Annotated[str | None, typer.Option(metavar="TIME", help="Instead of the scenario's.")] = None,
    transmit_offset: Annotated[
        str, typer.Option(metavar="TIME", help="How long before its launch time the kernel gets a frame.")
    ] = "500us",
    best_effort: Annotated[bool, typer.Option("--best-effort", help="Without SCHED_FIFO and locked memory.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the results go; out/NAME-lab if not given.")
    ] = None,
    wide: WideOption = False,
    as_csv: CsvOption = False,
    as_json: JsonOption = False,
    yes: YesOption = False,
    timeout: Annotated[int, typer.Option(min=1, metavar="SECONDS", help="The most a command may take.")] = 60,
) -> None:
    """Run a scenario on real Linux, or a command on the laboratory's real-time kernel."""
    form = Form.of(wide=wide, as_csv=as_csv, as_json=as_json)
    chosen = _emulation(emulation.value, icount_shift)
    _check_words(words or [], shell, prepare)
    with interruptible():
        if prepare:
            from penstock.lab.setup import prepare as get_ready

            kernel = get_ready(tell_of_lab, renew=True)
            tell_of_lab(f"kernel {kernel.release} {kernel.version} in {kernel.folder}")
        if shell:
            raise typer.Exit(_run_command(words or [], chosen, timeout))
        for scenario in words or []:
            place = None if where.value == "auto" else where.value == "guest"
            from penstock.scenario.limits import DURATION
            from penstock.scenario.units import read_option

            offset = read_option(DURATION, transmit_offset, "--transmit-offset") // 1000
            real = nodes.value if nodes is not None else _real_nodes(Path(scenario))
            asked = Asked(Path(scenario), out, place, chosen, duration, offset, not best_effort, real)
            end(run_scenario(asked, form))


@dataclass(frozen=True)
class Asked:
    """How a scenario is to be run on real Linux."""

    scenario: Path
    out: Path | None = None
    guest: bool | None = None
    emulation: Emulation | None = None
    duration: str | None = None
    transmit_offset_ns: int = 500_000
    real_time: bool = True
    nodes: str | None = "linux"  # what the bridges are; None: what the scenario says


def run_scenario(asked: Asked, form: Form) -> bool:
    """Runs it, prints its summary, and says whether every requirement was met."""
    from dataclasses import replace

    from penstock.lab.programs import How
    from penstock.lab.run import Where, run
    from penstock.scenario import load
    from penstock.scenario.limits import DURATION
    from penstock.scenario.units import read_option

    plain = load(asked.scenario)
    cards = sum(station.card is not None for station in plain.stations.values())
    if cards:
        from penstock.nic.guests import run_with_guests
        from penstock.nic.laboratory import run_with_guest

        if asked.duration is not None:
            plain = replace(plain, duration_ps=read_option(DURATION, asked.duration, "--duration"))
        run_cards = run_with_guest if cards == 1 else run_with_guests
        result = run_cards(plain, asked.out or Path("out") / f"{plain.name}-lab", tell_of_lab)
        print_summary(result.summary, result.folder, form)
        return bool(result.summary["ok"])
    network = load(asked.scenario, asked.nodes)
    if network.tilings:
        from penstock.torus.of_scenario import torus_of
        from penstock.torus.survey import survey

        return survey(torus_of(network), form is Form.JSON)
    if asked.duration is not None:
        network = replace(network, duration_ps=read_option(DURATION, asked.duration, "--duration"))
    target = asked.out or Path("out") / f"{network.name}-{_suffix(network.nodes)}"
    where, how = Where(asked.guest, asked.emulation), How(asked.transmit_offset_ns, asked.real_time)
    result = run(network, target, where, how, tell_of_lab)
    print_summary(result.summary, result.folder, form)
    return bool(result.summary["ok"])


def _real_nodes(scenario: Path) -> str | None:
    """Linux's own bridges, unless the scenario itself says that its bridges are real."""
    from penstock.scenario import load

    return None if load(scenario).is_real else "linux"


def _suffix(nodes: str) -> str:
    return "plane" if nodes == "plane" else "lab"


def _emulation(name: str, shift: int) -> Emulation | None:
    return next((Emulation(kind, shift) for kind in KINDS if kind == name), None)


def _check_words(words: list[str], shell: bool, prepare: bool) -> None:
    if shell and not words:
        raise InputError("no command", allowed="--shell -- COMMAND...", file="penstock lab")
    if not (words or prepare):
        raise InputError("nothing to do", allowed="SCENARIO, --prepare, or --shell -- COMMAND...", file="penstock lab")
    if not shell and len(words) > 1:
        raise InputError(f"{len(words)} scenarios", allowed="one, or a command after --shell --", file="penstock lab")


def doctor(
    as_json: JsonOption = False,
) -> None:
    """What this machine can do, what is missing, and what installs it; exit status 1 if the lab cannot run at all."""
    from penstock.lab import doctor as examination
    from penstock.lab.show import show

    with interruptible():
        findings = examination.examine()
    if as_json:
        answer(examination.as_json(findings))
    else:
        show(findings, output())
    end(examination.can_run_lab(findings))


def _run_command(command: list[str], emulation: Emulation | None, timeout_s: int) -> int:
    from penstock.lab.guest import Guest
    from penstock.lab.setup import prepare as get_ready

    with Guest(get_ready(tell_of_lab), emulation) as guest:
        tell_of_lab(f"the guest started in {guest.seconds_to_start:.1f} s ({guest.emulation})")
        finished = guest.run(command, timeout_s=timeout_s, cwd=str(Path.cwd()))
    sys.stdout.write(finished.stdout)
    sys.stderr.write(finished.stderr)
    return finished.status


def tell_of_lab(what: str) -> None:
    """A word on standard error about what the laboratory does."""
    tell(f"penstock lab: {what}")
