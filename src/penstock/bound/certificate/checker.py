# SPDX-License-Identifier: Apache-2.0
"""Every queue of which something is claimed, asked whether it follows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from penstock.bound.certificate.arrivals import BYTE, Arrivals, Class
from penstock.bound.certificate.credit import keeps_by_credit, most_credit
from penstock.bound.certificate.curve import Curve, Line
from penstock.bound.certificate.gate import Gate
from penstock.bound.certificate.service import Above, Service
from penstock.bound.certificate.wait import keeps

_BIT = 10**12


@dataclass(frozen=True)
class Refusal:
    """A queue of which the claim does not hold, or says nothing that follows."""

    port: int
    traffic_class: int
    why: str


@dataclass(frozen=True)
class Queue:
    """A class of a port: what comes to it and what it is served, if no wait is longer than is claimed."""

    port: int
    number: int
    of: Class
    beside: Mapping[int, Class]
    arrivals: Curve | None  # None: nothing limits what comes
    service: Service
    credit: Mapping[str, int] | None
    most: Fraction | None  # credit
    claimed: int | None


class Checker:
    """A claim, queue by queue."""

    def __init__(self, network: Mapping[str, Any], waits: Mapping[tuple[int, int], int]) -> None:
        self.network, self.waits = network, waits
        self.arrivals = Arrivals(network, waits)

    def refusals(self) -> Iterator[Refusal]:
        """Of all queues of which something is claimed."""
        for number in range(len(self.network["ports"])):
            for queue in self.queues(number):
                why = None if queue.claimed is None else self._against(queue, queue.claimed)
                if why is not None:
                    yield Refusal(number, queue.number, why)

    def queues(self, number: int) -> Iterator[Queue]:
        """Of a port, those first that go first."""
        port, classes = self.network["ports"][number], self.arrivals.classes[number]
        turns, rate = port.get("turns", 0), port["slowest_bps"]
        shapers = {credit["class"]: credit for credit in port.get("credit", [])}
        gates = port.get("gates")

        def rank(of: int) -> int:
            return int(turns).bit_length() - 1 if turns >> of & 1 else of

        def lasts(amount: int) -> int:
            return -(-amount // int(rate))

        above: list[tuple[int, Above]] = []
        for own in sorted(classes, key=lambda of: (rank(of), of), reverse=True):
            of = classes[own]
            beside = {k: each for k, each in classes.items() if k != own and rank(k) == rank(own)}
            lower = {k: each.longest for k, each in classes.items() if rank(k) < rank(own)}
            if of.filling:
                lower[own] = of.filling
            higher = tuple(each for level, each in above if level > rank(own))
            blocking = lower | {k: each.longest for k, each in beside.items()}
            gate = None
            if gates is not None:
                across = {k: lasts(each) for k, each in blocking.items()}
                gate = Gate(gates, own, lasts(of.longest), across, at_any_time=not of.is_only_filled)
            low = 0 if gate is not None else max(lower.values(), default=0)
            service = Service(rate, low, higher, gate, None if own in shapers else self.arrivals.frames(port, of))
            arrivals = None if port.get("unknown") else self.arrivals.together(of)
            limit: Line | None = None
            most: Fraction | None = None
            if own in shapers:
                credit = shapers[own]
                most = most_credit(service, credit["fastest_bps"])
                if most is not None:
                    limit = self._limit(port, credit, of, most)
            claimed = self.waits.get((number, own))
            yield Queue(number, own, of, beside, arrivals, service, shapers.get(own), most, claimed)
            waited = None if claimed is None else claimed + lasts(of.longest)
            known = arrivals
            if gates is not None or own in shapers:
                known = None if waited is None or arrivals is None else arrivals.moved(waited)
            above.append((rank(own), Above(own, None if of.filling else known, limit)))

    def _against(self, queue: Queue, claimed: int) -> str | None:
        """Why a claim does not follow."""
        port, of, service, arrivals = self.network["ports"][queue.port], queue.of, queue.service, queue.arrivals
        if claimed < 0:
            return "nobody waits for less than no time"
        if arrivals is None:
            return "nothing limits what comes"
        if queue.credit is not None:
            return self._by_credit(port, queue.credit, service.gate, queue.most, arrivals, of.shortest, claimed)
        if port.get("turns", 0) >> queue.number & 1:
            is_kept = self._in_turns(service, of, queue.beside, arrivals, claimed)
        else:
            is_kept = keeps(service, arrivals, of.shortest, claimed) or (
                of.shortest == of.longest
                and service.is_undisturbed
                and service.frames is not None
                and keeps(replace(service, each=of.longest), arrivals, of.shortest, claimed)
            )
        return None if is_kept else "a frame may wait for longer"

    def _limit(self, port: Mapping[str, Any], credit: Mapping[str, int], of: Class, most: Fraction) -> Line:
        rate, paid = port["fastest_bps"], of.shortest - credit["free_bytes"] * BYTE
        least = Fraction(of.longest * (rate - credit["slowest_bps"]), rate)
        whole = Fraction(of.shortest, paid)
        return (most + least) * whole, min(credit["fastest_bps"] * whole, Fraction(rate))

    def _by_credit(
        self, port: Mapping[str, Any], credit: Mapping[str, int], gate: Gate | None, most: Fraction | None,
        arrivals: Curve, shortest: int, wait: int,
    ) -> str | None:  # fmt: skip
        if most is None or most > credit["most_bits"] * _BIT:
            return "its credit has no limit"
        spent = arrivals.with_more(Fraction(port["fastest_bps"], port["slowest_bps"]), Fraction(0), shortest)
        keeps = keeps_by_credit(gate, credit["slowest_bps"], most, spent, 0, wait)
        return None if keeps else "a frame may wait for longer"

    def _in_turns(self, service: Service, of: Class, beside: Mapping[int, Class], arrivals: Curve, wait: int) -> bool:
        others = sum(each.longest for each in beside.values())
        begun = max((each.longest for each in beside.values()), default=0)
        low = service.low if service.gate is not None else max(service.low, begun)
        factor = Fraction(of.shortest + others, of.shortest)
        with_others = arrivals.with_more(factor, Fraction(others), of.shortest)
        if keeps(replace(service, low=low, counted=False), with_others, 0, wait):
            return True
        if service.gate is not None:
            return False
        found = {k: None if each.filling else self.arrivals.together(each) for k, each in beside.items()}
        all_of = tuple(Above(k, curve, None) for k, curve in found.items() if curve is not None)
        if len(all_of) < len(found):
            return False
        return keeps(Service(service.rate, service.low, (*service.above, *all_of), None), arrivals, of.shortest, wait)


def refusals(certificate: Mapping[str, Any]) -> list[Refusal]:
    """Of which queues a certificate claims what does not follow; none: all its waits are bounds."""
    waits = {(port, traffic_class): wait for port, traffic_class, wait in certificate["waits"]}
    return list(Checker(certificate["network"], waits).refusals())
