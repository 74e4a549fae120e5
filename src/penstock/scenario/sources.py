# SPDX-License-Identifier: Apache-2.0
"""What the sources of streams come to: captures, and the frames of audio and video."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Literal

from penstock.captures import Capture, CaptureError, Header, header_of, read_capture
from penstock.ethernet import FCS_BYTES, MAC_HEADER_BYTES, MIN_FRAME_BYTES, TAG_BYTES
from penstock.plain_file import check_ends
from penstock.scenario import model, source_keys
from penstock.scenario.checked_stream import Handover, Jitter, Launch, Pattern
from penstock.scenario.keys import said
from penstock.scenario.limits import DISPLACEMENT, MOST_PACKETS
from penstock.scenario.positions import KeyPath
from penstock.scenario.report import Report

Way = Literal["destination", "source", "ipv4"]  # by which a bridge knows a stream

_UDP_BYTES = 20 + 8
_RTP_BYTES = 12  # RFC 3550
_AVTP_BYTES = 24  # IEEE 1722, the header of a stream's AVTPDU
AVTP_ETHERTYPE = 0x22F0
LOCAL_ETHERTYPE = 0x88B5
_LONGEST_CYCLE = 100_000  # packets after which an audio stream's sizes repeat


def least_bytes(udp: bool, tagged: bool) -> int:
    """The shortest frame that holds the headers."""
    headers = MAC_HEADER_BYTES + tagged * TAG_BYTES + udp * _UDP_BYTES + FCS_BYTES
    return max(MIN_FRAME_BYTES, headers)


def _frame_bytes(payload: int, udp: bool, tagged: bool) -> int:
    around = _UDP_BYTES + _RTP_BYTES if udp else _AVTP_BYTES
    return max(MIN_FRAME_BYTES, MAC_HEADER_BYTES + tagged * TAG_BYTES + around + payload + FCS_BYTES)


def _pattern(period_ps: int, payloads: Sequence[Sequence[int]], spacing_ps: int, udp: bool, tagged: bool) -> Pattern:
    sizes = tuple(tuple(_frame_bytes(payload, udp, tagged) for payload in each) for each in payloads)
    return Pattern(period_ps, sizes, tuple(map(tuple, payloads)), spacing_ps)


def audio_pattern(report: Report, path: KeyPath, audio: source_keys.Audio, udp: bool, tagged: bool) -> Pattern:
    """Each packet has the samples of its interval; where that is not a whole number, sizes alternate."""
    per_packet = Fraction(audio.sample_rate, 1000) * Fraction(audio.packet, 10**12)
    if per_packet < 1:
        report.refuse((*path, "audio", "packet"), "is shorter than a sample", "at least the time of a sample")
    count = per_packet.denominator
    if count > _LONGEST_CYCLE:
        what = f"the packets' sizes repeat only after {count} packets"
        report.refuse((*path, "audio", "packet"), what, f"a time that gives up to {_LONGEST_CYCLE}")
    samples = [int(per_packet * (n + 1)) - int(per_packet * n) for n in range(count)]
    sample_bytes = audio.channels * audio.bits // 8
    return _pattern(audio.packet, [[n * sample_bytes] for n in samples], 0, udp, tagged)


def video_pattern(report: Report, path: KeyPath, video: source_keys.Video, udp: bool, tagged: bool) -> Pattern:
    """Each picture in packets of the stated length, the last one shorter."""
    period = 10**15 // video.pictures
    if video.rate is not None:
        pictures = [ceil(Fraction(video.rate * 1000, 8 * video.pictures))]
    else:
        assert video.i_picture is not None
        pictures = [video.i_picture] + [video.p_picture or 0] * ((video.group or 1) - 1)
    packets = sum(-(-picture // video.packet) for picture in pictures)
    if packets > MOST_PACKETS:
        what = f"{packets} packets are in {'a group of pictures' if len(pictures) > 1 else 'a picture'}"
        report.refuse((*path, "video"), what, f"up to {MOST_PACKETS}")
    payloads = []
    for picture in pictures:
        whole, rest = divmod(picture, video.packet)
        payloads.append([video.packet] * whole + [rest] * (rest > 0))
    longest = max(map(len, payloads))
    if video.spacing * (longest - 1) >= period:
        report.refuse(
            (*path, "video", "spacing"),
            f"{longest} packets so far apart do not end before the next picture",
            f"below {period // max(longest - 1, 1) // 1000}ns",
        )
    return _pattern(period, payloads, video.spacing, udp, tagged)


def jitter_of(report: Report, path: KeyPath, jitter: source_keys.Jitter | None, folder: Path) -> Jitter | None:
    """The distribution at a key; of a file, its values."""
    if jitter is None:
        return None
    if jitter.values is not None:
        return Jitter("values", values_ps=tuple(jitter.values))
    if jitter.quantiles is not None:
        return Jitter("quantiles", quantiles_ps=tuple(jitter.quantiles))
    if jitter.file is not None:
        return Jitter("values", values_ps=_times(report, (*path, "file"), folder / jitter.file))
    for kind in ("normal", "uniform"):
        if getattr(jitter, kind) is not None:
            return Jitter("normal" if kind == "normal" else "uniform", getattr(jitter, kind))
    return Jitter("exponential", jitter.exponential or 0)


def handover_of(report: Report, path: KeyPath, source: source_keys.Source, folder: Path) -> Handover | None:
    """What is between the program and the port, if the source says anything of it."""
    software, launch = source.software, source.launch
    if software is None and launch is None:
        return None
    delay, found = None, None
    if software is not None:
        where = (*path, "software", "delay")
        delay = jitter_of(report, where, software.delay, folder)
        if delay is not None and min(delay.values_ps, default=0) < 0:
            report.refuse((*where, "file"), "a time is below zero", "times from 0")
    if launch is not None:
        found = Launch(launch.offset, jitter_of(report, (*path, "launch", "error"), launch.error, folder))
    return Handover(delay, found)


def _times(report: Report, path: KeyPath, file: Path) -> tuple[int, ...]:
    try:
        check_ends(file)
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        what = "is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else f"cannot be read: {error.strerror}"
        report.refuse(path, f"{said(str(file))} {what}", "a text file with a time in each line")
    found = []
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                found.append(DISPLACEMENT.read(line))
            except ValueError:
                report.refuse(
                    path, f"line {number} of {file} is {said(line.strip())}", 'a time such as "1.25us" in each line'
                )
    if not found:
        report.refuse(path, f"{file} holds no time", "a time in each line")
    return tuple(found)


def capture(
    report: Report,
    path: KeyPath,
    stream: model.Stream,
    file: Path,
    longest: tuple[int, str],
    identify: Way | None,
) -> tuple[Capture, Header, Way]:
    """Reads a capture whose frames are one stream. `longest` is the largest frame on the way, and of which bridge."""
    where = (*path, "source", "capture")
    try:
        found = read_capture(file)
    except CaptureError as error:
        report.refuse(where, error.what, error.allowed)
    headers = [header_of(frame.data) for frame in found.frames]
    for number, (frame, header) in enumerate(zip(found.frames, headers, strict=True), 1):
        if len(frame.data) < min(34, frame.original_bytes):
            report.refuse(where, f"frame {number} was cut before its headers", "a snap length of 64 or more")
        length = max(frame.original_bytes, 60) + 4
        if length > longest[0]:
            what = f"frame {number} has {length} B with its FCS, too long for {longest[1]}"
            report.refuse(where, what, f"up to {longest[0]} B")
        if (header.vlan, header.pcp) != (headers[0].vlan, headers[0].pcp):
            report.refuse(where, f"frame {number} has another tag than frame 1", "one VLAN and priority in a stream")
    first = headers[0]
    if not found.in_order:
        report.refuse(where, "its frames are not in the order of time", "times that do not go back")
    for key, given, is_so in (("vlan", stream.vlan, first.vlan), ("pcp", stream.pcp, first.pcp)):
        if given is not None and given != is_so:
            carried = f"carry {key} {is_so}" if first.vlan is not None else "are untagged"
            allowed = f"{is_so if first.vlan else 'no key'}"
            report.refuse((*path, key), f"the frames of the capture {carried}", allowed)
    destinations = {h.destination for h in headers}
    if identify is None:
        identify = "ipv4" if first.ipv4 and len({h.ipv4 for h in headers}) == 1 else "destination"
    ways: dict[str, Sized] = {
        "destination": destinations,
        "source": {h.source for h in headers},
        "ipv4": {h.ipv4 for h in headers},
    }
    keys = ways[identify]
    if len(keys) > 1 and (stream.has_scheduler or identify != "destination"):
        report.refuse(
            (*path, "source" if stream.identify is None else "identify"),
            f"the capture holds {len(keys)} streams when known by {identify}",
            "one stream in a capture: filter it",
        )
    if identify == "ipv4" and first.ipv4 is None:
        report.refuse((*path, "identify"), "the frames of the capture are not IPv4", '"destination" or "source"')
    if len(destinations) > 1:
        report.refuse(where, f"its frames go to {len(destinations)} addresses", "one destination address: filter it")
    return found, first, identify
