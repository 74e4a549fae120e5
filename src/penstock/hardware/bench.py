# SPDX-License-Identifier: Apache-2.0
"""What the switch can do, measured: loss at line rate, latency when idle, speed of the simulation."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock import _engine
from penstock.ethernet import AHEAD_BYTES, GAP_BYTES
from penstock.hardware.configure import StreamEntry, SwitchConfig
from penstock.hardware.registers import registers as register_map
from penstock.hardware.traffic import FAULTY_OUTPUT, as_number, configured, library, station_address, vlan_tag, with_fcs

CYCLE_NS = 8
LINE_RATE_SIZES: tuple[int | None, ...] = (64, 65, 127, 512, 1522, None)  # None: a random mix
LINE_RATE_CYCLES = 400_000
LATENCY_SIZES = (64, 65, 66, 67, 68, 69, 70, 71, 72, 127, 128, 129, 256, 512, 1024, 1518, 1521, 1522)
LATENCY_PHASES = 16  # start cycles in a row, so that every turn of the shared units is met
ADDED_LATENCY_GOALS_NS = {4: 400, 8: 440}  # by the most ports: the turns of the shared units grow with them
SPEED_GOAL_CYCLES = 0.5e6
JUMP_GOAL_RATIO = 50
JUMP_CYCLES = 10**9  # 8 s
SETTLE_CYCLES = 20_000
ATS_PCP, STRICT_PCP = 3, 7  # classes 7 and 5 by default
VLAN = 1

Row = dict[str, Any]


def bench(ports: int = 4, seed: int = 1) -> Iterator[Row]:
    """Rows of one comparison each, with the goals of the project."""
    rng = random.Random(seed)
    for size in LINE_RATE_SIZES:
        yield from _line_rate(ports, size, rng)
    for pcp, name in ((ATS_PCP, "ATS"), (STRICT_PCP, "strict priority")):
        yield from _latency(ports, pcp, name, rng)
    yield from _speed(ports)


def _row(identity: str, quantity: str, unit: str, measured: float, goal: float | None, ok: bool) -> Row:
    row: Row = {"id": identity, "quantity": quantity, "unit": unit, "measured": measured, "ok": ok}
    if goal is not None:
        row["goal"] = goal
    return row


def known_switch(switch: _engine.Switch) -> _engine.Switch:
    """Makes it know a station at each port and shape, wide enough, what port 0 sends to each of them."""
    ports = switch.ports
    config = SwitchConfig(
        ports=ports,
        static_addresses=[(as_number(station_address(port, 0)), VLAN, {port}) for port in range(ports)],
        streams=[
            StreamEntry(
                port=0,
                identify="destination",
                vlan=VLAN,
                mac=as_number(station_address(port, 0)),
                rate_bps=1_000_000_000,
                burst_bytes=3_084,
                ats=True,
            )
            for port in range(1, ports)
        ],
    )
    return configured(switch, config)


def _switch(ports: int) -> _engine.Switch:
    return known_switch(_engine.Switch(library(ports=ports)))


def unicast_frame(source: int, destination: int, size: int, pcp: int, rng: random.Random) -> bytes:
    """A frame from the station at one port to that at another, with any content."""
    head = station_address(destination, 0) + station_address(source, 0)
    head += vlan_tag(VLAN, pcp) + b"\x88\xb5"
    return with_fcs(head + rng.randbytes(size - 4 - len(head)))


def _outputs(events: _engine.Events) -> tuple[int, int]:
    """Copies that came out, and those of them that were not exactly as they should be."""
    out = events["kind"] == _engine.KINDS.index("output")
    return int(out.sum()), int((events["flags"][out] & FAULTY_OUTPUT != 0).sum())


def line_rate(switch: _engine.Switch, size: int | None, rng: random.Random, for_cycles: int = LINE_RATE_CYCLES) -> int:
    """Every port sends to the next one, back to back; gives the number of frames."""
    sent = 0
    for port in range(switch.ports):
        cycles = 0
        while cycles < for_cycles:
            length = size or rng.randint(64, 1522)
            switch.push(
                port, switch.cycle, unicast_frame(port, (port + 1) % switch.ports, length, rng.randrange(8), rng)
            )
            cycles += AHEAD_BYTES + length + GAP_BYTES
            sent += 1
    return sent


def _line_rate(ports: int, size: int | None, rng: random.Random) -> Iterator[Row]:
    switch = _switch(ports)
    sent = line_rate(switch, size, rng)
    switch.run(switch.cycle + LINE_RATE_CYCLES + SETTLE_CYCLES)
    delivered, faulty = _outputs(switch.events())
    name = "mix" if size is None else str(size)
    lost = sent - delivered + faulty
    quantity = f"frames lost or damaged of {sent}, {ports} ports at line rate, {size or '64 to 1522'} bytes"
    yield _row(f"line_rate.{name}", quantity, "frames", lost, 0, lost == 0)


def _latency(ports: int, pcp: int, name: str, rng: random.Random) -> Iterator[Row]:
    switch = _switch(ports)
    added: list[int] = []
    for size in LATENCY_SIZES:
        for phase in range(LATENCY_PHASES):
            switch.push(0, switch.cycle + 1000 + phase, unicast_frame(0, 1, size, pcp, rng))
            switch.run(switch.cycle + SETTLE_CYCLES)
            events = switch.events()
            entered = events["cycle"][events["kind"] == _engine.KINDS.index("input")]
            left = events["cycle"][events["kind"] == _engine.KINDS.index("output")]
            added.append(int(left[0] - entered[0]) - size)
    identity = "latency." + name.split()[0].lower()
    extremes = np.array(added) * CYCLE_NS
    goal_ns = next(goal_ns for most, goal_ns in ADDED_LATENCY_GOALS_NS.items() if ports <= most)
    yield _row(
        f"{identity}.max",
        f"latency beyond the frame's time on the wire, idle, {name}, {LATENCY_SIZES[0]} to {LATENCY_SIZES[-1]} bytes",
        "ns",
        int(extremes.max()),
        goal_ns,
        bool(extremes.max() <= goal_ns),
    )
    spread = int(extremes.max() - extremes.min())
    yield _row(f"{identity}.spread", f"largest less smallest of it, {name}", "ns", spread, CYCLE_NS, spread <= CYCLE_NS)


def _speed(ports: int) -> Iterator[Row]:
    rng = random.Random(0)
    switch = _switch(ports)
    line_rate(switch, None, rng)
    before = switch.cycles_simulated
    started = time.process_time()
    switch.run(switch.cycle + LINE_RATE_CYCLES)
    loaded = (switch.cycles_simulated - before) / (time.process_time() - started)
    switch.run(switch.cycle + SETTLE_CYCLES)

    start = switch.cycle
    started = time.process_time()
    switch.run(start + JUMP_CYCLES)
    idle = (switch.cycle - start) / (time.process_time() - started)
    registers = register_map()
    low = switch.read(registers.address("time_low"))
    clock_ns = switch.read(registers.address("time_high")) << 32 | low
    late = abs(clock_ns // CYCLE_NS - switch.cycle)
    quantity = f"{ports} ports under full load, of processor time"
    yield _row("speed.loaded", quantity, "cycles/s", round(loaded), SPEED_GOAL_CYCLES, loaded >= SPEED_GOAL_CYCLES)
    ratio = round(idle / loaded)
    yield _row("speed.idle", "idle, times as fast as under load", "", ratio, JUMP_GOAL_RATIO, ratio >= JUMP_GOAL_RATIO)
    # Reading the register takes a few cycles itself.
    yield _row("speed.clock", "clock register off after 8 s of jumps", "cycles", late, 32, late <= 32)
