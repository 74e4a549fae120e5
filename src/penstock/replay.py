# SPDX-License-Identifier: Apache-2.0
"""Replays what a real switch did: the frames of a recorded run at their recorded times, into our own switch.

A run directory says how the real switch was set, when each frame entered it and when it left. The same frames go into
the model or the hardware; the frames that survive must be the same, and each flow's latency must differ from the
recorded one by a constant. docs/replay.md has the format and the rules.
"""

from __future__ import annotations

import json
import math
import re
import statistics
import tomllib
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from penstock.errors import EngineError, InputError, RunError, did_you_mean
from penstock.hardware.configure import ConfigurationError, StreamEntry, SwitchConfig
from penstock.scenario.positions import KeyPath, key_lines, line_of

Nodes = Literal["model", "rtl"]
Progress = Callable[[str, float], None]

CYCLE_NS = 8
PREAMBLE_BYTES = 8  # with the delimiter
GAP_BYTES = 12
FCS_BYTES = 4
LEAST_GAP_BYTES = 1  # oscillators differ, so that a recorded gap may be a little short
MIN_FRAME_BYTES, MAX_FRAME_BYTES = 64, 2000
FEW_PORTS, MAX_PORTS = 4, 8  # the sizes of switch that a run is replayed by
CLASSES = 8
VLAN = 10
LISTENER_MAC = 0x02_0000_00FF01
TALKER_MAC = 0x02_0000_000100  # and the number of the flow
ETHERTYPE = b"\x88\xb5"
TOLERANCE_TICKS = 15
LEAD_CYCLES = 4_000  # from the configuration to the first frame
SLICE_CYCLES = 1_000_000
DRAIN_CYCLES = 130_000_000  # a frame that waits for a second is given up
CHUNK_FRAMES = 2_000
QUEUE = "queue"  # a copy was refused, whatever the limit


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


_Rate = Annotated[Decimal | int, Field(ge=10_000, le=1_000_000_000)]


class _Flow(_Table):
    """`[[flow]]` of run.toml."""

    name: Annotated[str, Field(min_length=1)]
    sent_port: Annotated[int, Field(ge=0, lt=MAX_PORTS)]
    traffic_class: Annotated[int, Field(ge=0, lt=CLASSES)]
    shaper: Literal["ats", "strict"]
    frame_bytes: Annotated[int, Field(ge=MIN_FRAME_BYTES, le=MAX_FRAME_BYTES)]
    wire_bytes: Annotated[int, Field(ge=MIN_FRAME_BYTES)]
    committed_information_rate_bps: _Rate | None = None
    committed_burst_size_bytes: Annotated[int, Field(ge=64, le=1 << 24)] | None = None
    max_residence_time_ns: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = None
    processing_delay_max_ns: Annotated[int, Field(ge=0, le=50_000_000)] | None = None


class _Run(_Table):
    """run.toml."""

    title: str = ""
    tick_ns: Annotated[Decimal | int, Field(gt=0, le=1_000_000)]
    received_port: Annotated[int, Field(ge=0, lt=MAX_PORTS)]
    flow: Annotated[list[_Flow], Field(min_length=1)]


_SHAPER_KEYS = ("committed_information_rate_bps", "committed_burst_size_bytes")
_ATS_KEYS = (*_SHAPER_KEYS, "max_residence_time_ns", "processing_delay_max_ns")


@dataclass(frozen=True)
class Frame:
    """One frame of the record. Ticks count from the first frame sent."""

    number: int  # in the record
    flow: int
    sent: int
    received: int | None  # None: the real switch dropped it


@dataclass(frozen=True)
class Recording:
    """A run directory, checked."""

    folder: Path
    run: _Run
    frames: list[Frame]  # in the order in which they were sent
    lines: dict[KeyPath, int]

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    @property
    def flows(self) -> list[_Flow]:
        return self.run.flow

    @property
    def tick_ns(self) -> Fraction:
        return Fraction(self.run.tick_ns)

    @property
    def ports(self) -> int:
        """Of the switch: the smaller of two sizes that has every port named."""
        last = max(self.run.received_port, *(flow.sent_port for flow in self.flows))
        return FEW_PORTS if last < FEW_PORTS else MAX_PORTS

    def refuse(self, path: KeyPath, what: str, allowed: str) -> NoReturn:
        _refuse(self.folder / "run.toml", self.lines, path, what, allowed)

    def wire_ticks(self, flow: int) -> float:
        """How long one frame of a flow, with preamble and gap, takes on the wire of 1 Gb/s."""
        return float((self.flows[flow].frame_bytes + PREAMBLE_BYTES + GAP_BYTES) * CYCLE_NS / self.tick_ns)


# ---- the run directory


def load(folder: Path) -> Recording:
    """Reads and checks a run directory."""
    if not folder.is_dir():
        raise InputError("is not a folder", allowed="a run directory with run.toml", file=folder)
    file = folder / "run.toml"
    run, lines = _run_file(file)
    _check_flows(file, run, lines)
    received = _received(folder / f"received_port{run.received_port}.csv")
    frames: list[Frame] = []
    places: dict[int, str] = {}
    for port in sorted({flow.sent_port for flow in run.flow}):
        names = {flow.name: index for index, flow in enumerate(run.flow) if flow.sent_port == port}
        sent_file = folder / f"sent_port{port}.csv"
        for line, (number_text, tick_text, name) in _rows(sent_file, ("frame_id", "tick", "flow")):
            number, tick = _number(sent_file, line, "frame_id", number_text), _tick(sent_file, line, tick_text)
            if number in places:
                raise InputError(
                    f"frame {number_text} is also in {places[number]}", allowed="each frame once", file=sent_file,
                    line=line, key="frame_id",
                )  # fmt: skip
            if name not in names:
                raise InputError(
                    f'no flow "{name}" is sent into port {port}{did_you_mean(name, names)}',
                    allowed=", ".join(names), file=sent_file, line=line, key="flow",
                )  # fmt: skip
            places[number] = f"{sent_file.name}:{line}"
            frames.append(Frame(number, names[name], tick, received.pop(number, (None, 0))[0]))
    if received:
        number, (_, line) = next(iter(received.items()))
        raise InputError(
            f"frame {number:#010x} was never sent", allowed="frames of the sent_port files",
            file=folder / f"received_port{run.received_port}.csv", line=line, key="frame_id",
        )  # fmt: skip
    if not frames:
        raise InputError("no frame was sent", allowed="one or more frames", file=folder)
    frames.sort(key=lambda frame: frame.sent)  # of one port in the order of the file, where ticks are equal
    return Recording(folder, run, frames, lines)


def _run_file(file: Path) -> tuple[_Run, dict[KeyPath, int]]:
    text = _text(file)
    try:
        values = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"^(.*) \(at line (\d+), column \d+\)$", str(error))
        what, line = (match[1], int(match[2])) if match else (str(error), text.count("\n") + 1)
        raise InputError(f"is not TOML: {what}", allowed="TOML 1.0", file=file, line=line) from None
    lines = key_lines(text)
    try:
        return _Run.model_validate(values), lines
    except ValidationError as error:
        found = []
        for detail in error.errors(include_url=False):
            # A value that may be of two types has one error for each: the type's name is no key.
            path = tuple(part for part in detail["loc"] if part not in ("decimal", "int"))
            known = _Flow.model_fields if path[:1] == ("flow",) and len(path) > 2 else _Run.model_fields
            if detail["type"] == "extra_forbidden":
                what = f'unknown key "{path[-1]}"{did_you_mean(str(path[-1]), known)}'
                allowed = ", ".join(known)
            elif detail["type"] == "missing":
                what, allowed = "the key is missing", f"{path[-1]} = a value"
            else:
                what = f"{_shown(detail['input'])} does not fit"
                allowed = detail["msg"].removeprefix("Input should be ")
            # A key that is missing is often one that is misspelt: the misspelt one is the place.
            order = (detail["type"] == "missing", line_of(lines, path) or 1)
            found.append((order, path, what, allowed))
        _, path, what, allowed = min(found, key=lambda f: f[0])
        _refuse(file, lines, path, what, allowed)


def _check_flows(file: Path, run: _Run, lines: dict[KeyPath, int]) -> None:
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


def _received(file: Path) -> dict[int, tuple[int, int]]:
    """Tick and line of each frame that came out."""
    found: dict[int, tuple[int, int]] = {}
    for line, (number_text, tick_text) in _rows(file, ("frame_id", "tick")):
        number = _number(file, line, "frame_id", number_text)
        if number in found:
            raise InputError(
                f"frame {number_text} is there twice", allowed="each frame once", file=file, line=line, key="frame_id"
            )
        found[number] = (_tick(file, line, tick_text), line)
    return found


def _rows(file: Path, columns: Sequence[str]) -> Iterable[tuple[int, list[str]]]:
    lines = _text(file).splitlines()
    if not lines or [column.strip() for column in lines[0].split(",")] != list(columns):
        raise InputError(
            f'the first line is "{lines[0] if lines else ""}"', allowed=f'"{",".join(columns)}"', file=file, line=1
        )
    for number, text in enumerate(lines[1:], 2):
        if not text.strip():
            continue
        values = [value.strip() for value in text.split(",", len(columns) - 1)]
        if len(values) != len(columns):
            raise InputError(
                f"{len(values)} values", allowed=f"{len(columns)}: {', '.join(columns)}", file=file, line=number
            )
        yield number, values


def _number(file: Path, line: int, key: str, text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise InputError(
            f'"{text}" is not a whole number', allowed="decimal, or hexadecimal with 0x", file=file, line=line, key=key
        ) from None


def _tick(file: Path, line: int, text: str) -> int:
    tick = _number(file, line, "tick", text)
    if not abs(tick) < 1 << 48:
        raise InputError(f"{tick} is out of range", allowed="less than 2^48", file=file, line=line, key="tick")
    return tick


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode()
    except FileNotFoundError:
        raise InputError("the file is missing", allowed="a run directory has it", file=file) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", allowed="a readable file", file=file) from None
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", allowed="UTF-8", file=file) from None


def _refuse(file: Path, lines: dict[KeyPath, int], path: KeyPath, what: str, allowed: str) -> NoReturn:
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    raise InputError(what, allowed=allowed, file=file, line=line_of(lines, path), key=key or None)


def _shown(value: object) -> str:
    if isinstance(value, str | bool):
        return json.dumps(value)
    return "the value" if isinstance(value, dict | list) else str(value)


# ---- our switch


class Switch(Protocol):
    """The Verilated switch or its model: both are fed and watched in the same way."""

    @property
    def cycle(self) -> int: ...
    @property
    def inside(self) -> int: ...
    @property
    def waiting(self) -> int: ...
    def write(self, address: int, value: int) -> None: ...
    def push(self, port: int, start_cycle: int, frame: bytes, *, gap: int) -> int: ...
    def run(self, until_cycle: int) -> None: ...
    def events(self) -> Any: ...


@dataclass
class Played:
    """What our switch did with the frames, in their order in the record. Times are cycles of 8 ns."""

    arrived: list[int]  # first byte
    left: list[int | None]
    by_last_bit: bool  # the recorded instants were taken as those of last bits
    reasons: dict[str, int] = field(default_factory=dict)  # of what was dropped


def switch_config(recording: Recording) -> SwitchConfig:
    """Our switch, set as the real one was.

    A flow is known by its source address, so that its forwarding needs one entry and its name no place in the frame.
    """
    ats = [(index, flow) for index, flow in enumerate(recording.flows) if flow.shaper == "ats"]
    first = ats[0][1] if ats else None
    config = SwitchConfig(
        ports=recording.ports,
        class_of_pcp=range(CLASSES),
        ats_classes={flow.traffic_class for _, flow in ats},
        max_frame_bytes=max(1522, *(flow.frame_bytes for flow in recording.flows)),
        learning=False,
        vlans={VLAN: set(range(recording.ports))},
        static_addresses=[(LISTENER_MAC, VLAN, {recording.run.received_port})],
        streams=[
            StreamEntry(
                name=flow.name,
                port=flow.sent_port,
                identify="source",
                mac=TALKER_MAC + index,
                vlan=VLAN,
                rate_bps=round(flow.committed_information_rate_bps or 0),
                burst_bytes=flow.committed_burst_size_bytes or 0,
            )
            for index, flow in ats
        ],
        max_residence_ns={
            (flow.sent_port, flow.traffic_class): flow.max_residence_time_ns
            for _, flow in ats
            if flow.max_residence_time_ns is not None
        },
        processing_delay_max_ns=first.processing_delay_max_ns if first else None,
    )
    # How much the real switch can hold is not recorded, so that ours holds what it can.
    config.queue_limit_cells = config.class_limit_cells = dict.fromkeys(range(CLASSES), config.size.cells)
    if first is not None:
        config.overhead_bytes = first.wire_bytes - first.frame_bytes
    return config


def _switch(recording: Recording, nodes: Nodes) -> Switch:
    """Our switch, after its register writes."""
    from penstock import _engine
    from penstock.hardware.configure import configure
    from penstock.hardware.registers import registers

    try:
        writes = configure(switch_config(recording), registers())
    except ConfigurationError as error:
        raise InputError(
            f"our switch cannot do this: {error.what}", allowed=error.allowed, file=recording.folder / "run.toml",
            key=error.where,
        ) from None  # fmt: skip
    switch: Switch
    if nodes == "model":
        switch = _engine.SwitchModel(recording.ports)
    else:
        from penstock.hardware.model import build_model
        from penstock.hardware.tools import ToolError

        try:
            switch = _engine.Switch(build_model(ports=recording.ports))
        except ToolError as error:
            raise EngineError(str(error)) from error
    for address, value in writes:
        switch.write(address, value)
    return switch


def first_bytes(recording: Recording) -> tuple[list[int], bool]:
    """The cycle of each frame's first byte, counted from any zero, and whether the record is taken as of last bits.

    The real switch's shaper takes the recorded instant, whatever the frame's size; ours takes the last bit. So the
    last bits are put there. Where frames would overlap then, the record is of first bits.
    """
    excess: list[tuple[int, Frame]] = []
    for bits in ("last", "first"):
        found: list[int] = []
        free: dict[int, int] = {}
        late, worst = 0, recording.frames[0]
        for frame in recording.frames:
            flow = recording.flows[frame.flow]
            wished = math.ceil(Fraction(frame.sent) * recording.tick_ns / CYCLE_NS)
            wished -= flow.frame_bytes if bits == "last" else 0
            at = max(wished, free.get(flow.sent_port, wished))
            free[flow.sent_port] = at + flow.frame_bytes + LEAST_GAP_BYTES + PREAMBLE_BYTES
            found.append(at)
            if at - wished > late:
                late, worst = at - wished, frame
        # A tick may be coarse, and the gap shorter than ours.
        if late * CYCLE_NS <= max(recording.tick_ns, Fraction(GAP_BYTES * CYCLE_NS)):
            return found, bits == "last"
        excess.append((late, worst))
    late, worst = excess[-1]
    flow = recording.flows[worst.flow]
    raise InputError(
        f"frame {worst.number:#010x} begins {late} byte times before the frame before it has ended",
        allowed="frames of frame_bytes that follow each other at 1 Gb/s",
        file=recording.folder / f"sent_port{flow.sent_port}.csv",
    )


def play(recording: Recording, nodes: Nodes, progress: Progress | None = None) -> Played:
    """Sends the recorded frames through our switch."""
    tell: Progress = progress or (lambda _what, _part: None)
    starts, by_last_bit = first_bytes(recording)
    tell("preparing the switch", 0.0)
    switch = _switch(recording, nodes)
    zero = switch.cycle + LEAD_CYCLES - min(starts)
    count = len(recording.frames)
    played = Played([-1] * count, [None] * count, by_last_bit)
    verdicts: list[str | None] = [None] * count
    index_of: dict[int, int] = {}
    received_port = recording.run.received_port
    undamaged = _flags()
    done = 0

    def take_in() -> None:
        nonlocal done
        events = switch.events()
        columns = (events[name].tolist() for name in ("kind", "cycle", "frame", "port", "reason", "refused", "flags"))
        for kind, cycle, number, port, reason, refused, flags in zip(*columns, strict=True):
            name = _names()[0][kind]
            if name == "fault":
                raise RunError(f"the switch contradicts itself in cycle {cycle} at port {port}, fault {reason}")
            if name not in ("input", "verdict", "output", "expired"):
                continue
            index = index_of[number]
            if name == "input":
                played.arrived[index] = cycle
            elif name == "verdict":
                if reason or refused:
                    verdicts[index] = _names()[1][reason] if reason else QUEUE
                    done += 1
            elif name == "expired":
                verdicts[index] = "expired"
                done += 1
            else:
                if port != received_port or flags & undamaged or played.left[index] is not None:
                    raise RunError(f"frame {recording.frames[index].number:#x} left port {port} damaged, or twice")
                played.left[index] = cycle
                done += 1

    for chunk in range(0, count, CHUNK_FRAMES):
        for index in range(chunk, min(count, chunk + CHUNK_FRAMES)):
            flow_index = recording.frames[index].flow
            flow = recording.flows[flow_index]
            start = zero + starts[index] - PREAMBLE_BYTES
            number = switch.push(flow.sent_port, start, _frame_bytes(flow, flow_index, index), gap=LEAST_GAP_BYTES)
            index_of[number] = index
        # What is pushed next must not be late.
        until = zero + starts[min(count, chunk + CHUNK_FRAMES) - 1] - MAX_FRAME_BYTES - PREAMBLE_BYTES
        while switch.cycle < until:
            switch.run(min(until, switch.cycle + SLICE_CYCLES))
            take_in()
            tell("replaying", done / count)
    last = switch.cycle + DRAIN_CYCLES
    while (switch.waiting or switch.inside or done < count) and switch.cycle < last:
        switch.run(switch.cycle + SLICE_CYCLES // 10)
        take_in()
        tell("replaying", done / count)
    if done < count:
        raise RunError(f"{count - done} frames neither left the switch nor were dropped")
    for reason in verdicts:
        if reason is not None:
            played.reasons[reason] = played.reasons.get(reason, 0) + 1
    return played


def _flags() -> int:
    from penstock import _engine

    return _engine.FLAG_DAMAGED | _engine.FLAG_TX_ER | _engine.FLAG_SHORT_GAP | _engine.FLAG_PREAMBLE


def _names() -> tuple[Sequence[str], Sequence[str]]:
    from penstock import _engine

    return _engine.KINDS, _engine.REASONS


def _frame_bytes(flow: _Flow, flow_index: int, number: int) -> bytes:
    tag = b"\x81\x00" + (flow.traffic_class << 13 | VLAN).to_bytes(2)
    head = LISTENER_MAC.to_bytes(6) + (TALKER_MAC + flow_index).to_bytes(6) + tag + ETHERTYPE + number.to_bytes(8)
    body = head.ljust(flow.frame_bytes - FCS_BYTES, b"\0")
    return body + zlib.crc32(body).to_bytes(FCS_BYTES, "little")


# ---- the comparison


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
        return max(zip(self.held, self.tolerances, strict=True), key=lambda h: abs(h[0]) - h[1])


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

    def line(self) -> str:
        """The run in one line."""
        identical = all(flow.identical for flow in self.flows)
        parts = [
            f"{sum(flow.sent for flow in self.flows)} frames sent",
            f"survivors {sum(flow.measured for flow in self.flows)} measured"
            f" {sum(flow.ours for flow in self.flows)} ours",
            "identical" if identical else "not identical" + self._difference(),
            f"residual min/median/max {_three([r for flow in self.flows for r in flow.free + flow.held])} ticks",
        ]
        if any(flow.held for flow in self.flows):
            parts.append(f"unhindered {_three([r for flow in self.flows for r in flow.free])} of {TOLERANCE_TICKS}")
            _, most = max((flow.worst_held for flow in self.flows if flow.held), key=lambda h: abs(h[0]) - h[1])
            parts.append(f"behind another flow {_three([r for flow in self.flows for r in flow.held])} of {most:.0f}")
        return f"{self.name} ({self.nodes}): {', '.join(parts)}: {'ok' if self.ok else 'DIFFERS'}"

    def _difference(self) -> str:
        found = {"the record": [number for flow in self.flows for number in flow.only_measured]}
        found["ours"] = [number for flow in self.flows for number in flow.only_ours]
        where, numbers = next((where, numbers) for where, numbers in found.items() if numbers)
        full = self.reasons.get(QUEUE, 0)
        room = f"; ours had no room for {full}" if full else ""
        return f" ({min(numbers):#010x} survived only in {where}{room})"

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


def compare(recording: Recording, played: Played, nodes: Nodes) -> Comparison:
    """Holds what our switch did against the record."""
    cycles_of_tick = recording.tick_ns / CYCLE_NS
    ours = [None if left is None else float(left / cycles_of_tick) for left in played.left]
    measured = [None if frame.received is None else float(frame.received) for frame in recording.frames]
    held = [a or b for a, b in zip(_held(recording, ours), _held(recording, measured), strict=True)]
    differences: list[float | None] = [None] * len(recording.frames)
    for place, frame in enumerate(recording.frames):
        left = played.left[place]
        if left is not None and frame.received is not None:
            last_bit = played.arrived[place] + recording.flows[frame.flow].frame_bytes
            differences[place] = float(Fraction(left - last_bit) / cycles_of_tick - (frame.received - frame.sent))
    constants = _constants(recording, played, differences, held)
    tolerances = _tolerances(recording, played, constants, ours, measured)
    results = []
    for index, flow in enumerate(recording.flows):
        mine = [place for place, frame in enumerate(recording.frames) if frame.flow == index]
        residual = {place: d - constants[index] for place in mine if (d := differences[place]) is not None}
        numbers = {place: recording.frames[place].number for place in mine}
        results.append(
            FlowResult(
                name=flow.name,
                sent=len(mine),
                measured=sum(measured[place] is not None for place in mine),
                ours=sum(ours[place] is not None for place in mine),
                only_measured=[numbers[p] for p in mine if measured[p] is not None and ours[p] is None],
                only_ours=[numbers[p] for p in mine if measured[p] is None and ours[p] is not None],
                free=[r for place, r in residual.items() if not held[place]],
                held=[r for place, r in residual.items() if held[place]],
                tolerances=[tolerances[place] for place in residual if held[place]],
                constant=constants[index],
            )
        )
    return Comparison(recording.name, nodes, results, played.reasons)


def _constants(
    recording: Recording, played: Played, differences: Sequence[float | None], held: Sequence[bool]
) -> list[float]:
    """Of each flow: by how much our latency differs from the recorded one.

    The latency of a shaped frame that nothing holds back is the same whatever its size; what that of others is made of
    is not known, so that each has its own constant.
    """
    shaped = [index for index, flow in enumerate(recording.flows) if flow.shaper == "ats" and played.by_last_bit]
    pool_of = {index: shaped if index in shaped else [index] for index in range(len(recording.flows))}
    free: dict[int, list[float]] = {index: [] for index in pool_of}
    behind: dict[int, list[float]] = {index: [] for index in pool_of}
    for place, difference in enumerate(differences):
        if difference is not None:
            (behind if held[place] else free)[recording.frames[place].flow].append(difference)
    constants = []
    for pool in pool_of.values():
        found = [d for n in pool for d in free[n]] or [d for n in pool for d in behind[n]]
        constants.append(statistics.median(found) if found else 0.0)
    return constants


def _group(flow: _Flow) -> tuple[int, int]:
    """Frames of one reception port and class stay in order; those of others may pass them."""
    return flow.sent_port, flow.traffic_class


def _tolerances(
    recording: Recording,
    played: Played,
    constants: Sequence[float],
    ours: Sequence[float | None],
    measured: Sequence[float | None],
) -> list[float]:
    """By how much each frame's residual may differ from 0 where another flow holds it back, in ticks.

    The two switches have constants of their own, and so a frame that just misses the line in one may just catch it in
    the other. Where all other flows are of lower classes, that is one frame of them at most, which cannot be
    interrupted. Else it is one frame of each other flow, or, if they are more, all the frames that went before it in
    one switch only, and what the constants differ by.
    """
    cycles_of_tick = recording.tick_ns / CYCLE_NS
    sizes = [0.0 if played.by_last_bit else float(f.frame_bytes / cycles_of_tick) for f in recording.flows]
    shifts = [constant + size for constant, size in zip(constants, sizes, strict=True)]
    shift = max(shifts) - min(shifts)
    lowest: list[float] = []
    alone: list[bool] = []
    for me in recording.flows:
        others = [(f, recording.wire_ticks(n)) for n, f in enumerate(recording.flows) if _group(f) != _group(me)]
        first = [ticks for flow, ticks in others if flow.traffic_class >= me.traffic_class]
        alone.append(not first)
        lowest.append(sum(first) + max((t for f, t in others if f.traffic_class < me.traffic_class), default=0.0))
    passed = _passed(recording, ours, measured)
    return [
        TOLERANCE_TICKS + (lowest[flow] if alone[flow] else max(lowest[flow], passed[place] + shift))
        for place, flow in enumerate(frame.flow for frame in recording.frames)
    ]


def _passed(recording: Recording, ours: Sequence[float | None], measured: Sequence[float | None]) -> list[float]:
    """Of each frame: how long those take on the wire that went before it in one switch and after it in the other."""
    both = [place for place in range(len(ours)) if ours[place] is not None and measured[place] is not None]
    passed = [0.0] * len(ours)
    for one, other in ((ours, measured), (measured, ours)):
        order = sorted(both, key=lambda place: (one[place], place))
        rank = {place: n for n, place in enumerate(sorted(both, key=lambda place: (other[place], place)), 1)}
        # A binary indexed tree over the ranks, counted from the end: sums of lengths of those with a higher rank.
        tree = [0.0] * (len(both) + 1)
        for place in order:
            length = recording.wire_ticks(recording.frames[place].flow)
            at = len(both) - rank[place]
            while at > 0:
                passed[place] += tree[at]
                at -= at & -at
            at = len(both) - rank[place] + 1
            while at <= len(both):
                tree[at] += length
                at += at & -at
    return passed


def _held(recording: Recording, left: Sequence[float | None]) -> list[bool]:
    """Which frames left in one go with a frame of another group before them, and so perhaps waited for it."""
    held = [False] * len(left)
    order = sorted((at, place) for place, at in enumerate(left) if at is not None)
    groups: set[tuple[int, int]] = set()
    for n, (at, place) in enumerate(order):
        flow = recording.frames[place].flow
        if n:
            before, before_place = order[n - 1]
            # A record may be of first or of last bits: the length between them is that of one frame or of the other.
            length = max(recording.wire_ticks(flow), recording.wire_ticks(recording.frames[before_place].flow))
            if at - before > length + TOLERANCE_TICKS:
                groups.clear()
        groups.add(_group(recording.flows[flow]))
        held[place] = len(groups) > 1
    return held


def _three(values: Sequence[float]) -> str:
    if not values:
        return "none"
    return "/".join(f"{value:.10g}" for value in (min(values), statistics.median(values), max(values)))


def replay(folder: Path, nodes: Nodes, progress: Progress | None = None) -> Comparison:
    """Replays a run directory and compares."""
    recording = load(folder)
    return compare(recording, play(recording, nodes, progress), nodes)


def show(
    folders: Sequence[Path],
    nodes: Nodes,
    as_json: bool,
    progress: Callable[[bool], AbstractContextManager[Progress | None]],
) -> bool:
    """Replays run directories and prints a line for each, or one JSON object; gives whether all agree.

    All folders are checked before the first is replayed.
    """
    recordings = [load(folder) for folder in folders]
    rows: list[dict[str, Any]] = []
    ok = True
    for recording in recordings:
        with progress(as_json) as tell:
            found = compare(recording, play(recording, nodes, tell), nodes)
        ok &= found.ok
        rows += found.rows()
        if not as_json:
            print(found.line(), flush=True)
    if as_json:
        print(json.dumps({"ok": ok, "nodes": nodes, "rows": rows}))
    return ok
