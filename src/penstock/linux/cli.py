# SPDX-License-Identifier: Apache-2.0
"""`penstock linux`: a scenario's host as qdiscs of Linux."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.markup import escape

from penstock.command.answer import answer
from penstock.command.console import output, warn
from penstock.command.ending import end
from penstock.command.options import JsonOption, ScenarioArgument
from penstock.linux.changing import need_root, tell, undone_when_told_to_end
from penstock.linux.errors import ApplyError, CollectedHostError, HostError
from penstock.words import count

if TYPE_CHECKING:
    from penstock.linux.compare import Difference
    from penstock.linux.foreign.lint import Finding
    from penstock.linux.host import ThisHost
    from penstock.linux.plan import HostPlan

app = typer.Typer(no_args_is_help=True, help="A host of the scenario as queueing disciplines of Linux.")

HostArgument = Annotated[str, typer.Argument(metavar="HOST", help="A station or bridge with a linux table.")]


@app.command()
def show(scenario: ScenarioArgument, host: HostArgument, as_json: JsonOption = False) -> None:
    """Print the exact tc, ip and ethtool commands, and how each stream finds its queue. Changes nothing."""
    from penstock.linux import show as shown

    plan = _plan(scenario, host)
    if as_json:
        answer(shown.as_json(plan))
    else:
        shown.show(plan, output())


@app.command()
def apply(
    scenario: ScenarioArgument,
    host: HostArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Also change an interface that has the default route.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check the host and print, but change nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Change this host, read back and compare; all or nothing. Needs CAP_NET_ADMIN."""
    from penstock.linux import apply as changes
    from penstock.linux.host import ThisHost

    plan = _plan(scenario, host)
    if not dry_run:
        need_root("linux apply")
    with undone_when_told_to_end(), ThisHost() as this:
        if changes.applied(plan, this):
            found = changes.verify(plan, this)
            if found:
                what = "something else of an earlier apply is there"
                raise HostError(what, f"penstock linux remove {scenario} {host}, then apply")
            tell(as_json, {"ok": True, "changed": False}, "already applied, and as planned")
            return
        notes = _prepare(plan, this, yes)
        if dry_run:
            _dry(plan, notes, as_json)
            return
        changes.apply(plan, this)
    names = ", ".join(port.interface for port in plan.ports)
    _warn(notes, as_json)
    tell(
        as_json,
        {"ok": True, "changed": True, "warnings": notes},
        f"applied to {names}: {_counted(plan)}, read back and equal",
    )


@app.command()
def verify(
    scenario: ScenarioArgument,
    host: HostArgument,
    file: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="FILE", help="Instead of this host: a script of tc commands, or tc -j qdisc show."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare this host with the scenario, entry by entry; exit status 1 with each difference. Changes nothing."""
    from penstock.linux import apply as changes
    from penstock.linux.host import ThisHost

    plan = _plan(scenario, host)
    if file is not None:
        from penstock.linux.foreign import verify as written

        differing, findings = written.verify(file, plan)
        _tell_differences(differing, plan, as_json, findings)
    with undone_when_told_to_end(), ThisHost() as this:
        found = changes.verify(plan, this)
    _tell_differences(found, plan, as_json)


@app.command()
def remove(scenario: ScenarioArgument, host: HostArgument, as_json: JsonOption = False) -> None:
    """Undo exactly what apply changed. Needs CAP_NET_ADMIN."""
    from penstock.linux import apply as changes
    from penstock.linux.host import ThisHost

    plan = _plan(scenario, host)
    need_root("linux remove")
    with undone_when_told_to_end(), ThisHost() as this:
        done, left = changes.remove(plan, this)
    if left:
        raise ApplyError("not all could be undone:\n" + "\n".join(left))
    said = f"removed from {', '.join(done)}" if done else "nothing of an apply is there"
    tell(as_json, {"ok": True, "removed": done}, said)


def _plan(scenario: Path, host: str) -> HostPlan:
    from penstock.linux.plan import plan_host
    from penstock.scenario import load

    return plan_host(load(scenario), host)


def _prepare(plan: HostPlan, this: ThisHost, yes: bool) -> list[str]:
    """Raises what is in the way; gives what is probably not meant."""
    from penstock.linux.host import kernel_version
    from penstock.linux.netlink.features import driver, speed_mbps
    from penstock.linux.preflight import advice, preflight

    found = preflight(plan, this, this.default_routes(), yes)
    if found:
        raise CollectedHostError(found)
    names = [port.interface for port in plan.ports]
    drivers, speeds = {name: driver(name) for name in names}, {name: speed_mbps(name) for name in names}
    return advice(plan, drivers, kernel_version(), speeds)


def _dry(plan: HostPlan, notes: list[str], as_json: bool) -> None:
    from penstock.linux import show as shown

    if as_json:
        answer({**shown.as_json(plan), "changed": False, "warnings": notes})
        return
    _warn(notes, as_json)
    shown.show(plan, output())


def _counted(plan: HostPlan) -> str:
    from penstock.linux.qdisc import Taprio

    qdiscs = [placed.qdisc for port in plan.ports for placed in port.qdiscs]
    entries = sum(len(qdisc.entries) for qdisc in qdiscs if isinstance(qdisc, Taprio))
    vlans = sum(len(port.vlans) for port in plan.ports)
    counts = {"qdisc": len(qdiscs), "gate entry": entries, "VLAN interface": vlans}
    return ", ".join(count(number, what) for what, number in counts.items() if number)


def _tell_differences(
    found: list[Difference], plan: HostPlan, as_json: bool, findings: Sequence[Finding] = ()
) -> NoReturn:
    if as_json:
        rows = {"differences": [asdict(each) for each in found], "findings": [asdict(each) for each in findings]}
        answer({"ok": not found and not findings, "host": plan.host, **rows})
    else:
        for difference in found:
            output().print(f"[red]differs[/] {escape(str(difference))}", soft_wrap=True)
        for finding in findings:
            output().print(f"[yellow]wrong[/] {escape(str(finding))}", soft_wrap=True)
        if not found and not findings:
            output().print(f"as planned: {_counted(plan)}")
    end(not found and not findings)


def _warn(notes: list[str], as_json: bool) -> None:
    for note in notes if not as_json else ():
        warn(note)
