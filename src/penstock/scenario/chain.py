# SPDX-License-Identifier: Apache-2.0
"""The one place that says how a frame finds its queue on a Linux host, and which PCP it gets.

    stream ──► SO_PRIORITY ──► traffic class ──► class of the qdisc ──► transmit queues
                    └────────► PCP, by the egress map of the VLAN interface

A priority is the PCP, 0 to 7, so that the egress map is the identity. Priorities 8 to 15 are of the class of untagged
frames: a stream without a tag takes the lowest priority that leads there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PRIORITIES = 16  # that a qdisc tells apart: TC_BITMASK + 1
CODE_POINTS = 8
CLASSES = 8


@dataclass(frozen=True)
class QueueRange:
    """Transmit queues that hold the frames of some traffic classes: together a class of `mqprio` and `taprio`."""

    classes: tuple[int, ...]
    first: int
    count: int

    @property
    def numbers(self) -> range:
        """The transmit queues."""
        return range(self.first, self.first + self.count)


@dataclass(frozen=True)
class Chain:
    """From priority to queue and PCP."""

    class_of_pcp: tuple[int, ...]
    class_of_untagged: int
    queues: tuple[QueueRange, ...]

    def priority(self, pcp: int | None) -> int:
        """The SO_PRIORITY of a stream with this PCP; None: without a tag."""
        if pcp is not None:
            return pcp
        return self.priority_map.index(self.class_of_untagged)

    @property
    def priority_map(self) -> tuple[int, ...]:
        """The 802.1Q traffic class of each priority."""
        return (*self.class_of_pcp, *[self.class_of_untagged] * (PRIORITIES - CODE_POINTS))

    @property
    def qdisc_map(self) -> tuple[int, ...]:
        """The class of the qdisc of each priority: what `map` of mqprio and taprio says."""
        return tuple(self.qdisc_class(traffic_class) for traffic_class in self.priority_map)

    @property
    def egress_map(self) -> Mapping[int, int]:
        """The PCP of each priority, for a VLAN interface."""
        return {priority: priority for priority in range(CODE_POINTS)}

    def qdisc_class(self, traffic_class: int) -> int:
        """The class of the qdisc that holds a traffic class."""
        return next(number for number, queue in enumerate(self.queues) if traffic_class in queue.classes)

    def queue(self, traffic_class: int) -> QueueRange:
        """The transmit queues of a traffic class."""
        return self.queues[self.qdisc_class(traffic_class)]

    def mask(self, states: int) -> int:
        """The gate mask of the qdisc: bit k for its class k, from states of the traffic classes."""
        return sum(
            1 << number for number, queue in enumerate(self.queues) if any(states >> k & 1 for k in queue.classes)
        )


def in_order(groups: Sequence[tuple[Sequence[int], int]]) -> tuple[QueueRange, ...]:
    """Queues one after the other from the first on: classes and count of each."""
    found: list[QueueRange] = []
    first = 0
    for classes, count in groups:
        found.append(QueueRange(tuple(classes), first, count))
        first += count
    return tuple(found)


ONE_EACH = in_order([((number,), 1) for number in range(CLASSES)])
