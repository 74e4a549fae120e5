# SPDX-License-Identifier: Apache-2.0
"""How the switch grows with its parameters, each changed alone: synthesized by Yosys."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.hardware.synth import QUANTITIES, TARGETS, Synthesis, synthesize, update_section

# By title: the parameter, the values, and the one that the switch has by itself.
GROWTH = {
    "streams": ("STREAMS", (256, 1024, 4096), 256),
    "ports": ("PORTS", (2, 4, 8), 4),
    "gate entries": ("GATE_ENTRIES", (16, 128, 1024), 128),
}


@dataclass(frozen=True)
class Size:
    """One size of the switch and what it costs."""

    title: str
    value: int
    result: Synthesis

    def rows(self) -> list[dict[str, Any]]:
        found = []
        for quantity, title in QUANTITIES.items():
            key = f"{self.result.target}.{self.title.replace(' ', '_')}_{self.value}.{quantity}"
            row = {"id": key, "quantity": f"{title}, {self.value} {self.title}", "unit": "cells"}
            found.append({**row, "measured": self.result.total(quantity), "ok": True})
        return found


def growth(target: str) -> Iterator[Size]:
    """Each size in turn; the switch as it is, is synthesized once. Raises ToolError if Yosys fails."""
    usual: Synthesis | None = None
    for title, (parameter, values, default) in GROWTH.items():
        for value in values:
            if value == default:
                usual = usual or synthesize(target)
                result = usual
            elif parameter == "PORTS":
                result = synthesize(target, ports=value)
            else:
                result = synthesize(target, parameters={parameter: value})
            yield Size(title, value, result)


def markdown(sizes: Sequence[Size]) -> str:
    lines = [f"| switch with | {' | '.join(QUANTITIES.values())} |", "|---|" + "--:|" * len(QUANTITIES)]
    for size in sizes:
        cells = [f"{size.result.total(quantity):g}" for quantity in QUANTITIES]
        lines.append(f"| {size.value} {size.title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def update_documentation(target: str, sizes: Sequence[Size]) -> None:
    """Replaces the table of this target in docs/synthesis.md."""
    update_section(f"growth {target}", f"### {TARGETS[target].title}\n\n{markdown(sizes)}")
