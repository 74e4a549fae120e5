# SPDX-License-Identifier: Apache-2.0
"""What became of every copy of every frame, and what should not have."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from penstock.hardware.soak.generator import Sent

MAX_FAULTS = 20


@dataclass
class Scoreboard:
    """Follows every copy from the wire in to the wire out."""

    inside: dict[int, tuple[Sent, set[int]]] = field(default_factory=dict)  # by number: the frame, its open copies
    latest: dict[tuple[int, int, tuple[int | None, bool]], int] = field(default_factory=dict)
    sent: int = 0
    delivered: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def fault(self, text: str) -> None:
        """Notes what went wrong; the first few are enough to find it."""
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(text)

    def pushed(self, number: int, sent: Sent) -> None:
        """A frame is on its way to the switch."""
        self.sent += 1
        self.inside[number] = (sent, set(sent.destinations))

    def judged(self, number: int, reason: str | None, refused: dict[int, str]) -> None:
        """The switch says what it does with a frame: why it drops it, or which copies it refuses."""
        if number not in self.inside:
            self.fault(f"frame {number} was judged twice")
            return
        sent, copies = self.inside[number]
        if reason is not None:
            self.dropped[reason] += 1
            # Only a shaper may refuse a frame that is fit to be forwarded.
            if reason != sent.reason and not (reason == "residence" and sent.reason is None):
                self.fault(f"frame {number} of port {sent.frame.port}: dropped as {reason}, expected {sent.reason}")
            copies.clear()
        elif sent.reason is not None:
            self.fault(f"frame {number} of port {sent.frame.port}: forwarded, expected a drop as {sent.reason}")
        for port, why in refused.items():
            self.dropped[why] += 1
            self._close(number, port)
        if not copies:
            self.inside.pop(number, None)

    def left(self, number: int, port: int, fit: bool) -> None:
        """A copy has left by a port; `fit` when it is byte for byte what came in, with preamble and gap."""
        if number not in self.inside or port not in self.inside[number][1]:
            self.fault(f"port {port}: frame {number} came out twice, or was not due here")
            return
        sent, _ = self.inside[number]
        if not fit:
            self.fault(f"port {port}: frame {number} was damaged")
        flow = (sent.frame.port, port, sent.flow)
        if number < self.latest.get(flow, 0):
            self.fault(f"port {port}: frame {number} was overtaken by {self.latest[flow]} of its stream")
        self.latest[flow] = number
        self.delivered += 1
        self._close(number, port)

    def finish(self) -> None:
        """Nothing may be left that should have come out."""
        for number, (sent, copies) in self.inside.items():
            self.fault(f"frame {number} of port {sent.frame.port} never came out of ports {sorted(copies)}")

    def _close(self, number: int, port: int) -> None:
        if number not in self.inside or port not in self.inside[number][1]:
            self.fault(f"frame {number}: a copy for port {port} was refused that was never due")
            return
        copies = self.inside[number][1]
        copies.discard(port)
        if not copies:
            del self.inside[number]
