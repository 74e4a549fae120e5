# SPDX-License-Identifier: Apache-2.0
"""`run --wave`: every signal of the hardware around one frame or one instant, as files for GTKWave or Surfer.

A run is repeatable, so the frame's times are taken from a first run with the fast model of the hardware. A second one,
with a model that can write its signals, ends with the last window. Signals are named as in the sources, times are the
run's: what the trace has at 12 345 678 ps stands there in the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from penstock.errors import EngineError, InputError
from penstock.ethernet import WIRE_OVERHEAD_BYTES
from penstock.scenario.network import Network, TraceFilter
from penstock.scenario.units import TIME, Quantity, read_option, show_time

OPTION, MARGIN_OPTION = "--wave", "--wave-margin"
_MARGIN = Quantity(TIME, 10**4, 10**9)
_LONGEST_PS = 5 * 10**9  # a microsecond is some 30 kB
_INSTANT = Quantity(TIME, 0, 10**18)
_BYTE_PS = 8_000  # of hardware, which has links of 1 Gb/s only

Windows = Mapping[str, tuple[int, int]]  # per bridge, in ps of the run


@dataclass(frozen=True)
class Wanted:
    """What is to be looked at: one frame, by its number in the trace, or one instant."""

    margin_ps: int  # before and after it
    frame_id: int | None = None
    instant_ps: int = 0

    @classmethod
    def read(cls, network: Network, text: str, margin: str, traced: str | None = None) -> Wanted:
        """Of the options, `traced` being what `--trace` says; raises `InputError`, also if nothing is hardware."""
        margin_ps = read_option(_MARGIN, margin, MARGIN_OPTION)
        if not _hardware(network):
            raise InputError("no bridge is hardware, and a model has no signals", allowed="--nodes rtl", file=OPTION)
        if text.isascii() and text.isdecimal():
            if not (network.trace == TraceFilter() if traced is None else traced == "full"):
                raise InputError(
                    "the times of a frame are those of the whole trace", allowed="--trace full, or a time", file=OPTION
                )
            return cls(margin_ps, frame_id=int(text))
        if not text[:1].isdecimal():
            allowed = 'the number of a frame in the trace, or a time such as "12.3ms"'
            raise InputError(f'"{text}" is neither a frame nor a time', allowed=allowed, file=OPTION)
        instant_ps = read_option(_INSTANT, text, OPTION)
        if instant_ps > network.duration_ps:
            duration = TIME.write(network.duration_ps)
            raise InputError(f"{text} is after the run", allowed=f"0s to {duration}", file=OPTION)
        return cls(margin_ps, instant_ps=instant_ps)

    def windows(self, network: Network, trace: pl.LazyFrame) -> Windows:
        """The bridges that are hardware and see it, each with the time to be written. `trace` is that of the run.

        Raises `InputError` if the frame is not in it, comes to no such bridge, or stays for too long in one.
        """
        hardware = _hardware(network)
        if self.frame_id is None:
            window = (max(0, self.instant_ps - self.margin_ps), self.instant_ps + self.margin_ps)
            return dict.fromkeys(hardware, window)
        mine = trace.filter(pl.col("frame_id") == self.frame_id).select("node", "time_ps", "bytes").collect()
        if mine.is_empty():
            last = trace.select(pl.col("frame_id").max()).collect().item()
            allowed = "a frame of the run's trace" if last is None else f"0 to {last:,}"
            raise InputError(f"there is no frame {self.frame_id}", allowed=allowed, file=OPTION)
        around_ps = self.margin_ps + (int(mine["bytes"].max() or 0) + WIRE_OVERHEAD_BYTES) * _BYTE_PS  # type: ignore[arg-type]
        found = {}
        for name in hardware:
            times = mine.filter(pl.col("node").cast(pl.String) == name)["time_ps"].cast(pl.Int64).to_list()
            if times and max(times) - min(times) > _LONGEST_PS:
                what = f"frame {self.frame_id} is in {name} for {show_time(max(times) - min(times))}"
                allowed = f"{show_time(_LONGEST_PS)} at most; else a time, for what is looked at"
                raise InputError(what, allowed=allowed, file=OPTION)
            if times:
                found[name] = (max(0, min(times) - around_ps), max(times) + around_ps)
        if not found:
            met = ", ".join(dict.fromkeys(mine["node"].cast(pl.String).to_list()))
            allowed = f"a frame that comes to {', '.join(hardware)}"
            raise InputError(f"frame {self.frame_id} came only to {met}", allowed=allowed, file=OPTION)
        return found


def described(description: dict[str, Any], network: Network, windows: Windows, folder: Path) -> dict[str, Any]:
    """The network as the engine takes it for the second run. Builds the models that it takes, on first use.

    What happens after the last window is left out; until then nothing depends on it.
    """
    from penstock.hardware.model import build_model
    from penstock.hardware.tools import ToolError

    bridges = []
    for bridge in description["bridges"]:
        if bridge["name"] not in windows:
            bridges.append(bridge)
            continue
        try:
            node = network.bridges[bridge["name"]]
            library = build_model(ports=node.ports, host=node.has_host, waves=True)
        except ToolError as error:
            raise EngineError(str(error)) from error
        from_ps, until_ps = windows[bridge["name"]]
        wave = {"path": str(folder / file_name(bridge["name"])), "from_ps": from_ps, "until_ps": until_ps}
        bridges.append(bridge | {"library": str(library), "wave": wave})
    end_ps = max(until_ps for _, until_ps in windows.values())
    shorter = {"duration_ps": min(description["duration_ps"], end_ps), "captures": None}
    return description | shorter | {"bridges": bridges, "trace": {"enabled": False, "events": None, "nodes": None}}


def file_name(bridge: str) -> str:
    """Of the signals of a bridge, in the folder of the run."""
    return f"{bridge}.fst"


def _hardware(network: Network) -> list[str]:
    return [name for name, bridge in network.bridges.items() if bridge.nodes == "rtl"]
