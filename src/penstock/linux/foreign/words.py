# SPDX-License-Identifier: Apache-2.0
"""The words of a command, one after the other."""

from __future__ import annotations

from collections.abc import Sequence


class WrittenError(Exception):
    """A command that is not understood."""

    def __init__(self, what: str, allowed: str) -> None:
        self.what = what
        self.allowed = allowed
        super().__init__(what)


class Words:
    """What is left of a command."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = list(words)

    @property
    def left(self) -> int:
        """How many words are left."""
        return len(self._words)

    def peek(self) -> str | None:
        """The next word."""
        return self._words[0] if self._words else None

    def take(self, allowed: str) -> str:
        """The next word, which has to be there."""
        if not self._words:
            raise WrittenError("the command ends too early", allowed)
        return self._words.pop(0)

    def number(self, text: str, base: int = 0) -> int:
        """A whole number; by base 0 with 0x as it is written."""
        try:
            return int(text, base) if base else int(text, 0) if text.startswith("0x") else int(text)
        except ValueError:
            raise WrittenError(f'"{text}" is not a whole number', "a whole number") from None

    def numbers(self, most: int) -> list[int]:
        """The whole numbers that follow, up to so many."""
        found: list[int] = []
        while len(found) < most and (self.peek() or "").isdecimal():
            found.append(int(self.take("")))
        return found

    def handle(self, text: str) -> int:
        """A handle, `100:` or `100:1`, which is hexadecimal."""
        major, _, minor = text.partition(":")
        return self.number(major or "0", 16) << 16 | self.number(minor or "0", 16)
