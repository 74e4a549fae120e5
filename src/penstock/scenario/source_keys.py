# SPDX-License-Identifier: Apache-2.0
"""The keys of a stream's `source`: where its frames come from, and when."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from penstock.scenario.keys import Short, Table, Whole, refuse, said
from penstock.scenario.limits import (
    Displacement,
    Duration,
    FrameBytes,
    PacketBytes,
    PacketTime,
    PictureBytes,
    PictureRate,
    SampleRate,
    SoftwareTime,
    Start,
    TrafficRate,
)
from penstock.scenario.programs import Program, Protocol, with_pattern


def _pair(value: Any) -> tuple[Any, Any]:
    if not isinstance(value, list | tuple) or len(value) != 2 or type(value[0]) not in (int, float):
        raise refuse(f"{said(value)} is no quantile", 'a part of all and a time, [0.5, "2us"]')
    return value[0], value[1]


_QUANTILE_SCHEMA = {"type": "array", "minItems": 2, "maxItems": 2, "title": "quantile", "examples": [[0.5, "2us"]]}

Quantile = Annotated[tuple[float, Displacement], BeforeValidator(_pair), WithJsonSchema(_QUANTILE_SCHEMA)]
Seed = Annotated[int, Whole(0, 2**63 - 1)]
Count = Annotated[int, Whole(1, 10**9)]


class NormalGap(Table):
    """Gaps of a normal distribution, cut off at the line rate."""

    mean: Duration = Field(description="From release to release.")
    deviation: Start = Field(description="The standard deviation of it.")


class Jitter(Table):
    """By how much a frame is released later than its source says, or about it: one distribution."""

    normal: SoftwareTime | None = Field(default=None, description="A normal deviate of this deviation, to either side.")
    uniform: SoftwareTime | None = Field(default=None, description="0 to this, all as likely.")
    exponential: SoftwareTime | None = Field(default=None, description="An exponential deviate of this mean.")
    values: Annotated[list[Displacement] | None, Field(min_length=1)] = Field(
        default=None, description="One of these, each as likely."
    )
    quantiles: list[Quantile] | None = Field(
        default=None, description="A distribution known by its quantiles, straight between them."
    )
    file: str | None = Field(default=None, description="A text file with one time in each line, each as likely.")

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

    delay: Jitter = Field(description="From a frame's construction to the controller.")

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

    offset: SoftwareTime = Field(description="After the frame's nominal time, without jitter.")
    error: Jitter | None = Field(default=None, description="By how much the controller is off.")


_LaunchOrOffset = Annotated[
    Launch | None, Short(SoftwareTime, lambda value: value if isinstance(value, dict | None) else {"offset": value})
]


class Audio(Table):
    """Samples in packets of equal time."""

    sample_rate: SampleRate = Field(description="Samples of each channel.")
    channels: Annotated[int, Whole(1, 64)] = Field(default=2, description="How many samples belong together.")
    bits: Literal[16, 24, 32] = Field(default=24, description="Of a sample.")
    packet: PacketTime = Field(default=125_000_000, description="The time whose samples are in one packet.")


class Video(Table):
    """Pictures, each cut into packets."""

    pictures: PictureRate = Field(description="How many pictures there are in a second.")
    rate: TrafficRate | None = Field(default=None, description="Of pictures that are all alike, instead of their size.")
    i_picture: PictureBytes | None = Field(
        default=None, description="The size of an I picture, the first of each group."
    )
    p_picture: PictureBytes | None = Field(default=None, description="The size of the others.")
    group: Annotated[int | None, Whole(1, 1000)] = Field(
        default=None, description="Pictures from one I picture to the next."
    )
    packet: PacketBytes = Field(default=1400, description="The longest piece of a picture in one frame.")
    spacing: SoftwareTime = Field(default=0, description="From one packet of a picture to the next.")

    @model_validator(mode="after")
    def _one_size(self) -> Video:
        sizes = self.i_picture, self.p_picture, self.group
        if (self.rate is None) == (sizes == (None, None, None)):
            raise refuse("the size of a picture is not clear", "rate, or i_picture with p_picture and group")
        if self.rate is None and (self.i_picture is None or (self.p_picture is None) != (self.group is None)):
            raise refuse("the size of a picture is not clear", "i_picture, alone or with p_picture and group")
        return self


class Source(Table):
    """Where the frames of a stream come from, and when."""

    capture: str | None = Field(default=None, description="A pcap or pcapng file, replayed with its own times.")
    frames: FrameBytes | None = Field(
        default=None, description="The length of made frames, destination address to FCS."
    )
    every: Duration | None = Field(default=None, description="The period of the frames, or of bursts.")
    back_to_back: Literal[True] | None = Field(default=None, description="As fast as the link goes.")
    burst: Annotated[int | None, Whole(1, 1_000_000)] = Field(
        default=None, description="So many frames at once in each period."
    )
    poisson: Duration | None = Field(default=None, description="Exponential gaps of this mean.")
    normal: NormalGap | None = Field(default=None, description="Normally distributed gaps.")
    audio: Audio | None = Field(default=None, description="Sound: samples in packets of equal time.")
    video: Video | None = Field(default=None, description="A film: pictures, each cut into packets.")
    response_to: str | None = Field(
        default=None, description="A frame for each frame of this stream that the talker has heard."
    )
    after: SoftwareTime | None = Field(default=None, description="How long a response takes.")
    program: Program | None = Field(default=None, description="A program whose traffic it is.")
    protocol: Protocol | None = Field(default=None, description="What the program sends.")
    rate: TrafficRate | None = Field(default=None, description="How much the program sends.")
    jitter: Jitter | None = Field(default=None, description="By how much each release is moved.")
    software: Software | None = Field(default=None, description="What a host's software takes of each frame.")
    launch: _LaunchOrOffset = Field(default=None, description="When the controller sends each frame.")
    seed: Seed | None = Field(
        default=None, description="Of all that is by chance; from the stream's name if not given."
    )
    count: Count | None = Field(default=None, description="Frames at most.")
    start: Start = Field(default=0, description="When the first frame is due.")

    @model_validator(mode="before")
    @classmethod
    def _of_program(cls, value: Any) -> Any:
        return with_pattern(value)

    @model_validator(mode="after")
    def _one_kind(self) -> Source:
        if self.frames is not None and self.every is not None and self.model_fields_set <= _PLAIN:
            return self
        _check_program(self)
        timings = [k for k in TIMINGS if getattr(self, k) is not None]
        whole = next((k for k in ("capture", "audio", "video") if getattr(self, k) is not None), None)
        if whole is not None:
            common = (whole, "start", "count", "jitter", "software", "launch", "seed")
            others = [k for k in type(self).model_fields if k in self.model_fields_set and k not in common]
            if others:
                owner = "a capture" if whole == "capture" else whole
                raise refuse(f'{owner} brings its own times, so "{others[0]}" says nothing', _KINDS, others[0])
        elif self.frames is None:
            raise refuse("the source has neither a capture nor frames", _KINDS)
        elif len(timings) != 1:
            raise refuse(
                f"the source has {len(timings) or 'no'} timings{': ' if timings else ''}{', '.join(timings)}", _KINDS
            )
        elif self.burst is not None and self.every is None:
            raise refuse("a burst comes once in a period", 'burst = 10 with every = "1ms"', "burst")
        elif self.after is not None and self.response_to is None:
            raise refuse("only a response comes after something", 'after together with response_to = "STREAM"', "after")
        elif self.start and self.response_to is not None:
            raise refuse("a response starts with what it answers", 'no "start"', "start")
        elif self.jitter is not None and self.back_to_back:
            raise refuse("frames back to back have no time to leave", "jitter with another timing", "jitter")
        for key in ("software", "launch"):
            if getattr(self, key) is not None and (self.back_to_back or self.response_to is not None):
                raise refuse("the source has no times of its own", f"{key} with another timing", key)
        return self


_PLAIN = {"frames", "every", "start", "count", "seed"}
TIMINGS = ("every", "back_to_back", "poisson", "normal", "response_to")
_KINDS = f'capture = "FILE", audio, video or program, or frames = "LENGTH" with one of {", ".join(TIMINGS)}'


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
    for key in ("count", "launch", "capture", "audio", "video", "response_to"):
        if getattr(source, key) is not None:
            raise refuse("iperf3 makes frames of its own, at its own times", f"no {key} beside program", key)
