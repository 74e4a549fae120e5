# SPDX-License-Identifier: Apache-2.0
"""What a comparison found, of each flow and of the whole run."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

from penstock import words
from penstock.replay.play import QUEUE
from penstock.replay.recording import TOLERANCE_TICKS
from penstock.replay.setup import Nodes


@dataclass(frozen=True)
class FlowResult:
    """How one flow fared. A residual is our latency less the recorded one, less the flow's constant."""

    name: str
    sent: int
    measured: int  # survivors
    ours: int
    only_measured: list[int]  # numbers of frames
    only_ours: list[int]
    free: list[float]  # residuals in ticks of frames that no other flow held back
    held: list[float]  # and of those that one did, in the record or in ours
    tolerances: list[float]  # of each of those
    constant: float  # in ticks, from the last bit's arrival

    @property
    def identical(self) -> bool:
        return not self.only_measured and not self.only_ours

    @property
    def ok(self) -> bool:
        return (
            self.identical
            and all(abs(residual) <= TOLERANCE_TICKS for residual in self.free)
            and all(abs(residual) <= most for residual, most in zip(self.held, self.tolerances, strict=True))
        )

    @property
    def worst_held(self) -> tuple[float, float]:
        """The residual that goes furthest beyond, or comes nearest to, what is allowed; and that."""
        return max(zip(self.held, self.tolerances, strict=True), key=_excess)


@dataclass(frozen=True)
class Residuals:
    """Of one kind of frames of a whole run, in ticks."""

    residuals: list[float]
    within: float  # the limit
    ok: bool


@dataclass(frozen=True)
class Comparison:
    """A whole run beside what our switch made of it."""

    name: str
    nodes: Nodes
    flows: list[FlowResult]
    reasons: dict[str, int]  # of our drops

    @property
    def ok(self) -> bool:
        return all(flow.ok for flow in self.flows)

    @property
    def identical(self) -> bool:
        """Whether the same frames survived."""
        return all(flow.identical for flow in self.flows)

    @property
    def unhindered(self) -> Residuals:
        """Of the frames that no other flow held back."""
        found = [residual for flow in self.flows for residual in flow.free]
        return Residuals(found, TOLERANCE_TICKS, all(abs(residual) <= TOLERANCE_TICKS for residual in found))

    @property
    def behind(self) -> Residuals:
        """Of the frames that another flow held back; each has a limit of its own, and the one nearest to it is told."""
        worst = max((flow.worst_held for flow in self.flows if flow.held), key=_excess, default=(0.0, 0.0))
        return Residuals([r for flow in self.flows for r in flow.held], worst[1], _excess(worst) <= 0)

    def difference(self) -> str:
        """Which frames did not survive in both."""
        only = {"the record": [number for flow in self.flows for number in flow.only_measured]}
        only["ours"] = [number for flow in self.flows for number in flow.only_ours]
        parts = [
            f"{words.count(len(numbers), 'frame')} survived only in {where} ({min(numbers):#010x} is one)"
            for where, numbers in only.items()
            if numbers
        ]
        full = self.reasons.get(QUEUE, 0)
        return "; ".join([*parts, *([f"ours had no room for {full}"] if full else [])])

    def rows(self) -> list[dict[str, Any]]:
        """The flows as every comparing command prints them."""
        rows: list[dict[str, Any]] = []
        for flow in self.flows:
            where = f"{self.name}/{flow.name}"
            rows.append(
                {
                    "id": f"{where}/survivors", "quantity": "frames that survive", "unit": "frames",
                    "measured": flow.ours, "goal": flow.measured, "sent": flow.sent, "identical": flow.identical,
                    "only_measured": flow.only_measured, "only_ours": flow.only_ours, "ok": flow.identical,
                }
            )  # fmt: skip
            quantity = "latency less the recorded one and a constant"
            for kind, residuals in (("residual", flow.free), ("residual_behind_another_flow", flow.held)):
                if residuals:
                    worst = max(residuals, key=abs), float(TOLERANCE_TICKS)
                    if residuals is flow.held:
                        worst = flow.worst_held
                    rows.append(
                        {
                            "id": f"{where}/{kind}", "quantity": quantity, "unit": "ticks",
                            "measured": worst[0], "bound": worst[1], "frames": len(residuals),
                            "min": min(residuals), "median": statistics.median(residuals), "max": max(residuals),
                            "constant": flow.constant, "ok": abs(worst[0]) <= worst[1],
                        }
                    )  # fmt: skip
        return rows


def _excess(held: tuple[float, float]) -> float:
    """By how much a residual goes beyond what is allowed."""
    return abs(held[0]) - held[1]
