# SPDX-License-Identifier: Apache-2.0
"""A bench that does harm to a running switch, and holds it to what it promises afterwards.

Frames go round in a ring, each port to the next one, back to back: all inputs and all outputs at line rate. `recover`
ends every test: all ports carry line rate without loss, every cell of the store is free, and each frame and each
counter of the whole test adds up.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

from penstock.hardware.configure import SwitchConfig
from penstock.hardware.traffic import station_address
from switch_bench import GAP, PORTS, Bench, Fate, frame

SIZES = (64, 65, 127, 128, 129, 512, 1522)
CELLS = 1024
# Each port holds a spare cell; of the one that fills the store it is used up.
FREE_CELLS = CELLS - (PORTS - 1)
MOST_CELLS = 4095  # what a limit can say


def after(port: int) -> int:
    """The port that the frames of a port go to."""
    return (port + 1) % PORTS


def assert_delivered(fates: Iterable[Fate]) -> None:
    """Each of these frames of the ring came out of the next port, and of that alone."""
    lost = [fate for fate in fates if fate.fate != frozenset({after(fate.port)})]
    assert not lost, f"{len(lost)} lost, such as {lost[0]}"


class FaultBench(Bench):
    """A switch whose stations are known, with the ring, the faults, and the end of each test."""

    def __init__(self, config: SwitchConfig | None = None, *, seed: int = 1) -> None:
        super().__init__(config)
        self.rng = random.Random(seed)
        self.on_wire: dict[int, list[Fate]] = {port: [] for port in range(PORTS)}
        self.introduce(vlan=1)

    # ---- load

    def send(self, port: int, data: bytes, **how: Any) -> Fate:
        """As ever; and the frame is remembered in the order of its port."""
        fate = super().send(port, data, **how)
        self.on_wire[port].append(fate)
        return fate

    def ring(self, count: int, *, sizes: Sequence[int] = SIZES, sources: Sequence[int] = range(PORTS)) -> list[Fate]:
        """So many frames of each of these ports to the next one, back to back."""
        sent = []
        for n in range(count):
            for port in sources:
                data = frame(
                    station_address(after(port), 0), station_address(port, 0), self.rng.choice(sizes),
                    vlan=1, pcp=self.rng.randrange(8), seed=n,
                )  # fmt: skip
                sent.append(self.send(port, data))
        return sent

    def under_way(self, port: int) -> Fate | None:
        """The frame that is on the wire into a port, if its first byte has come."""
        begun = [fate for fate in self.on_wire[port][-2000:] if fate.entered >= 0]
        return begun[-1] if begun and begun[-1].arrival > self.now else None

    # ---- faults

    def unplug(self, port: int, *, clock: bool = True) -> Fate | None:
        """The link of a port goes down, with its receive clock or without; gives the frame that it cuts."""
        cut = self.under_way(port)
        if cut is not None:
            cut.size = self.now - cut.entered
        self.switch.link(port, up=False, rate_ppb=0 if clock else None)
        return cut

    def plug(self, port: int) -> None:
        """The link of a port comes up."""
        self.switch.link(port)

    def reset_port(self, *ports: int) -> None:
        """Puts the MACs of these ports into reset, and takes all others out of it."""
        self.write("port_reset", mask=sum(1 << port for port in ports))

    # ---- the end

    def recover(self, count: int = 60) -> None:
        """Line rate on all ports without loss; no cell is missing; all frames and counters add up."""
        self.run_out()
        sent = self.ring(count)
        self.run_out()
        assert_delivered(sent)
        assert self.free_cells() == FREE_CELLS
        self.finish()

    def free_cells(self) -> int:
        """How many frames of one cell the store takes while none of them may leave."""
        names = ["shared_limit", *(f"{kind}_limit[{k}]" for kind in ("queue", "class") for k in range(8))]
        before = {name: self.read(name) for name in (*names, "gate_enable", "admin_gate_states[0]")}
        for name in names:
            self.write(name, cells=MOST_CELLS)
        self.write("admin_gate_states[0]", mask=0)
        self.write("gate_enable", mask=before["gate_enable"] | 1)
        self.rest()
        sent = [self.send(1, frame(station_address(0, 0), station_address(1, 0), vlan=1)) for _ in range(CELLS + 20)]
        self.run((CELLS + 20) * (64 + 8 + GAP) + 1000)
        taken = sum(fate.queued == {0} for fate in sent)
        assert {fate.reason for fate in sent if not fate.queued} == {"store_full"}
        self.write("admin_gate_states[0]", mask=before["admin_gate_states[0]"])
        self.write("gate_enable", mask=before["gate_enable"])
        for name in names:
            self.write(name, cells=before[name])
        self.run_out()
        return taken
