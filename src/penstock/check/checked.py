# SPDX-License-Identifier: Apache-2.0
"""A scenario as it is checked: its streams, and what is probably not meant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.bound.analysis import analyse
from penstock.bound.contracts import Contract
from penstock.check.deadlines import impossible, unproven
from penstock.check.storage import storage_findings
from penstock.check.streams import CheckedStream, treated
from penstock.collection import without_collection
from penstock.scenario.findings import Finding, Places
from penstock.scenario.network import Network
from penstock.scenario.priorities import name_of


@dataclass(frozen=True)
class Checked:
    """What is known of a network before it runs."""

    network: Network
    streams: tuple[CheckedStream, ...]
    warnings: tuple[Finding, ...]
    impossible: tuple[Finding, ...]  # deadlines that no bound can meet
    notes: tuple[str, ...]  # what is as it should be, but surprises many

    def as_json(self) -> dict[str, Any]:
        """What `penstock check --json` prints."""
        return {
            "ok": not self.impossible,
            "name": self.network.name,
            "streams": {each.stream.name: each.as_json() for each in self.streams},
            "warnings": [str(each) for each in self.warnings],
            "impossible": [str(each) for each in self.impossible],
            "findings": [each.as_json() for each in (*self.impossible, *self.warnings)],
            "notes": list(self.notes),
            "bound_ns": {each.stream.name: each.as_json()["bound_ns"] for each in self.streams if each.stream.ats},
        }


def check(network: Network) -> Checked:
    """Looks at a network that nothing is wrong with."""
    with without_collection():
        return _check(network)


def _check(network: Network) -> Checked:
    analysis = analyse(network)
    streams = tuple(treated(network, each) for each in analysis.streams)
    places = Places(network.file)
    broken = [
        places.finding(("streams", each.stream.name, "ats"), _said(each.contract))
        for each in streams
        if each.contract is not None and not each.contract.holds
    ]
    room = tuple(storage_findings(network, places))
    held = [each if isinstance(each, Finding) else places.finding((), each) for each in analysis.warnings]
    unmet = tuple(impossible(network, places))
    late = [each for each in unproven(streams, places) if each.key not in {other.key for other in unmet}]
    return Checked(network, streams, (*held, *broken, *late, *room), unmet, tuple(_notes(network, streams)))


def _said(contract: Contract) -> str:
    return f"the source does not keep rate and burst: {contract.said}; {contract.remedy} would do"


def _notes(network: Network, streams: tuple[CheckedStream, ...]) -> list[str]:
    """That a priority is not a class, where a named map makes it another one."""
    maps = {
        network.bridges[hop.bridge].class_of_pcp
        for each in streams
        for way in each.ways
        for hop in way.hops
        if each.stream.vlan is not None and each.stream.pcp != hop.traffic_class
    }
    said = []
    for table in sorted(maps):
        name = name_of(table)
        named = f'class_of_priority = "{name}"' if name else "class_of_priority"
        said.append(
            f"PCP is not class: by {named} PCP 0 to 7 are of class {', '.join(map(str, table))}"
            + ('; "identity" makes them equal' if name == "stream_reservation" else "")
        )
    return said
