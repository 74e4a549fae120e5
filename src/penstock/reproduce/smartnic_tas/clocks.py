# SPDX-License-Identifier: Apache-2.0
"""Figures 5 and 6: the clocks of two cards, one of which drifts, and is compensated in-band.

The bridges of the cards are models of 10 Gb/s, and the hardware at 1 Gb/s for a short time: between stations beside it,
and between the processors at its host ports, whose clocks and stamps are the hardware's own.
"""

from __future__ import annotations

from typing import Any

from penstock.hardware.in_band_host import synchronize
from penstock.in_band import Follower, Origin, Plan, Way, drifting_clock
from penstock.own import with_own
from penstock.reproduce import drawing
from penstock.reproduce.experiment import SCENARIOS, Case, Experiment, Found, Options, Outcomes, Picture
from penstock.reproduce.outcome import Outcome
from penstock.reproduce.row import Row
from penstock.reproduce.smartnic_tas import printed
from penstock.run import CompiledEngine, observe
from penstock.scenario.network import Network

FILE = SCENARIOS / "smartnic-tas" / "clocks.toml"
DRIFT_PPM = printed.DRIFT_MS_IN_AN_HOUR * 1000 / 3600
MOST_ERROR_NS = 50.0
_OFFSET_NS = 7_000_000
# Half of the frames wait in a card for up to this, so that round trips are those of figure 5 (c).
_MOST_WAIT_PS = 1_400_000
_PROBES = 1800, 400, 200
_SHORT_PROBES = 200, 100, 50
_LOOKS = 50
_HOST_PORTS = "rtl, host ports"
_CALLED = {
    "model": ("", ""),
    "rtl": (".rtl", ", cards of RTL at 1 Gb/s"),
    _HOST_PORTS: (".host", ", processors at the host ports of RTL at 1 Gb/s"),
}


def watch(network: Network) -> Outcome:
    """Runs the protocol; the outcome's summary has its samples, and what the clock truly is ahead."""
    every_ps = network.streams["collect"].source.every
    assert every_ps
    probes = _SHORT_PROBES if every_ps < 10**12 else _PROBES
    right, drifting = drifting_clock(), drifting_clock(_OFFSET_NS, DRIFT_PPM)
    plan = Plan(every_ps // 1000, *probes)
    origin = Origin(right, Way.of(network.streams["probe"]), plan, _MOST_WAIT_PS)
    follower = Follower(drifting, Way.of(network.streams["answer"]), right, _MOST_WAIT_PS)
    own = {"me1": origin, "me2": follower}
    observe(with_own(network, own), CompiledEngine(own))
    protocol = origin.protocol
    told = {
        "phase": protocol.phase,
        "slope_ppm": None if protocol.drift is None else protocol.drift[1] * 1e6,
        "samples": protocol.samples,
        "truth": follower.truth,
    }
    return Outcome(network.nodes, told, {})


def watch_host_ports(network: Network) -> Outcome:
    """The same between the processors at two switches' host ports, with the hardware's own clocks and stamps."""
    every_ps = network.streams["collect"].source.every
    assert every_ps
    found = synchronize(Plan(every_ps // 1000, *_SHORT_PROBES), _OFFSET_NS, DRIFT_PPM, looks=_LOOKS)
    told = {
        "phase": found.phase,
        "slope_ppm": found.drift_ppm,
        "samples": [("", 0, trip_ns, 0.0) for trip_ns in found.trips_ns],
        "truth": list(enumerate(found.truth_ns)),
    }
    return Outcome("rtl", told, {})


def case(nodes: str) -> Case:
    """A run on models, for hours, or on the hardware, for seconds."""
    values: dict[str, Any] = {}
    if nodes == "rtl":
        bridge = {"ports": 4, "nodes": "rtl"}
        values = {"bridges": {"nic1": bridge, "nic2": bridge}, "links.rate": "1Gb/s", "duration": "8s"}
        values["streams.collect.source.every"] = "10ms"
    return Case(FILE, values, {"nodes": nodes}, watch)


def case_of_host_ports() -> Case:
    """On the hardware, by its host ports."""
    at_stations = case("rtl")
    return Case(FILE, {**at_stations.values, "name": "clocks-host-ports"}, {"nodes": _HOST_PORTS}, watch_host_ports)


def _evaluate(outcomes: Outcomes, _options: Options) -> Found:
    found = Found()
    for at, run in outcomes:
        is_model = at.at["nodes"] == "model"
        name, called = _CALLED[at.at["nodes"]]
        found.rows += _rows(name, called, run.summary, is_model)
        if is_model:
            found.pictures += _pictures(run.summary)
    return found


def _rows(name: str, called: str, told: dict[str, Any], is_model: bool) -> list[Row]:
    trips_us = [trip_ns / 1000 for _, _, trip_ns, _ in told["samples"]]
    most_ns = max((abs(error_ns) for _, error_ns in told["truth"]), default=None)
    drift = f"drift of one clock from the other, by regression{called}"
    trip = f"greatest round trip between the cards{called}"
    error = f"greatest error once drift is compensated, at most 50 ns (the paper: tens of ns){called}"
    rows = [
        Row.equals(f"fig5.drift{name}", drift, "ppm", told["slope_ppm"], DRIFT_PPM, 0.01),
        Row.told(f"fig5.least_trip{name}", f"least round trip{called}", "us", min(trips_us)),
        Row.at_most(f"fig5.round_trip{name}", trip, "us", max(trips_us), printed.ROUND_TRIP_US),
        Row.within(f"fig6.error{name}", error, "ns", most_ns, MOST_ERROR_NS),
    ]
    return [row.as_key() for row in rows if is_model or not row.id.startswith(("fig5.least", "fig5.round"))]


def _pictures(told: dict[str, Any]) -> list[Picture]:
    collected = [(at, error) for phase, at, _, error in told["samples"] if phase == "collecting"]
    begin = collected[0][0]
    hours = [(at - begin) / 3.6e12 for at, _ in collected]
    drift = drawing.figure("time / h", "ahead / ms")
    drawing.points(drift, "the second clock", hours, [error / 1e6 for _, error in collected], drawing.COLORS[0])
    trips = drawing.figure("time / h", "round trip / us")
    of = [trip / 1000 for phase, _, trip, _ in told["samples"] if phase == "collecting"]
    drawing.points(trips, "frames", hours, of, drawing.COLORS[0])
    after = drawing.figure("time / h", "ahead / ns")
    since = [second / 3600 for second, _ in told["truth"]]
    drawing.points(after, "the second clock", since, [error for _, error in told["truth"]], drawing.COLORS[1])
    return [
        Picture("Figure 5 (a): error as it grows", "What each frame of the collection phase tells.", drift),
        Picture("Figure 5 (c): round trips", "Of the same frames.", trips),
        Picture("Figure 6: error once drift is compensated", "What the clock truly is ahead, each second.", after),
    ]


EXPERIMENTS = (
    Experiment(
        "clocks", "clocks of two cards", "Figures 5, 6", [case("model"), case("rtl"), case_of_host_ports()], _evaluate
    ),
)
