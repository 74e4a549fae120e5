# SPDX-License-Identifier: Apache-2.0
"""Where each key of a TOML file stands.

`tomllib` reads the values but forgets the places. This scans the same text, which `tomllib` has already found to be
valid, and gives the line of every key path; it therefore needs to know only where strings, brackets and comments end.
"""

from __future__ import annotations

import re
from bisect import bisect_left

KeyPath = tuple[str | int, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SPACE = re.compile(r"[ \t]*")
_SPACE_AND_COMMENTS = re.compile(r"(?:[ \t\n]+|#[^\n]*)*")
_SEPARATOR = re.compile(rf"{_SPACE_AND_COMMENTS.pattern}(?:,{_SPACE_AND_COMMENTS.pattern})?")
# What most lines are, read at once: a table with bare keys; a bare key; a string without escapes, or a value that is
# neither string, array nor table.
_PLAIN_TABLE = re.compile(rf"\[({_BARE.pattern}(?:\.{_BARE.pattern})*)\]{_SPACE_AND_COMMENTS.pattern}")
_PLAIN_KEY = re.compile(rf"({_BARE.pattern})[ \t]*=[ \t]*")
_PLAIN_VALUE = re.compile(r"""(?:"[^"\\\n]*"(?!")|[^\s"'\[{,\]}#][^,\]}#\n]*)[ \t]*""")
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "\\": "\\"}


def key_lines(text: str) -> dict[KeyPath, int]:
    """The line (from 1) of each key and array element in a valid TOML text, by path."""
    return _Scanner(text).scan()


def line_of(lines: dict[KeyPath, int], path: KeyPath) -> int | None:
    """The line of a key path, or of the nearest table around it."""
    while path:
        if path in lines:
            return lines[path]
        path = path[:-1]
    return None


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text.replace("\r\n", "\n")
        self.breaks = [match.start() for match in re.finditer("\n", self.text)]
        self.at = 0
        self.lines: dict[KeyPath, int] = {}
        self.array_counts: dict[KeyPath, int] = {}

    def scan(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        self.blank(newlines=True)
        while self.at < len(self.text):
            if plain := _PLAIN_TABLE.match(self.text, self.at):
                table = self.resolve(plain[1].split("."))
                self.mark(table)
                self.at = plain.end()
                continue
            if self.peek("[["):
                self.at += 2
                path = self.resolve(self.key())
                index = self.array_counts.get(path, 0)
                self.array_counts[path] = index + 1
                table = (*path, index)
                self.mark(table)
                self.expect("]]")
            elif self.peek("["):
                self.at += 1
                table = self.resolve(self.key())
                self.mark(table)
                self.expect("]")
            else:
                self.pair(table)
            self.blank(newlines=True)
        return self.lines

    def resolve(self, key: list[str]) -> KeyPath:
        # [a.b] below [[a]] speaks of the last element of a.
        path: KeyPath = ()
        for position, part in enumerate(key):
            path = (*path, part)
            if position + 1 < len(key) and path in self.array_counts:
                path = (*path, self.array_counts[path] - 1)
        return path

    def pair(self, table: KeyPath) -> None:
        start = self.at
        if plain := _PLAIN_KEY.match(self.text, start):
            path = (*table, plain[1])
            self.lines[path] = bisect_left(self.breaks, start) + 1
            self.at = plain.end()
        else:
            path = (*table, *self.key())
            self.mark(path, start, len(table))
            self.expect("=")
            self.blank()
        self.value(path)

    def value(self, path: KeyPath) -> None:
        if plain := _PLAIN_VALUE.match(self.text, self.at):
            self.at = plain.end()
            return
        char = self.text[self.at]
        if char in "\"'":
            self.string()
        elif char == "[":
            self.at += 1
            index = 0
            self.blank(newlines=True)
            while not self.peek("]"):
                self.mark((*path, index))
                self.value((*path, index))
                index += 1
                self.separator()
            self.at += 1
        elif char == "{":
            self.at += 1
            self.blank(newlines=True)
            while not self.peek("}"):
                self.pair(path)
                self.separator()
            self.at += 1
        else:
            raise AssertionError("tomllib accepted a value that this scanner does not know")

    def separator(self) -> None:
        self.skip(_SEPARATOR)

    def key(self) -> list[str]:
        parts = []
        while True:
            self.blank()
            if self.text[self.at] in "\"'":
                parts.append(self.string())
            else:
                match = _BARE.match(self.text, self.at)
                assert match is not None, "tomllib accepted a key that this scanner does not know"
                parts.append(match.group())
                self.at = match.end()
            self.blank()
            if not self.peek("."):
                return parts
            self.at += 1

    def string(self) -> str:
        quote = self.text[self.at]
        mark = quote * 3 if self.peek(quote * 3) else quote
        self.at += len(mark)
        start = self.at
        while not self.peek(mark):
            self.at += 2 if quote == '"' and self.text[self.at] == "\\" else 1
        if len(mark) == 3:  # up to two more quotes belong to the text
            while self.text[self.at + 3 : self.at + 4] == quote:
                self.at += 1
        content = self.text[start : self.at]
        self.at += len(mark)
        return _ESCAPE.sub(_unescape, content) if quote == '"' else content

    def blank(self, newlines: bool = False) -> None:
        self.skip(_SPACE_AND_COMMENTS if newlines else _SPACE)

    def skip(self, what: re.Pattern[str]) -> None:
        found = what.match(self.text, self.at)
        assert found is not None, "these match nothing at all, too"
        self.at = found.end()

    def mark(self, path: KeyPath, at: int | None = None, known: int = 0) -> None:
        line = bisect_left(self.breaks, self.at if at is None else at) + 1
        self.lines[path] = line
        for length in range(known + 1, len(path)):  # a.b.c names a and a.b too
            self.lines.setdefault(path[:length], line)

    def peek(self, word: str) -> bool:
        return self.text.startswith(word, self.at)

    def expect(self, word: str) -> None:
        assert self.peek(word), "tomllib accepted what this scanner does not know"
        self.at += len(word)


def _unescape(match: re.Match[str]) -> str:
    code = match.group(1)
    return _ESCAPES.get(code) or chr(int(code[1:], 16))
