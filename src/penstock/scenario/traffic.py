# SPDX-License-Identifier: Apache-2.0
"""The frames that a stream's talker sends: those of a capture, or made ones, which have to fit its link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.captures import Capture
from penstock.scenario import model, sources
from penstock.scenario.addresses import destination_of
from penstock.scenario.checked_stream import Pattern, Udp
from penstock.scenario.draft import Draft
from penstock.scenario.network import Station
from penstock.scenario.positions import KeyPath
from penstock.scenario.responses import check_response


@dataclass(slots=True)
class Traffic:
    """The frames of a stream."""

    vlan: int | None
    pcp: int
    lengths: list[int]
    destination: int
    source_mac: int
    udp: Udp | None
    identify: sources.Way | None  # None: as the scenario's default has it
    ethertype: int = sources.LOCAL_ETHERTYPE
    pattern: Pattern | None = None
    capture: Capture | None = None
    capture_path: Path | None = None


def captured(draft: Draft, path: KeyPath, stream: model.Stream, longest: tuple[int, str]) -> Traffic:
    """The frames of the stream's capture, with the addresses that they have there."""
    assert stream.source.capture is not None
    for key in ("destination", "udp"):
        if getattr(stream, key) is not None:
            draft.report.refuse((*path, key), "a capture brings its own addresses", f'no "{key}"')
    capture_path = draft.folder / stream.source.capture
    way = stream.identify.by if stream.identify else None
    capture, header, identify = sources.capture(draft.report, path, stream, capture_path, longest, way)
    return Traffic(
        vlan=header.vlan,
        pcp=header.pcp,
        lengths=capture.lengths()[: stream.source.count],
        destination=header.destination,
        source_mac=header.source,
        udp=Udp(*header.ipv4[:2], *header.ipv4[3:], protocol=header.ipv4[2]) if header.ipv4 else None,
        identify=identify,
        capture=capture,
        capture_path=capture_path,
    )


def made(
    draft: Draft,
    path: KeyPath,
    number: int,
    stream: model.Stream,
    longest: tuple[int, str],
    talker: Station,
    stations: Mapping[str, Station],
) -> Traffic:
    """The frames that the talker makes."""
    report, source, where = draft.report, stream.source, (*path, "source")
    udp = Udp(**stream.udp.model_dump()) if stream.udp else None
    pattern = None
    if source.audio is not None:
        pattern = sources.audio_pattern(report, where, source.audio, udp is not None, stream.vlan is not None)
    elif source.video is not None:
        pattern = sources.video_pattern(report, where, source.video, udp is not None, stream.vlan is not None)
    if pattern is not None:
        lengths = [size for frames in pattern.sizes for size in frames]
    else:
        assert source.frames is not None
        lengths = [source.frames]
    _check_lengths(draft, path, stream, lengths, longest, pattern)
    check_response(draft, path, stream)
    destination = destination_of(draft, path, number, stream, stations)
    identify = stream.identify.by if stream.identify else None
    if identify == "ipv4" and udp is None:
        report.refuse((*path, "identify"), "the stream has no IPv4 addresses", 'a "udp" table, or another way')
    return Traffic(
        vlan=stream.vlan,
        pcp=stream.pcp or 0,
        lengths=lengths,
        destination=destination,
        source_mac=talker.mac,
        udp=udp,
        identify=identify,
        ethertype=sources.LOCAL_ETHERTYPE if pattern is None else sources.AVTP_ETHERTYPE,
        pattern=pattern,
    )


def _check_lengths(
    draft: Draft,
    path: KeyPath,
    stream: model.Stream,
    lengths: list[int],
    longest: tuple[int, str],
    pattern: Pattern | None,
) -> None:
    source = stream.source
    kind = "audio" if source.audio is not None else "video" if source.video is not None else None
    where = (*path, "source") if kind is None else (*path, "source", kind)
    if pattern is not None:
        if max(lengths) > longest[0]:
            what = f"makes frames of {max(lengths)} B, too long for {longest[1]}"
            draft.report.refuse((*where, "packet"), what, f"frames of up to {longest[0]} B")
        return
    length = lengths[0]
    low = sources.least_bytes(stream.udp is not None, stream.vlan is not None)
    if not low <= length <= longest[0]:
        what = f"{length} B is not a frame's length at {longest[1]}"
        draft.report.refuse((*where, "frames"), what, f"{low}B to {longest[0]}B")
