# SPDX-License-Identifier: Apache-2.0
"""Reads the `tc qdisc`, `ip link` and `ethtool -K` commands of a script; other commands are passed over."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from penstock.errors import CollectedInputError, InputError
from penstock.linux.foreign.options import OPTIONS
from penstock.linux.foreign.words import Words, WrittenError
from penstock.linux.foreign.written import Configuration, Written
from penstock.linux.qdisc import ROOT, Other, Placed, Vlan

_ASSIGNMENT = re.compile(r"^\s*(?:export\s+)?([A-Za-z_]\w*)=(\"[^\"]*\"|'[^']*'|\S*)\s*$")
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


def read_script(file: Path, text: str) -> Configuration:
    """What the commands of a script set in the end; raises `InputError` with all that is not understood."""
    found: Configuration = {}
    errors: list[InputError] = []
    for line, words in _commands(text, errors, file):
        try:
            if words[:2] == ["tc", "qdisc"]:
                _tc(Words(words[2:]), found)
            elif words[:3] in (["ip", "link", "add"], ["ip", "link", "set"]):
                _ip(Words(words[3:]), found)
            elif words[:2] in (["ethtool", "-K"], ["ethtool", "--offload"]):
                _ethtool(Words(words[2:]), found)
        except WrittenError as error:
            errors.append(InputError(error.what, allowed=error.allowed, file=file, line=line))
    if errors:
        raise CollectedInputError(errors)
    return found


def _commands(text: str, errors: list[InputError], file: Path) -> Iterator[tuple[int, list[str]]]:
    variables: dict[str, str] = {}
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        line, first = lines[at], at + 1
        while line.endswith("\\") and at + 1 < len(lines):
            at += 1
            line = line[:-1] + " " + lines[at]
        at += 1
        assignment = _ASSIGNMENT.match(line)
        if assignment:
            variables[assignment.group(1)] = _known(assignment.group(2).strip("\"'"), variables)
            continue
        line = _known(line, variables)
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            continue  # a command of the shell over several lines: none of ours
        while words and words[0] in ("sudo", "exec"):
            words = words[1:]
        if words and words[0].rsplit("/", 1)[-1] in ("tc", "ip", "ethtool"):
            words[0] = words[0].rsplit("/", 1)[-1]
            unknown = next((word for word in words if "$" in word or "`" in word), None)
            if unknown is not None:
                what = f"{unknown} is not known without running the script"
                errors.append(InputError(what, allowed="a value, or a line NAME=VALUE before", file=file, line=first))
                continue
            yield first, words


def _known(text: str, variables: dict[str, str]) -> str:
    return _VARIABLE.sub(lambda match: variables.get(match.group(1) or match.group(2), match.group()), text)


def _tc(words: Words, found: Configuration) -> None:
    verb = words.take("add, replace, change or delete")
    interface, parent, handle, overhead = "", 0, 0, None
    while True:
        word = words.take("a qdisc")
        if word == "dev":
            interface = words.take("an interface")
        elif word == "root":
            parent = ROOT
        elif word == "parent":
            said = words.take("a class")
            parent = ROOT if said == "root" else words.handle(said)
        elif word == "handle":
            handle = words.handle(words.take("a handle"))
        elif word == "stab":
            overhead = _size_table(words)
        else:
            break
        if not words.left:
            break
    if not interface or verb not in ("add", "replace", "change", "del", "delete"):
        return
    there = found.setdefault(interface, Written())
    if verb in ("del", "delete"):
        there.qdiscs = [placed for placed in there.qdiscs if parent not in (ROOT, placed.parent)]
        return
    read = OPTIONS.get(word)
    handle = handle or -(len(there.qdiscs) + 1)
    qdisc = Other(word) if read is None else read(words, overhead, there, handle)
    there.qdiscs = [placed for placed in there.qdiscs if placed.parent != parent]
    there.qdiscs.append(Placed(handle, parent, qdisc))


def _size_table(words: Words) -> int:
    overhead = 0
    while words.peek() in ("overhead", "mpu", "mtu", "tsize", "linklayer"):
        name = words.take("")
        value = words.take("a value")
        if name == "overhead":
            overhead = words.number(value)
    return overhead


def _ip(words: Words, found: Configuration) -> None:
    link = name = ""
    vlan: int | None = None
    pairs: dict[int, int] = {}
    while words.left:
        word = words.take("")
        if word == "link":
            link = words.take("an interface")
        elif word in ("name", "dev"):
            name = words.take("a name")
        elif word == "id":
            vlan = words.number(words.take("a VLAN"))
        elif word == "egress-qos-map":
            while words.peek() is not None and ":" in (words.peek() or ""):
                priority, pcp = words.take("").split(":", 1)
                pairs[words.number(priority)] = words.number(pcp)
        elif not name and word not in ("type", "up", "down"):
            name = word
    known = {each.name: (written, each) for written in found.values() for each in written.vlans}
    if vlan is not None and link:
        found.setdefault(link, Written()).vlans.append(Vlan(name, link, vlan, pairs))
    elif pairs and name in known:
        written, before = known[name]
        written.vlans.remove(before)
        written.vlans.append(Vlan(name, before.link, before.vlan, {**before.pcp_of_priority, **pairs}))


def _ethtool(words: Words, found: Configuration) -> None:
    there = found.setdefault(words.take("an interface"), Written())
    names = {"tcp-segmentation-offload": "tso", "generic-segmentation-offload": "gso"}
    while words.left > 1:
        name = words.take("")
        there.features[names.get(name, name)] = words.take("on or off") == "on"
