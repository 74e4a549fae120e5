# SPDX-License-Identifier: Apache-2.0
"""The keys of a stream's `source`: where its frames come from, and when."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from penstock.scenario.keys import Table, number, refuse
from penstock.scenario.programs import Program, Protocol, with_pattern
from penstock.scenario.units import BitsPerSecond, Bytes, Millihertz, Picoseconds, SignedPicoseconds


def _pair(value: Any) -> tuple[Any, Any]:
    if not isinstance(value, list | tuple) or len(value) != 2 or type(value[0]) not in (int, float):
        raise refuse(f"{value!r} is no quantile", 'a part of all and a time, [0.5, "2us"]')
    return value[0], value[1]


Quantile = Annotated[tuple[float, SignedPicoseconds], BeforeValidator(_pair)]


Seed = Annotated[int, number(0, 2**63 - 1)]


Count = Annotated[int, number(1, 10**9)]


class NormalGap(Table):
    """Gaps of a normal distribution, cut off at the line rate."""

    mean: Picoseconds
    deviation: Picoseconds


class Jitter(Table):
    """By how much a frame is released later than its source says, or about it: one distribution."""

    normal: Picoseconds | None = None
    uniform: Picoseconds | None = None
    exponential: Picoseconds | None = None
    values: Annotated[list[SignedPicoseconds] | None, Field(min_length=1)] = None
    quantiles: list[Quantile] | None = None
    file: str | None = None

    @model_validator(mode="after")
    def _one(self) -> Jitter:
        if len(self.model_fields_set) != 1:
            raise refuse(
                "a jitter has one distribution",
                f'one of {", ".join(self.keys())}, as in normal = "2us"',
            )
        points = self.quantiles
        if points is not None:
            rises = all(a[0] < b[0] and a[1] <= b[1] for a, b in pairwise(points))
            if not points or points[0][0] != 0 or points[-1][0] != 1 or not rises:
                allowed = '[[0, "1us"], [0.5, "2us"], [1, "9us"]]: parts that rise from 0 to 1, times that do not fall'
                raise refuse("these are no quantiles", allowed, "quantiles")
        return self


class Software(Table):
    """What a host's software takes from a frame's construction to the controller."""

    delay: Jitter

    @model_validator(mode="after")
    def _not_before(self) -> Software:
        delay = self.delay
        least = min(delay.values or [time for _, time in delay.quantiles or ()], default=0)
        if delay.normal is not None or least < 0:
            what = "the controller does not have a frame before it is constructed"
            raise refuse(what, "a distribution without values below zero: any but normal", "delay")
        return self


class Launch(Table):
    """When the controller sends a frame: so long after its nominal time, off by so much."""

    offset: Picoseconds
    error: Jitter | None = None


def _launch(value: Any) -> Any:
    return value if isinstance(value, dict) else {"offset": value}


class Audio(Table):
    """Samples in packets of equal time."""

    sample_rate: Millihertz
    channels: Annotated[int, number(1, 64)] = 2
    bits: Literal[16, 24, 32] = 24
    packet: Picoseconds = 125_000_000

    @model_validator(mode="after")
    def _not_zero(self) -> Audio:
        for key in ("sample_rate", "packet"):
            if getattr(self, key) == 0:
                raise refuse("is zero", "a value above 0", key)
        return self


class Video(Table):
    """Pictures, each cut into packets."""

    pictures: Millihertz
    rate: BitsPerSecond | None = None
    i_picture: Bytes | None = None
    p_picture: Bytes | None = None
    group: Annotated[int | None, number(1, 1000)] = None
    packet: Bytes = 1400
    spacing: Picoseconds = 0

    @model_validator(mode="after")
    def _one_size(self) -> Video:
        sizes = self.i_picture, self.p_picture, self.group
        if self.pictures == 0:
            raise refuse("is zero", "a value above 0", "pictures")
        if self.packet == 0:
            raise refuse("is zero", "a value above 0", "packet")
        if (self.rate is None) == (sizes == (None, None, None)):
            raise refuse("the size of a picture is not clear", "rate, or i_picture with p_picture and group")
        if self.rate is None and (self.i_picture is None or (self.p_picture is None) != (self.group is None)):
            raise refuse("the size of a picture is not clear", "i_picture, alone or with p_picture and group")
        for key in ("rate", "i_picture", "p_picture"):
            if getattr(self, key) == 0:
                raise refuse("is zero", "a value above 0", key)
        return self


class Source(Table):
    """Where the frames of a stream come from, and when."""

    capture: str | None = None
    frames: Bytes | None = None
    every: Picoseconds | None = None
    back_to_back: Literal[True] | None = None
    burst: Count | None = None
    poisson: Picoseconds | None = None
    normal: NormalGap | None = None
    audio: Audio | None = None
    video: Video | None = None
    response_to: str | None = None
    after: Picoseconds | None = None
    program: Program | None = None
    protocol: Protocol | None = None
    rate: BitsPerSecond | None = None
    jitter: Jitter | None = None
    software: Software | None = None
    launch: Annotated[Launch | None, BeforeValidator(_launch)] = None
    seed: Seed | None = None
    count: Count | None = None
    start: Picoseconds = 0

    @model_validator(mode="before")
    @classmethod
    def _of_program(cls, value: Any) -> Any:
        return with_pattern(value)

    @model_validator(mode="after")
    def _one_kind(self) -> Source:
        _check_program(self)
        timings = [k for k in TIMINGS if getattr(self, k) is not None]
        kinds = f'capture = "FILE", audio, video or program, or frames = "LENGTH" with one of {", ".join(TIMINGS)}'
        whole = next((k for k in ("capture", "audio", "video") if getattr(self, k) is not None), None)
        if whole is not None:
            common = (whole, "start", "count", "jitter", "software", "launch", "seed")
            others = [k for k in type(self).model_fields if k in self.model_fields_set and k not in common]
            if others:
                owner = "a capture" if whole == "capture" else whole
                raise refuse(f'{owner} brings its own times, so "{others[0]}" says nothing', kinds, others[0])
        elif self.frames is None:
            raise refuse("the source has neither a capture nor frames", kinds)
        elif len(timings) != 1:
            raise refuse(
                f"the source has {len(timings) or 'no'} timings{': ' if timings else ''}{', '.join(timings)}", kinds
            )
        elif self.burst is not None and self.every is None:
            raise refuse("a burst comes once in a period", 'burst = 10 with every = "1ms"', "burst")
        elif self.after is not None and self.response_to is None:
            raise refuse("only a response comes after something", 'after together with response_to = "STREAM"', "after")
        elif self.start and self.response_to is not None:
            raise refuse("a response starts with what it answers", 'no "start"', "start")
        elif self.jitter is not None and self.back_to_back:
            raise refuse("frames back to back have no time to leave", "jitter with another timing", "jitter")
        for key in ("every", "poisson"):
            if getattr(self, key) == 0:
                raise refuse("the period is zero", "a time above 0", key)
        for key in ("software", "launch"):
            if getattr(self, key) is not None and (self.back_to_back or self.response_to is not None):
                raise refuse("the source has no times of its own", f"{key} with another timing", key)
        return self


TIMINGS = ("every", "back_to_back", "poisson", "normal", "response_to")


def _check_program(source: Source) -> None:
    """Raises what is wrong with the keys of a program."""
    if source.program is None:
        for key in ("protocol", "rate"):
            if getattr(source, key) is not None:
                raise refuse("only a program has one", f'program = "iperf3" together with {key}', key)
        return
    if source.protocol is None:
        raise refuse("what iperf3 is to send is not said", 'protocol = "udp", "tcp" or "sctp"', "program")
    if source.rate is None and source.protocol != "tcp":
        raise refuse(f"how much {source.protocol.upper()} iperf3 is to send is not said", 'rate = "50Mb/s"', "program")
    if source.rate == 0:
        raise refuse("nothing is sent at no rate", "a rate above 0", "rate")
    for key in ("count", "launch", "capture", "audio", "video", "response_to"):
        if getattr(source, key) is not None:
            raise refuse("iperf3 makes frames of its own, at its own times", f"no {key} beside program", key)
