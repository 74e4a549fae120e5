# SPDX-License-Identifier: Apache-2.0
"""Numbers of things, in words."""

from __future__ import annotations


def plural(noun: str) -> str:
    """The plural of a noun, as English forms it by rule."""
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def count(number: int, noun: str) -> str:
    """`1 bridge`, `5 bridges`, `1,200 gate entries`."""
    return f"{number:,} {noun if number == 1 else plural(noun)}"
