# SPDX-License-Identifier: Apache-2.0
"""Replays what a real switch did: the frames of a recorded run at their recorded times, into our own switch.

A run directory says how the real switch was set, when each frame entered it and when it left. The same frames go into
the model or the hardware; the frames that survive must be the same, and each flow's latency must differ from the
recorded one by a constant. docs/replay.md has the format and the rules.
"""

from penstock.replay.compare import compare
from penstock.replay.instants import first_bytes
from penstock.replay.play import Played, play
from penstock.replay.read import load
from penstock.replay.recording import Frame, Recording
from penstock.replay.result import Comparison, FlowResult
from penstock.replay.setup import switch_config
from penstock.replay.show import replay, show

__all__ = [
    "Comparison",
    "FlowResult",
    "Frame",
    "Played",
    "Recording",
    "compare",
    "first_bytes",
    "load",
    "play",
    "replay",
    "show",
    "switch_config",
]
