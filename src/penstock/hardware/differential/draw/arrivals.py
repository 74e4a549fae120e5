# SPDX-License-Identifier: Apache-2.0
"""The frames of all phases, and when they begin."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.ethernet import MIN_FRAME_BYTES
from penstock.hardware.differential.draw.addresses import STATIONS_PER_PORT
from penstock.hardware.differential.draw.drawing import LIST_CYCLES, Drawing
from penstock.hardware.differential.draw.frames import draw_frame, storm_frame
from penstock.hardware.differential.draw.phases import draw_phase, rested
from penstock.hardware.differential.scenario import Arrival
from penstock.hardware.traffic import BROADCAST, TYPE_EXPERIMENTAL, Frame, station_address, vlan_tag


def draw_arrivals(drawing: Drawing, frames: int) -> Iterator[Arrival]:
    """All frames but those of `meetings.py`."""
    rng = drawing.rng
    begin = 0 if drawing.gives_up is None else LIST_CYCLES
    free = [begin + drawing.log(1, 200) for _ in range(drawing.ports)]  # the first cycle in which each port may begin
    left = frames
    for port, number in _introduction(drawing, frames // 5):
        head = BROADCAST + station_address(port, number) + vlan_tag(rng.choice([None, *drawing.vlans]), 0)
        frame = Frame(port, head + TYPE_EXPERIMENTAL, MIN_FRAME_BYTES)
        yield Arrival(free[port], frame)
        free[port] += frame.carrier_cycles + 200
        left -= 1
    while left:
        phase = draw_phase(drawing, left)
        left -= phase.frames
        free = rested(drawing, free)
        for n in range(phase.frames):
            # The port that has been quiet for longest goes on, so that the ports stay abreast.
            port = min(phase.active, key=free.__getitem__)
            if phase.in_step:
                port = phase.active[n % len(phase.active)]
                if port == phase.active[0]:
                    together = max(free[p] for p in phase.active)
                    free = [together if p in phase.active else free[p] for p in range(drawing.ports)]
            frame = storm_frame(drawing, port) if phase.storm else draw_frame(drawing, port, phase)
            yield Arrival(free[port], frame)
            free[port] += frame.carrier_cycles + (1 if phase.storm else phase.gap())
            if rng.random() < phase.pause_share:
                free[port] += drawing.log(1, 20_000)


def _introduction(drawing: Drawing, most: int) -> list[tuple[int, int]]:
    """Stations that say where they are before all else."""
    stations = [(port, number) for number in range(STATIONS_PER_PORT) for port in range(drawing.ports)]
    return stations[:most] if drawing.rng.random() < 0.7 else []
