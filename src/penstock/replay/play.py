# SPDX-License-Identifier: Apache-2.0
"""Sends the frames of a record through our switch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from penstock import words
from penstock.errors import RunError
from penstock.ethernet import AHEAD_BYTES
from penstock.replay.instants import LEAST_GAP_BYTES, first_bytes
from penstock.replay.recording import MAX_FRAME_BYTES, Recording
from penstock.replay.setup import Nodes, frame_bytes_of, our_switch

Progress = Callable[[str, float], None]  # what is being done, and how much of it is

LEAD_CYCLES = 4_000  # from the configuration to the first frame
SLICE_CYCLES = 1_000_000
DRAIN_CYCLES = 130_000_000  # a frame that waits for a second is dropped
CHUNK_FRAMES = 2_000
_COLUMNS = ("kind", "cycle", "frame", "port", "reason", "refused", "flags", "visible")
QUEUE = "queue"  # a copy was refused, whatever the limit


@dataclass
class Played:
    """What our switch did with the frames, in their order in the record. Times are cycles of 8 ns."""

    arrived: list[int]  # first byte
    left: list[int | None]
    visible: list[int | None]  # when it could be selected for sending
    selected: list[int | None]
    by_last_bit: bool  # the recorded instants were taken as those of last bits
    reasons: dict[str, int] = field(default_factory=dict)  # of what was dropped


def play(recording: Recording, nodes: Nodes, progress: Progress | None = None) -> Played:
    """Sends the recorded frames through our switch."""
    tell: Progress = progress or (lambda _what, _part: None)
    starts, by_last_bit = first_bytes(recording)
    tell("preparing the switch", 0.0)
    switch = our_switch(recording, nodes)
    zero = switch.cycle + LEAD_CYCLES - min(starts)
    count = len(recording.frames)
    played = Played([-1] * count, [None] * count, [None] * count, [None] * count, by_last_bit)
    verdicts: list[str | None] = [None] * count
    index_of: dict[int, int] = {}
    received_port = recording.run.received_port
    damaged = _damage()
    done = 0

    def take_in() -> None:
        nonlocal done
        events = switch.events()
        columns = (events[name].tolist() for name in _COLUMNS)
        for kind, cycle, number, port, reason, refused, flags, visible in zip(*columns, strict=True):
            name = _names()[0][kind]
            if name == "fault":
                raise RunError(f"the switch contradicts itself in cycle {cycle} at port {port}, fault {reason}")
            if name not in ("input", "verdict", "selected", "output", "dropped"):
                continue
            index = index_of[number]
            if name == "input":
                played.arrived[index] = cycle
            elif name == "verdict":
                if reason or refused:
                    verdicts[index] = _names()[1][reason] if reason else QUEUE
                    done += 1
                else:
                    played.visible[index] = visible
            elif name == "selected":
                played.selected[index] = cycle
            elif name == "dropped":
                verdicts[index] = "dropped"
                done += 1
            else:
                if port != received_port or flags & damaged or played.left[index] is not None:
                    raise RunError(f"frame {recording.frames[index].number:#x} left port {port} damaged, or twice")
                played.left[index] = cycle
                done += 1

    for chunk in range(0, count, CHUNK_FRAMES):
        for index in range(chunk, min(count, chunk + CHUNK_FRAMES)):
            port = recording.flows[recording.frames[index].flow].sent_port
            start = zero + starts[index] - AHEAD_BYTES
            number = switch.push(port, start, frame_bytes_of(recording, index), gap=LEAST_GAP_BYTES)
            index_of[number] = index
        # What is pushed next must not be late.
        until = zero + starts[min(count, chunk + CHUNK_FRAMES) - 1] - MAX_FRAME_BYTES - AHEAD_BYTES
        while switch.cycle < until:
            switch.run(min(until, switch.cycle + SLICE_CYCLES))
            take_in()
            tell("replaying", done / count)
    last = switch.cycle + DRAIN_CYCLES
    while (switch.waiting or switch.inside or done < count) and switch.cycle < last:
        switch.run(switch.cycle + SLICE_CYCLES // 10)
        take_in()
        tell("replaying", done / count)
    if done < count:
        raise RunError(f"{words.count(count - done, 'frame')} neither left the switch nor were dropped")
    for reason in verdicts:
        if reason is not None:
            played.reasons[reason] = played.reasons.get(reason, 0) + 1
    return played


def _damage() -> int:
    from penstock import _engine

    return _engine.FLAG_DAMAGED | _engine.FLAG_TX_ER | _engine.FLAG_SHORT_GAP | _engine.FLAG_PREAMBLE


def _names() -> tuple[Sequence[str], Sequence[str]]:
    from penstock import _engine

    return _engine.KINDS, _engine.REASONS
