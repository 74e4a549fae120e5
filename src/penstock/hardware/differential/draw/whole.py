# SPDX-License-Identifier: Apache-2.0
"""All of a scenario."""

from __future__ import annotations

import random

from penstock.hardware.differential.draw.arrivals import draw_arrivals
from penstock.hardware.differential.draw.config import LONGEST_FRAME_BYTES, draw_config
from penstock.hardware.differential.draw.drawing import Drawing
from penstock.hardware.differential.draw.host import from_host
from penstock.hardware.differential.draw.meetings import chase, meet
from penstock.hardware.differential.draw.moments import draw_changes
from penstock.hardware.differential.draw.phases import PERIOD_CYCLES
from penstock.hardware.differential.draw.shaping import draw_shaping
from penstock.hardware.differential.scenario import START_CYCLE, Change, Scenario

CHASERS = 100
MEETINGS = 20
PERIOD_CHANGE_CYCLES = 12


def draw(seed: int, ports: int, frames: int) -> Scenario:
    """The scenario of a seed: always the same for the same arguments."""
    drawing = Drawing(random.Random(f"{seed} {ports} {frames}"), ports)
    draw_config(drawing)
    chasers = min(CHASERS, frames // 4) if drawing.ages else 0
    meetings = min(MEETINGS, frames // 20)
    arrivals = [*draw_arrivals(drawing, frames - chasers - 2 * meetings)]
    changes = [*draw_changes(drawing, arrivals), *draw_shaping(drawing, arrivals)]
    after = max((arrival.at for arrival in arrivals), default=0)
    sweep = PERIOD_CYCLES * ((after + START_CYCLE) // PERIOD_CYCLES + 1) - START_CYCLE
    if chasers and drawing.config.aging_period_ms != 1:
        # A shorter period is over at once.
        change = Change(max(after, sweep) + 2_000, "aging_period", (("aging_period", 1),))
        changes.append(change)
        sweep = change.at + PERIOD_CHANGE_CYCLES
    arrivals += chase(drawing, chasers, sweep)
    arrivals += meet(drawing, meetings, max((arrival.at for arrival in arrivals), default=0) + LONGEST_FRAME_BYTES)
    given = tuple(from_host(drawing, n, arrival) for n, arrival in enumerate(arrivals))
    return Scenario(seed, drawing.config, given, tuple(changes))
