# SPDX-License-Identifier: Apache-2.0
"""A recorded run: how the real switch was set, when each frame entered it and when it left."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from penstock.ethernet import AHEAD_BYTES, GAP_BYTES, MIN_FRAME_BYTES

CYCLE_NS = 8
LINK_BPS = 1_000_000_000
MAX_FRAME_BYTES = 2000
FEW_PORTS, MAX_PORTS = 4, 8  # the sizes of switch that a run is replayed by
CLASSES = 8
TOLERANCE_TICKS = 15  # by which two switches that do the same may differ

SENT_COLUMNS = ("frame_id", "tick", "flow")
SENT_COLUMNS_WITH_BYTES = ("frame_id", "tick", "frame_bytes", "flow")
RECEIVED_COLUMNS = ("frame_id", "tick")


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


MIN_RATE_BPS = 10_000
MIN_BURST_BYTES, MAX_BURST_BYTES = 64, 1 << 24
_Rate = Annotated[Decimal | int, Field(ge=MIN_RATE_BPS, le=LINK_BPS)]


class Flow(_Table):
    """`[[flow]]` of run.toml."""

    name: Annotated[str, Field(min_length=1)]
    sent_port: Annotated[int, Field(ge=0, lt=MAX_PORTS)]
    traffic_class: Annotated[int, Field(ge=0, lt=CLASSES)]
    shaper: Literal["ats", "strict"]
    frame_bytes: Annotated[int, Field(ge=MIN_FRAME_BYTES, le=MAX_FRAME_BYTES)]
    wire_bytes: Annotated[int, Field(ge=MIN_FRAME_BYTES)]
    committed_information_rate_bps: _Rate | None = None
    committed_burst_size_bytes: Annotated[int, Field(ge=MIN_BURST_BYTES, le=MAX_BURST_BYTES)] | None = None
    max_residence_time_ns: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = None
    processing_delay_max_ns: Annotated[int, Field(ge=0, le=50_000_000)] | None = None

    @property
    def group(self) -> tuple[int, int]:
        """Frames of one reception port and class stay in order; those of others may pass them."""
        return self.sent_port, self.traffic_class


class Run(_Table):
    """run.toml."""

    title: str = ""
    tick_ns: Annotated[Decimal | int, Field(gt=0, le=1_000_000)]
    error_ticks: Annotated[int, Field(ge=0, le=TOLERANCE_TICKS)] = 1  # by which a recorded instant may be off
    received_port: Annotated[int, Field(ge=0, lt=MAX_PORTS)]
    flow: Annotated[list[Flow], Field(min_length=1)]


@dataclass(frozen=True)
class Frame:
    """One frame of the record. Ticks count from any zero."""

    number: int  # in the record
    flow: int
    sent: int
    received: int | None  # None: the real switch dropped it
    bytes: int  # destination address to FCS


@dataclass(frozen=True)
class Recording:
    """A run directory, checked."""

    folder: Path
    run: Run
    frames: list[Frame]  # in the order in which they were sent

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    @property
    def flows(self) -> list[Flow]:
        return self.run.flow

    @property
    def tick_ns(self) -> Fraction:
        return Fraction(self.run.tick_ns)

    @property
    def ports(self) -> int:
        """Of the switch: the smaller of two sizes that has every port named."""
        last = max(self.run.received_port, *(flow.sent_port for flow in self.flows))
        return FEW_PORTS if last < FEW_PORTS else MAX_PORTS

    def wire_ticks(self, frame_bytes: int) -> float:
        """How long a frame, with preamble and gap, takes on the wire of 1 Gb/s."""
        return float((frame_bytes + AHEAD_BYTES + GAP_BYTES) * CYCLE_NS / self.tick_ns)


def sent_file(folder: Path, port: int) -> Path:
    """Of the frames that entered a port."""
    return folder / f"sent_port{port}.csv"


def received_file(folder: Path, port: int) -> Path:
    """Of the frames that left by a port."""
    return folder / f"received_port{port}.csv"
