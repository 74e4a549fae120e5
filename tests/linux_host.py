# SPDX-License-Identifier: Apache-2.0
"""A Linux host that is only a dict, to stop it at any point of a change; and scenarios to plan for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from penstock.linux.errors import KernelError
from penstock.linux.netlink.links import Link
from penstock.linux.plan import HostPlan, plan_host
from penstock.linux.qdisc import ROOT, Other, Placed, Vlan
from penstock.scenario import load

SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios"
EXAMPLE = SCENARIOS / "linux"
_DEFAULT = Placed(0, ROOT, Other("mq"))


def example(host: str) -> HostPlan:
    """The plan of a host of scenarios/linux."""
    return plan_host(load(EXAMPLE), host)


class StandInHost:
    """Keeps what it is told; `before` is called ahead of each change and may raise."""

    def __init__(self, *interfaces: str, queues: int = 8) -> None:
        self.there = {name: Link(index + 2, name, queues, True, None) for index, name in enumerate(interfaces)}
        self.placed: dict[int, tuple[Placed, ...]] = {link.index: (_DEFAULT,) for link in self.there.values()}
        self.features = {(name, feature): True for name in interfaces for feature in ("tso", "gso")}
        self.changes = 0
        self.stopped = False
        self.before: Callable[[int], None] = lambda number: None
        self.keeps: Callable[[Placed], Placed] = lambda placed: placed

    def state(self) -> object:
        """All that can be seen of it."""
        return dict(self.there), dict(self.placed), dict(self.features)

    def _change(self) -> None:
        self.changes += 1
        self.before(self.changes)

    def links(self) -> Mapping[str, Link]:
        return dict(self.there)

    def qdiscs(self, link: Link) -> tuple[Placed, ...]:
        return self.placed[link.index]

    def feature(self, interface: str, name: str) -> bool | None:
        return self.features.get((interface, name))

    def replace_qdisc(self, link: Link, placed: Placed) -> None:
        self._change()
        before = self.placed[link.index]
        changed = any(p.parent == placed.parent and p.handle == placed.handle for p in before)
        others = () if placed.is_root and not changed else before
        # As the kernel has it: what is put below taprio stops its gates until they are set anew.
        self.stopped = not placed.is_root and any(p.qdisc.kind == "taprio" for p in before)
        self.placed[link.index] = (
            *(p for p in others if p.is_root and not placed.is_root),
            *([self.keeps(placed)] if placed.is_root else ()),
            *(p for p in others if not p.is_root and p.parent != placed.parent),
            *(() if placed.is_root else [self.keeps(placed)]),
        )

    def delete_root(self, link: Link) -> None:
        self._change()
        self.placed[link.index] = (_DEFAULT,)

    def turn_feature(self, interface: str, name: str, on: bool) -> None:
        self._change()
        self.features[interface, name] = on

    def add_vlan(self, link: Link, vlan: Vlan) -> None:
        self._change()
        if vlan.name in self.there:
            raise KernelError(17, None)
        index = max(each.index for each in self.there.values()) + 1
        self.there[vlan.name] = Link(index, vlan.name, 1, False, "vlan", vlan)

    def set_up(self, link: Link) -> None:
        self._change()
        self.there[link.name] = replace(link, is_up=True)

    def delete_link(self, link: Link) -> None:
        self._change()
        del self.there[link.name]
