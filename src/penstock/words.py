# SPDX-License-Identifier: Apache-2.0
"""Numbers of things, and how long they last, in words."""

from __future__ import annotations


def plural(noun: str) -> str:
    """The plural of a noun, as English forms it by rule."""
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def count(number: int, noun: str) -> str:
    """`1 bridge`, `5 bridges`, `1,200 gate entries`."""
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def lasting(duration_ns: float) -> str:
    """`200 ms`, `3600 s`, `1825 days`."""
    for unit, size_ns in (("days", 86_400e9), ("s", 1e9)):
        if duration_ns >= 1000 * size_ns:
            return f"{duration_ns / size_ns:.6g} {unit}"
    return f"{duration_ns / 1e6:g} ms"
