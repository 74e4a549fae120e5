# SPDX-License-Identifier: Apache-2.0
"""A file against the scenario: where it differs, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from penstock.errors import InputError
from penstock.linux.compare import Difference, qdisc_differences, vlan_differences
from penstock.linux.foreign.lint import Finding, lint
from penstock.linux.foreign.printed import read_printed
from penstock.linux.foreign.script import read_script
from penstock.linux.foreign.written import Configuration, Written
from penstock.linux.plan import HostPlan, PortPlan
from penstock.linux.qdisc import Cbs, Placed, Taprio


def read(file: Path, plan: HostPlan) -> Configuration:
    """What a file says; raises `InputError` if it cannot be read."""
    try:
        text = file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"cannot be read: {error}", allowed="a script of tc commands, or JSON of tc", file=file
        ) from None
    if text.lstrip().startswith(("[", "{")):
        only = plan.ports[0].interface if len(plan.ports) == 1 else None
        return read_printed(file, text, only)
    return read_script(file, text)


def verify(file: Path, plan: HostPlan) -> tuple[list[Difference], list[Finding]]:
    """The differences of all interfaces of the plan, and what is wrong."""
    configuration = read(file, plan)
    differences: list[Difference] = []
    findings: list[Finding] = []
    for port in plan.ports:
        written = configuration.get(port.interface)
        if written is None:
            differences.append(Difference(port.interface, "interface", "there", "nothing is said of it"))
            continue
        differences += _differences(port, written)
        findings += lint(port, written)
    return differences, findings


def _differences(port: PortPlan, written: Written) -> Iterator[Difference]:
    found = tuple(written.qdiscs if written.is_script else (_as_planned(port, placed) for placed in written.qdiscs))
    yield from qdisc_differences(port, found)
    if written.is_script:
        names = {vlan.name: vlan for vlan in written.vlans}
        for vlan in port.vlans:
            yield from vlan_differences(port.interface, vlan, names.get(vlan.name))


def _as_planned(port: PortPlan, placed: Placed) -> Placed:
    """With what tc does not print taken as planned: size tables."""
    if not isinstance(placed.qdisc, Taprio | Cbs):
        return placed
    same = [p.qdisc for p in port.qdiscs if p.qdisc.kind == placed.qdisc.kind]
    overhead = getattr(same[0], "overhead_bytes", None) if same else None
    return replace(placed, qdisc=replace(placed.qdisc, overhead_bytes=overhead))
