# SPDX-License-Identifier: Apache-2.0
"""One run: random frames through the Verilated switch, and its own counters compared at the end."""

from __future__ import annotations

from collections.abc import Iterator

from penstock import _engine
from penstock.hardware.registers import RegisterMap
from penstock.hardware.registers import registers as register_map
from penstock.hardware.soak.generator import Generator, Network, Sent
from penstock.hardware.soak.scoreboard import Scoreboard
from penstock.hardware.traffic import FAULTY_OUTPUT, configured_switch, drops_by_reason, read_counters, refusals

CHUNK_FRAMES = 20_000
STEP_CYCLES = 200_000
DRAIN_CYCLES = 2_000_000


def soak(frames: int, *, seed: int = 1, ports: int = 4) -> Scoreboard:
    """Sends that many random frames through the Verilated switch; the scoreboard's `faults` say what went wrong."""
    network = Network(ports)
    switch = configured_switch(network.configuration())
    board = Scoreboard()
    generator = Generator(network, seed)

    def send(batch: Iterator[Sent]) -> None:
        for sent in batch:
            board.pushed(sent.frame.push(switch, switch.cycle, sent.gap), sent)
        while switch.waiting:
            switch.run(switch.cycle + STEP_CYCLES)
            judge(board, switch.events(), ports)

    send(generator.introduction())
    switch.run(switch.cycle + STEP_CYCLES)
    for start in range(0, frames, CHUNK_FRAMES):
        send(generator.frames(min(CHUNK_FRAMES, frames - start)))
    switch.run(switch.cycle + DRAIN_CYCLES)
    judge(board, switch.events(), ports)
    board.finish()
    _compare_counters(board, switch, register_map(), ports)
    return board


def judge(board: Scoreboard, events: _engine.Events, ports: int) -> None:
    """Shows the scoreboard what the switch did."""
    kinds = _engine.KINDS
    columns = (
        events["kind"], events["frame"], events["port"], events["reason"],
        events["refused"], events["refused_reasons"], events["flags"],
    )  # fmt: skip
    for kind, number, port, reason, refused, reasons, flags in zip(*(c.tolist() for c in columns), strict=True):
        name = kinds[kind]
        if name == "verdict":
            board.judged(number, _engine.REASONS[reason] if reason else None, refusals(refused, reasons, ports))
        elif name == "output":
            board.left(number, port, not flags & FAULTY_OUTPUT)
        elif name == "dropped":
            board.fault(f"frame {number} dropped in the queue of port {port}")
        elif name == "fault":
            board.fault(f"the switch contradicts itself about frame {number} at port {port}, fault {reason}")


def _compare_counters(board: Scoreboard, switch: _engine.Switch, registers: RegisterMap, ports: int) -> None:
    """The switch's own counters have to say the same."""
    counters = [read_counters(switch, registers, port) for port in range(ports)]
    sent = sum(port.get(f"sent[{k}]", 0) for port in counters for k in range(8))
    if sent != board.delivered:
        board.fault(f"the switch counts {sent} copies sent, {board.delivered} came out")
    counted = drops_by_reason(counters)
    if counted != board.dropped:
        board.fault(f"the switch counts {counted} drops, it reported {dict(board.dropped)}")
