# SPDX-License-Identifier: Apache-2.0
"""The options of `penstock talk` and `penstock listen`; most are handed on to the program as they are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

_TIME_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
_LONGEST_NS = 10**12

Scenario = Annotated[Path | None, typer.Argument(metavar="SCENARIO", help="A folder with scenario.toml, or one file.")]
Host = Annotated[str | None, typer.Argument(metavar="HOST", help="The station of the scenario that this is.")]
Interface = Annotated[str | None, typer.Option(metavar="NAME", help="The interface to use.")]
PlanFile = Annotated[
    Path | None,
    typer.Option("--plan", metavar="FILE", help="A plan as JSON instead: docs/end-station.md."),
]
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="Where the results go; out/NAME-HOST if not given.")]

_ONE = "One stream, without a scenario"
To = Annotated[str | None, typer.Option(metavar="ADDRESS", rich_help_panel=_ONE, help="An Ethernet or IPv4 address.")]
Mode = Annotated[str | None, typer.Option(metavar="raw|udp", rich_help_panel=_ONE, help="Raw frames unless given.")]
Port = Annotated[int | None, typer.Option(metavar="N", rich_help_panel=_ONE, help="UDP port; 5000 if not given.")]
Vlan = Annotated[int | None, typer.Option(metavar="N", rich_help_panel=_ONE, help="Of the tag; untagged if not given.")]
Pcp = Annotated[int | None, typer.Option(metavar="N", rich_help_panel=_ONE, help="Priority code point of the tag; 0.")]
Priority = Annotated[int | None, typer.Option(metavar="N", rich_help_panel=_ONE, help="SO_PRIORITY; else the PCP.")]
Length = Annotated[
    int | None, typer.Option("--bytes", metavar="N", rich_help_panel=_ONE, help="FCS included; 128 if not given.")
]
Every = Annotated[str | None, typer.Option(metavar="TIME", rich_help_panel=_ONE, help="1ms if not given.")]
Count = Annotated[int | None, typer.Option(metavar="N", rich_help_panel=_ONE, help="How many frames.")]
Offset = Annotated[str | None, typer.Option(metavar="TIME", rich_help_panel=_ONE, help="In the period.")]
Wav = Annotated[
    Path | None, typer.Option(metavar="FILE", rich_help_panel=_ONE, help="Its sound as RTP, a packet in each period.")
]
Tone = Annotated[int | None, typer.Option(metavar="HZ", rich_help_panel=_ONE, help="A tone instead.")]
CaptureFile = Annotated[
    Path | None,
    typer.Option("--capture", metavar="FILE", rich_help_panel=_ONE, help="Its frames as they are, at their times."),
]

Window = Annotated[
    list[str] | None,
    typer.Option(metavar="STREAM=TIME", help="How long after its offset a stream's gate is open; repeatable."),
]
Duration = Annotated[str | None, typer.Option(metavar="TIME", help="For how long.")]
BaseTime = Annotated[
    int | None,
    typer.Option(metavar="NS", help="When the first cycle begins, by CLOCK_TAI; it may be past."),
]
TransmitOffset = Annotated[
    str | None, typer.Option(metavar="TIME", help="How long before its due time the kernel gets a frame.")
]
LaunchTime = Annotated[bool, typer.Option("--launch-time", help="Give the kernel launch times (SO_TXTIME).")]
DeadlineMode = Annotated[bool, typer.Option("--deadline-mode", help="Launch times are deadlines.")]
LateTolerance = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Frames handed over later fail; if not given, after 100us they are counted."),
]
DropLate = Annotated[bool, typer.Option("--drop-late", help="Do not send what is too late for its window.")]
Fifo = Annotated[int | None, typer.Option(metavar="PRIORITY", help="SCHED_FIFO.")]
Cpu = Annotated[int | None, typer.Option(metavar="N", help="Run on this CPU only.")]
LockMemory = Annotated[bool, typer.Option("--lock-memory", help="Keep memory from being paged out.")]
BestEffort = Annotated[bool, typer.Option("--best-effort", help="Go on where the kernel refuses the three above.")]
HardwareStamps = Annotated[bool, typer.Option("--hardware-stamps", help="Ask the interface for time stamps.")]
PmcCommand = Annotated[
    str | None, typer.Option("--pmc", metavar="COMMAND", help='Ask ptp4l for synchronization, as "pmc -u -b 0".')
]
PmcThreshold = Annotated[str | None, typer.Option(metavar="TIME", help="Largest offset from the master; 1us.")]

Stamp = Annotated[str | None, typer.Option(metavar="auto|hardware|kernel|user", help="The stamps to compute from.")]
Receive = Annotated[str | None, typer.Option(metavar="packet|udp", help="By a packet socket, or by UDP sockets.")]
Warmup = Annotated[int | None, typer.Option(metavar="FRAMES", help="Of each stream, left out of statistics.")]
Wait = Annotated[str | None, typer.Option(metavar="TIME", help="End when nothing came at all; 30s.")]
Idle = Annotated[str | None, typer.Option(metavar="TIME", help="End when nothing more came; 5s.")]
TalkFolder = Annotated[
    Path | None, typer.Option("--talker", metavar="DIR", help="What the talker left, for a trace of both ends.")
]


def arguments(values: Mapping[str, Any]) -> list[str]:
    """The options that are given, as the program wants them."""
    found = []
    for name, value in values.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            found.append(option)
        elif value is not None and value is not False:
            found += [option, str(value)]
    return found


def time_ns(text: str) -> int:
    """A time as `24us` in ns."""
    from penstock.scenario.units import Kind, Quantity, read_option

    return read_option(Quantity(Kind("a time", _TIME_NS, "24us"), 0, _LONGEST_NS), text, "--window")
