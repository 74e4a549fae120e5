# SPDX-License-Identifier: Apache-2.0
"""Plays a scenario on the Verilated switch or on its model, and records all that happened."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from penstock import _engine
from penstock.hardware.configure import configure, model_config
from penstock.hardware.differential.scenario import START_CYCLE, Scenario
from penstock.hardware.registers import registers as register_map
from penstock.hardware.traffic import configured_switch, read_counters

STEP_CYCLES = 5_000
MOST_CYCLES = 5_000_000  # a frame held for longer than this, 40 ms, is left inside
SETTLE_CYCLES = 3_000  # what is left of a giant on the wire, and of the egress' work


@dataclass(frozen=True)
class Record:
    """All that can be seen of a switch."""

    events: _engine.Events
    written: tuple[int, ...]  # the cycle after each write
    end_cycle: int
    inside: int
    waiting: int
    counters: tuple[dict[str, int], ...]  # of each port; none of the model, which counts by its events
    judged: dict[str, int]  # of the model: how often frames were judged each way


Play = Callable[[Scenario, int], Record]


def play(switch: _engine.Switch, scenario: Scenario, end_cycle: int | None) -> Record:
    """Runs a configured switch; until `end_cycle`, or until nothing is inside any more."""
    switch.run(START_CYCLE)
    assert switch.cycle == START_CYCLE, "the start is too early for the configuration"
    for arrival in scenario.arrivals:
        arrival.frame.push(switch, START_CYCLE + arrival.at, gap=1)
    registers = register_map()
    written = []
    for change in sorted(scenario.changes, key=lambda change: change.at):
        switch.run(START_CYCLE + change.at)
        for name, value in change.writes:
            switch.write(registers.address(name), value)
            written.append(switch.cycle)
    if end_cycle is None:
        patience = switch.cycle + MOST_CYCLES
        while switch.waiting or (switch.inside and switch.cycle < patience):
            switch.run(switch.cycle + STEP_CYCLES)
        end_cycle = switch.cycle + SETTLE_CYCLES
    switch.run(end_cycle)
    return Record(switch.events(), tuple(written), switch.cycle, switch.inside, switch.waiting, (), switch.judged())


def play_rtl(scenario: Scenario) -> Record:
    """On the Verilated hardware, which says when it has run out, and what it has counted."""
    switch = configured_switch(scenario.config)
    record = play(switch, scenario, None)
    counters = tuple(read_counters(switch, register_map(), port) for port in range(scenario.ports))
    return replace(record, counters=counters)


def play_model(scenario: Scenario, end_cycle: int) -> Record:
    """On the model, until the same cycle; of even seeds configured through its registers, of odd ones by its JSON."""
    config = scenario.config
    if scenario.seed % 2:
        switch = _engine.Switch.model(scenario.ports, json.dumps(model_config(config)), host=config.host)
        return play(switch, scenario, end_cycle)
    switch = _engine.Switch.model(scenario.ports, host=config.host)
    for address, value in configure(config, register_map()):
        switch.write(address, value)
    return play(switch, scenario, end_cycle)
