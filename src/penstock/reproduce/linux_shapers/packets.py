# SPDX-License-Identifier: Apache-2.0
"""The packets of audio of a run: their delays, and how these change from packet to packet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.reproduce.outcome import Instants, Outcome, Times

STREAMS = ("audio1", "audio2", "audio3", "audio4")


@dataclass(frozen=True)
class Packets:
    """All packets in the order in which programs hand them over."""

    created_ps: Instants
    delay_us: Times  # from the program's call to the listener
    jitter_us: Times  # the delay less that of the packet before it of its stream; of each stream's first there is none
    bytes: int  # of the longest

    @property
    def mean_us(self) -> float:
        """The mean delay, of which the paper prints eight."""
        return float(self.delay_us.mean())


def packets(outcome: Outcome) -> Packets:
    """Of all streams of audio."""
    created, delays, jitters = [], [], []
    for name in STREAMS:
        frames = outcome.frames[name]
        order = np.argsort(frames.created_ps, kind="stable")
        created.append(frames.created_ps[order])
        delays.append((frames.delivered_ps - frames.created_ps)[order] / 1e6)
        jitters.append(np.diff(delays[-1]))
    at, delay = np.concatenate(created), np.concatenate(delays)
    order = np.argsort(at, kind="stable")
    longest = max(int(outcome.frames[name].bytes.max()) for name in STREAMS)
    return Packets(at[order], delay[order], np.concatenate(jitters), longest)
