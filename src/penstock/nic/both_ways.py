# SPDX-License-Identifier: Apache-2.0
"""The card in hardware without a guest, all ports full in both directions: what it loses, what it sends of its line."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from penstock.hardware.model import build_card
from penstock.nic.alone import measured

CYCLE_PS = 8_000
MOST_LATENCY_PS = 1_000_000
_LEAST_SENT_PERCENT = 99.9


def both_ways(ports: int, latency_cycles: int) -> list[dict[str, Any]]:
    """Rows of what the worst port does, by size of frames; memory answers so many cycles after an address.

    Raises:
        RunError: The program failed.

    """
    seen = measured("both-ways", build_card(ports=ports), "--latency-cycles", str(latency_cycles))
    return [
        row
        for size, of_size in groupby(seen, key=lambda port: port["frame_bytes"])
        for row in rows(size, list(of_size))
    ]


def rows(size: int, ports: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of frames of a size, FCS not counted: what part of them the host got, how full the line was that was sent on."""
    received = min(100 * port["received"] / port["came"] for port in ports)
    sent = min(port["sent"] for port in ports)
    return [
        _row(f"received.{size}", f"received frames of {size + 4} B that the host has", received, 100.0),
        _row(f"sent.{size}", f"line that is full of sent frames of {size + 4} B", sent, _LEAST_SENT_PERCENT),
    ]


def _row(name: str, quantity: str, percent: float, goal: float) -> dict[str, Any]:
    return {
        "id": name,
        "quantity": quantity,
        "unit": "%",
        "measured": round(percent, 2),
        "goal": goal,
        "ok": percent >= goal,
    }
