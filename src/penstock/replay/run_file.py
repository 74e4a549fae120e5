# SPDX-License-Identifier: Apache-2.0
"""run.toml, and what is wrong with it."""

from __future__ import annotations

import json
import re
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError

from penstock.errors import InputError, did_you_mean
from penstock.replay.recording import Flow, Run
from penstock.replay.records import read_text
from penstock.scenario.positions import KeyPath, Lines, parse

_SHAPER_KEYS = ("committed_information_rate_bps", "committed_burst_size_bytes")
_ATS_KEYS = (*_SHAPER_KEYS, "max_residence_time_ns", "processing_delay_max_ns")


def run_file(file: Path) -> Run:
    """Reads and checks run.toml."""
    run, lines = _values(file)
    _check_flows(file, run, lines)
    return run


def _values(file: Path) -> tuple[Run, Lines]:
    text = read_text(file)
    try:
        values = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"^(.*) \(at line (\d+), column \d+\)$", str(error))
        what, line = (match[1], int(match[2])) if match else (str(error), text.count("\n") + 1)
        raise InputError(f"is not TOML: {what}", allowed="TOML 1.0", file=file, line=line) from None
    lines = parse(text)[1]
    try:
        return Run.model_validate(values), lines
    except ValidationError as error:
        found = []
        for detail in error.errors(include_url=False):
            # A value that may be of two types has one error for each: the type's name is no key.
            path = tuple(part for part in detail["loc"] if part not in ("decimal", "int"))
            known = Flow.model_fields if path[:1] == ("flow",) and len(path) > 2 else Run.model_fields
            if detail["type"] == "extra_forbidden":
                what = f'unknown key "{path[-1]}"{did_you_mean(str(path[-1]), known)}'
                allowed = ", ".join(known)
            elif detail["type"] == "missing":
                what, allowed = "the key is missing", f"{path[-1]} = a value"
            else:
                what = f"{_shown(detail['input'])} does not fit"
                allowed = detail["msg"].removeprefix("Input should be ")
            # A key that is missing is often one that is misspelt: the misspelt one is the place.
            order = (detail["type"] == "missing", lines.near(path) or 1)
            found.append((order, path, what, allowed))
        _, path, what, allowed = min(found, key=lambda f: f[0])
        _refuse(file, lines, path, what, allowed)


def _check_flows(file: Path, run: Run, lines: Lines) -> None:
    """What no key alone can tell: names, ports, and what one switch has once only."""
    first: dict[str, tuple[int, Any]] = {}

    def once(what: str, index: int, key: str, value: object, shown: str) -> None:
        before, known = first.setdefault(what, (index, value))
        if known != value:
            _refuse(
                file, lines, ("flow", index, key),
                f'{shown} is {value}, and {known} for flow "{run.flow[before].name}"', "one value for both",
            )  # fmt: skip

    names: set[str] = set()
    for index, flow in enumerate(run.flow):
        if flow.name in names:
            _refuse(file, lines, ("flow", index, "name"), f'"{flow.name}" is there twice', "each name once")
        names.add(flow.name)
        if flow.sent_port == run.received_port:
            _refuse(
                file, lines, ("flow", index, "sent_port"),
                f"port {flow.sent_port} is the received port too", "another port; a switch sends nothing back",
            )  # fmt: skip
        overhead = flow.wire_bytes - flow.frame_bytes
        if not 0 <= overhead <= 255:
            _refuse(file, lines, ("flow", index, "wire_bytes"), f"is {overhead} more than frame_bytes", "0 to 255 more")
        if flow.shaper == "ats":
            for key in _SHAPER_KEYS:
                if getattr(flow, key) is None:
                    _refuse(file, lines, ("flow", index, key), "the key is missing", 'every flow with shaper = "ats"')
            group = f"{flow.sent_port}, {flow.traffic_class}"
            once(group, index, "max_residence_time_ns", flow.max_residence_time_ns, "the scheduler group's time")
            once("delay", index, "processing_delay_max_ns", flow.processing_delay_max_ns, "the switch's delay")
            once("overhead", index, "wire_bytes", overhead, "what the switch counts beside the frame")
        else:
            for key in _ATS_KEYS:
                if getattr(flow, key) is not None:
                    _refuse(file, lines, ("flow", index, key), "the flow is not shaped", 'shaper = "ats", or no key')


def _refuse(file: Path, lines: Lines, path: KeyPath, what: str, allowed: str) -> NoReturn:
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    raise InputError(what, allowed=allowed, file=file, line=lines.near(path), key=key or None)


def _shown(value: object) -> str:
    if isinstance(value, str | bool):
        return json.dumps(value)
    return "the value" if isinstance(value, dict | list) else str(value)
