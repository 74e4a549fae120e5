# SPDX-License-Identifier: Apache-2.0
"""The experiments on real packets: data planes in namespaces, and taprio, the kernel's own, where there is one.

Where this machine's kernel has no taprio it runs in a guest, and a plane runs there too: only runs of one kernel on one
processor are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from penstock.lab.machine import Machine
from penstock.percentile import percentile
from penstock.reproduce.experiment import Case, Found
from penstock.reproduce.laboratory import is_emulated
from penstock.reproduce.outcome import Times
from penstock.reproduce.row import Row
from penstock.reproduce.smartnic_tas import cycle, latency, occupancy, pictures, printed, real_clocks, seen, testbed
from penstock.reproduce.smartnic_tas.flows import FLOWS, watch
from penstock.reproduce.smartnic_tas.place import SCHEDULERS, case
from penstock.reproduce.smartnic_tas.testbed import Played
from penstock.scenario import load

_DURATION_MS = {False: 1_500, True: 400}  # by whether the processor is emulated
_HERE = (("rr", False), ("rr", True), ("sp", False), ("sp", True), ("tas", False), ("tas", True))
_BESIDE = (("taprio", True), ("tas", True))  # on one machine

Runs = Mapping[tuple[str, bool], Played]
Tell = Callable[[str], None]


class OnRealPackets:
    """See `penstock.reproduce.experiment.OwnLaboratory`."""

    def needs(self) -> Sequence[str]:
        """For taprio's run; planes need nothing."""
        return ("taprio", "bridge", "clsact", "flower")

    def note(self, emulated: bool) -> str:
        """Where data planes are."""
        return (
            "the kernel is that of taprio's run, and of the plane beside it; all other planes are on this machine's"
            * emulated
        )

    def found(self, machine: Machine, tell: Tell) -> Mapping[str, Found]:
        """Rows of figures 8 and 9, of a cycle time that changes, and of clocks."""
        with _native(machine) as here:
            runs = {at: _run(here, case(*at), tell) for at in _HERE}
            changed = cycle.play(here, tell)
            clocks = real_clocks.play(here, tell)
        beside = {at: _run(machine, case(*at), tell, " beside the other") for at in _BESIDE}
        return {
            "fig8": _latencies(runs, beside, machine.about.emulation),
            "fig9": _queues(runs),
            "cycle": cycle.seen(changed),
            "clocks": real_clocks.seen(clocks),
        }


@contextmanager
def _native(machine: Machine) -> Iterator[Machine]:
    """The kernel of this machine itself, where a plane's times are real."""
    if not is_emulated(machine.about):
        yield machine
        return
    with Machine() as here:
        yield here


def _run(machine: Machine, of: Case, tell: Tell, where: str = "") -> Played:
    scheduler, aligned = of.at["scheduler"], bool(of.at["aligned"])
    tell(f"real packets: {latency.said(scheduler, aligned)}{where}")
    return testbed.play(machine, of, _DURATION_MS[is_emulated(machine.about)])


def bound_us(of: Case) -> float | None:
    """Of ST, where a switch takes no time: what gates, other frames and the wire may add."""
    said = testbed.document(of, 100) | {"nodes": "model"}
    return watch(load(said)).bound_us("st")


def _latencies(runs: Runs, beside: Runs, emulation: str) -> Found:
    found = Found()
    for (scheduler, aligned), played in runs.items():
        for flow in FLOWS:
            of = seen.latency_us(played, flow)
            found.rows += latency.quantiles(latency.key(scheduler, aligned), latency.said(scheduler, aligned), flow, of)
    tas = seen.bounded(
        latency.key("tas", True), latency.said("tas", True), runs["tas", True], bound_us(case("tas", True))
    )
    found.rows += tas
    found.rows += _order(
        {at: _medians(seen.latency_us(run, "st"), seen.latency_us(run, "be")) for at, run in runs.items()}
    )
    found.rows += _of_taprio(beside, emulation)
    for aligned in (True, False):
        shown = {
            name: {flow: seen.latency_us(runs[name, aligned], flow) for flow in FLOWS}
            for name in SCHEDULERS
            if (name, aligned) in runs
        }
        called = f"real packets, talker {'aligned' if aligned else 'not aligned'}"
        found.pictures += pictures.latencies(
            called, shown, "From the first switch to the listener, by data planes on this machine."
        )
    shown = {
        name: {flow: seen.latency_us(beside[name, True], flow, from_program=True) for flow in FLOWS}
        for name, _ in beside
    }
    where = f"in a guest, {emulation}" if emulation else "on this machine"
    found.pictures += pictures.latencies(
        "taprio and a plane on one kernel",
        shown,
        f"From the talker's program to the listener, {where}, talker aligned.",
    )
    return found


def _medians(st: Times, be: Times) -> dict[str, float]:
    return {"st": percentile(st, 0.5), "be": percentile(be, 0.5)}


def _order(median: Mapping[tuple[str, bool], Mapping[str, float]]) -> list[Row]:
    """The paper's order, of medians: that a machine takes its processor away now and then is no scheduler's doing."""
    pairs = (
        (
            "tas<sp",
            "median of ST under gates, at most that under strict priority, talker aligned",
            ("tas", True),
            ("sp", True),
        ),
        (
            "sp<rr",
            "median of ST under strict priority, at most that under round robin, talker not aligned",
            ("sp", False),
            ("rr", False),
        ),
    )
    rows = [
        _other(Row.within(f"fig8.order.{name}", label, "us", median[less]["st"], median[more]["st"]))
        for name, label, less, more in pairs
    ]
    at = median["sp", True]
    rows.append(
        _other(
            Row.within(
                "fig8.order.sp",
                "median of ST, at most that of BE, strict priority, talker aligned",
                "us",
                at["st"],
                at["be"],
            )
        )
    )
    times = median["sp", True]["st"] / median["tas", True]["st"]
    label = "times that the median under strict priority is that under gates, talker aligned"
    return [*rows, Row.told("fig8.times.sp", label, "", times, paper=float(printed.TIMES_LOWER)).as_key()]


def _of_taprio(beside: Runs, emulation: str) -> list[Row]:
    """taprio, and a plane on the same kernel."""
    where = "in a guest" if emulation else "on this machine"
    rows: list[Row] = []
    of = {name: seen.latency_us(played, "st", from_program=True) for (name, _), played in beside.items()}
    for name, called in SCHEDULERS.items():
        if name not in of:
            continue
        key, said = f"fig8.beside.{name}", f"{called}, talker aligned, {where}"
        if name == "tas":
            said = f"plane, talker aligned, {where}"
        rows += latency.quantiles(key, said, "st", of[name])
        rows += latency.quantiles(key, said, "be", seen.latency_us(beside[name, True], "be", from_program=True))
    st, be = (percentile(seen.latency_us(beside["taprio", True], flow, from_program=True), 0.5) for flow in FLOWS)
    rows.append(
        _other(Row.within("fig8.beside.order", f"median of ST, at most that of BE, taprio, {where}", "us", st, be))
    )
    beyond = {name: 100 * float((latency > 5 * printed.TAS_US).mean()) for name, latency in of.items()}
    for name, part in beyond.items():
        label = f"frames of ST beyond {5 * printed.TAS_US:g} us, {'plane' if name == 'tas' else name}, {where}"
        rows.append(Row.told(f"fig8.beside.{name}.beyond", label, "%", part).as_key())
    return rows


def _other(row: Row) -> Row:
    return replace(row, requirement="measured at most the other's, shown as bound", key=True)


def _queues(runs: Runs) -> Found:
    found = Found()
    for aligned in (True, False):
        name, called = occupancy.named(aligned)
        held = seen.held(runs["tas", aligned].answers)
        found.rows += occupancy.rows(name, called, held)
        note = "At the slow port of a data plane: differences of its integral over time, read each 100 ms."
        title = f"Laboratory: what queues hold, {called}"
        found.pictures.append(pictures.occupancy(title, held.mean, printed.BE_FRAMES, note))
    return found
