# SPDX-License-Identifier: Apache-2.0
"""Plans put into effect, all or nothing, and undone again."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from penstock.linux.commands import SEGMENTATION
from penstock.linux.compare import Difference, differences
from penstock.linux.errors import ApplyError, KernelError
from penstock.linux.host import Host
from penstock.linux.journal import Change, Journal
from penstock.linux.netlink.links import Link
from penstock.linux.plan import HostPlan, PortPlan
from penstock.linux.qdisc import ROOT, Placed, show_handle
from penstock.linux.signals import Signals


def apply(plan: HostPlan, host: Host, folder: Path | None = None) -> None:
    """Changes the host, reads back and compares.

    On an error, a difference or a signal all is undone before `ApplyError`, or what the signal raises, goes on.
    `preflight` has to have found nothing wrong before.
    """
    links = host.links()
    journals = [Journal(port.interface, links[port.interface].index, folder) for port in plan.ports]
    signals = Signals()
    with signals.held():
        try:
            for port, journal in zip(plan.ports, journals, strict=True):
                for step in _steps(port, host, links[port.interface], journal):
                    signals.check()
                    step()
            found = verify(plan, host)
            if found:
                raise ApplyError("what the kernel shows is not what was asked for:\n" + "\n".join(map(str, found)))
            signals.check()
        except BaseException as error:
            left = [each for journal in reversed(journals) for each in undo(journal, host)]
            if left:
                raise ApplyError(f"{error}; and not all could be undone:\n" + "\n".join(left)) from error
            raise


def remove(plan: HostPlan, host: Host, folder: Path | None = None) -> tuple[list[str], list[str]]:
    """Undoes what was applied: the interfaces that had something, and what could not be undone."""
    links = host.links()
    done, left = [], []
    for port in reversed(plan.ports):
        link = links.get(port.interface)
        if link is None:
            continue
        journal = Journal(port.interface, link.index, folder)
        if journal.read():
            with Signals().held():
                left += undo(journal, host)
            done.append(port.interface)
    return done, left


def applied(plan: HostPlan, host: Host, folder: Path | None = None) -> list[str]:
    """The interfaces at which something of an earlier run is there."""
    links = host.links()
    return [
        port.interface
        for port in plan.ports
        if port.interface in links and Journal(port.interface, links[port.interface].index, folder).read()
    ]


def verify(plan: HostPlan, host: Host) -> list[Difference]:
    """What the host has otherwise than planned."""
    return [each for port in plan.ports for each in differences(port, host)]


def undo(journal: Journal, host: Host) -> list[str]:
    """Undoes the changes from the last to the first; gives what could not be."""
    left: list[str] = []
    for change in reversed(list(journal.changes)):
        try:
            _undo(change, journal, host)
        except KernelError as error:
            left.append(f"{journal.interface}: {change.what} {change.name}: {error}")
            continue
        journal.drop(change)
    return left


def _steps(port: PortPlan, host: Host, link: Link, journal: Journal) -> Iterator[Callable[[], None]]:
    """The changes of an interface in order; what each will be is written down before it is made."""
    name = port.interface
    for feature in SEGMENTATION:
        if host.feature(name, feature):
            journal.add(Change("feature", feature))
            yield _asked(f"{name}: offload {feature} off", partial(host.turn_feature, name, feature, False))
    for placed in port.qdiscs:
        if placed.is_root:
            journal.add(Change("root", placed.qdisc.kind, placed.handle))
        what = f"{name}: {placed.qdisc.kind} at {show_handle(placed.parent)}"
        yield _asked(what, partial(host.replace_qdisc, link, placed), placed.qdisc.kind)
    if port.set_again is not None:
        yield _asked(f"{name}: taprio at root, again", partial(host.replace_qdisc, link, port.set_again))
    for vlan in port.vlans:
        journal.add(Change("vlan", vlan.name))
        what = f"{name}: VLAN interface {vlan.name}"
        yield _asked(what, partial(host.add_vlan, link, vlan))
        yield _asked(what, partial(_set_up, host, vlan.name))


def _set_up(host: Host, interface: str) -> None:
    host.set_up(host.links()[interface])


def _asked(what: str, request: Callable[[], None], kind: str | None = None) -> Callable[[], None]:
    """The request; its refusal says what was asked for."""

    def ask() -> None:
        try:
            request()
        except KernelError as error:
            hint = f"; this kernel has none: is sch_{kind} built or installed?" if _unknown(error, kind) else ""
            raise ApplyError(f"{what}: {error}{hint}") from error

    return ask


def _unknown(error: KernelError, kind: str | None) -> bool:
    return kind is not None and error.code == errno.ENOENT


def _undo(change: Change, journal: Journal, host: Host) -> None:
    links = host.links()
    if change.what == "feature":
        host.turn_feature(journal.interface, change.name, True)
    elif change.what == "vlan":
        link = links.get(change.name)
        if link is not None and link.vlan is not None and link.vlan.link == journal.interface:
            host.delete_link(link)
    else:
        link = next(each for each in links.values() if each.index == journal.index)
        # What somebody else has put there since, or what was there because ours was refused, stays.
        if any(_is(placed, change) for placed in host.qdiscs(link)):
            host.delete_root(link)


def _is(placed: Placed, change: Change) -> bool:
    return placed.parent == ROOT and (placed.handle, placed.qdisc.kind) == (change.handle, change.name)
