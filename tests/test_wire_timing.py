# SPDX-License-Identifier: Apache-2.0
"""Times on the wire, computed by hand and met to the picosecond.

A frame of L bytes is on the wire for 8 bytes of preamble, L bytes, and 12 bytes of gap. Its stamp is the first bit
after the delimiter. A bridge that stores and forwards takes a frame with its last bit and selects it a processing delay
later; its first bit leaves 8 bytes after that, and the next is selected 8 + L + 12 bytes later. Times here are in ps.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

import penstock as ps
from penstock import report
from penstock.captures import CapturedFrame, write_pcapng

AHEAD, GAP = 8, 12  # bytes of the wire
FCS_BYTES = 4
HEADER = 64  # after these bytes a frame that is cut through goes on
NS, US = 10**3, 10**6
MBPS, GBPS = 10**6, 10**9


def byte_ps(rate_bps: int) -> int:
    whole, rest = divmod(8 * 10**12, rate_bps)
    assert rest == 0
    return whole


class Times:
    """The trace of a run, read back."""

    def __init__(self, trace: pl.DataFrame) -> None:
        self.trace = trace.with_columns(pl.col("stream", "node", "event").cast(pl.String))

    def of(self, stream: str, event: str, node: str) -> list[int]:
        """When it happened to each frame of a stream that it happened to, in their order."""
        rows = self.trace.filter((pl.col("stream") == stream) & (pl.col("event") == event) & (pl.col("node") == node))
        return [int(time) for time in rows.sort("frame_id")["time_ps"]]

    def one(self, stream: str, event: str, node: str) -> int:
        (time,) = self.of(stream, event, node)
        return time

    def reasons(self, stream: str) -> list[str]:
        rows = self.trace.filter((pl.col("stream") == stream) & (pl.col("event") == "dropped"))
        return [str(reason) for reason in rows.sort("frame_id")["reason"]]


class Run:
    """Runs a scenario as a model, and gives what the trace says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, text: str) -> Times:
        file = self.folder / "scenario.toml"
        file.write_text('name = "timing"\nnodes = "model"\nduration = "20ms"\n' + text)
        return Times(ps.load(file).run().trace)

    def captured(self, frame_bytes: int, times_ps: Sequence[int], *, pcp: int, more: str) -> str:
        """The stream `s` with frames at these times, by way of a capture."""
        # The listener's address, the talker's, and a tag.
        head = bytes.fromhex("020000000002 020000000001 8100") + (pcp << 13 | 10).to_bytes(2) + b"\x88\xb5"
        data = head.ljust(frame_bytes - FCS_BYTES, b"\0")
        write_pcapng(self.folder / "s.pcapng", [CapturedFrame(time, data, len(data)) for time in times_ps])
        return (
            '[streams.s]\nfrom = "talker"\nto = ["listener"]\n'
            f'source = {{ capture = "s.pcapng" }}\nidentify = "destination"\n{more}\n'
        )


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    # The report has tests of its own, and takes longer than all the rest.
    monkeypatch.setattr(report, "render", lambda *_, **__: "")
    return Run(tmp_path)


def line(
    rates_bps: Sequence[int],
    delays_ps: Sequence[int],
    settings: str,
    streams: str,
    *,
    stations: str = "",
) -> str:
    """Bridges b1, b2, ... in a line between `talker` and `listener`, and the links on the way."""
    hops = len(rates_bps) - 1
    text = ""
    for hop in range(1, hops + 1):
        text += f"[bridges.b{hop}]\nports = 4\n{settings}\n"
    for hop in range(1, hops):
        text += f'[links.l{hop}]\nbetween = ["b{hop}.1", "b{hop + 1}.0"]\n'
        text += f'rate = "{rates_bps[hop]}b/s"\ndelay = "{delays_ps[hop]}ps"\n'
    text += "[stations]\n"
    text += f'talker = {{ at = "b1.0", rate = "{rates_bps[0]}b/s", delay = "{delays_ps[0]}ps" }}\n'
    text += f'listener = {{ at = "b{hops}.1", rate = "{rates_bps[-1]}b/s", delay = "{delays_ps[-1]}ps" }}\n'
    return text + stations + streams


def stream(
    name: str,
    frame_bytes: int,
    start_ps: int,
    *,
    talker: str = "talker",
    listener: str = "listener",
    pcp: int = 0,
    vlan: int = 10,
    more: str = "",
    source: str = 'every = "1s", count = 1',
) -> str:
    return (
        f'[streams.{name}]\nfrom = "{talker}"\nto = ["{listener}"]\nvlan = {vlan}\npcp = {pcp}\n'
        f'source = {{ frames = "{frame_bytes}B", {source}, start = "{start_ps}ps" }}\n{more}\n'
    )


# ---- through n bridges

WAYS = {
    "1 hop": ([GBPS] * 2, [50 * NS] * 2),
    "2 hops": ([GBPS] * 3, [0, 1, 999]),
    "5 hops": ([GBPS] * 6, [50 * NS, 10 * NS, 500 * NS, 7 * US, 0, 1 * NS]),
    "3 hops at 10 Mb/s": ([10 * MBPS] * 4, [50 * NS] * 4),
    "3 hops at 100 Gb/s": ([100 * GBPS] * 4, [5 * NS] * 4),
    "slower and slower": ([100 * GBPS, 10 * GBPS, GBPS, 100 * MBPS, 10 * MBPS], [40 * NS] * 5),
    "faster and faster": ([10 * MBPS, 100 * MBPS, 1 * GBPS, 2_500 * MBPS, 25 * GBPS], [60 * NS] * 5),
    "16 hops": ([GBPS, 10 * GBPS] * 8 + [GBPS], [n * NS for n in range(17)]),
}


@pytest.mark.parametrize("frame_bytes", [64, 300, 1522])
@pytest.mark.parametrize("processing_ps", [0, 1_234 * NS + 567])
@pytest.mark.parametrize("way", WAYS)
def test_store_and_forward(way: str, processing_ps: int, frame_bytes: int, run: Run) -> None:
    rates, delays = WAYS[way]
    start = 3 * US + 1
    times = run(line(rates, delays, f'processing_delay = "{processing_ps}ps"', stream("s", frame_bytes, start)))
    # Into the talker's port at once, and then its preamble.
    at = start + AHEAD * byte_ps(rates[0])
    assert times.of("s", "sent", "talker") == [at]
    for hop in range(1, len(rates)):
        at += delays[hop - 1]
        assert times.of("s", "received", f"b{hop}") == [at]
        at += frame_bytes * byte_ps(rates[hop - 1]) + processing_ps + AHEAD * byte_ps(rates[hop])
        assert times.of("s", "sent", f"b{hop}") == [at]
    assert times.of("s", "delivered", "listener") == [at + delays[-1]]


@pytest.mark.parametrize("frame_bytes", [64, 65, 300, 1522])
@pytest.mark.parametrize("processing_ps", [0, 700 * NS + 1])
@pytest.mark.parametrize("way", WAYS)
def test_cut_through(way: str, processing_ps: int, frame_bytes: int, run: Run) -> None:
    rates, delays = WAYS[way]
    settings = f'switching = "cut_through"\nprocessing_delay = "{processing_ps}ps"'
    times = run(line(rates, delays, settings, stream("s", frame_bytes, 0)))
    at = AHEAD * byte_ps(rates[0])
    for hop in range(1, len(rates)):
        at += delays[hop - 1]
        # Onto a faster link a frame would overtake its own end: it is stored.
        taken = HEADER if rates[hop] <= rates[hop - 1] else frame_bytes
        at += taken * byte_ps(rates[hop - 1]) + processing_ps + AHEAD * byte_ps(rates[hop])
        assert times.of("s", "sent", f"b{hop}") == [at]
    assert times.of("s", "delivered", "listener") == [at + delays[-1]]


@pytest.mark.parametrize("hops", [1, 2, 5])
@pytest.mark.parametrize("frame_bytes", [64, 1522])
def test_the_hardware_as_a_model(hops: int, frame_bytes: int, run: Run) -> None:
    # A switch of four ports selects 31 cycles of 8 ns after the last bit; 12 cycles later the first bit leaves.
    times = run(line([GBPS] * (hops + 1), [40 * NS] * (hops + 1), "", stream("s", frame_bytes, 800 * NS)))
    latency = times.one("s", "delivered", "listener") - times.one("s", "sent", "talker")
    assert latency == (hops + 1) * 40 * NS + hops * (frame_bytes * 8 + (31 + 12) * 8) * NS


def test_frames_back_to_back_keep_their_distance(run: Run) -> None:
    """A slower link stretches a burst, and a faster one does not press it together."""
    rates, frame_bytes, count = [GBPS, 100 * MBPS, 10 * GBPS], 200, 5
    source = f'burst = {count}, every = "1s", count = {count}'
    times = run(line(rates, [0] * 3, 'processing_delay = "1us"', stream("s", frame_bytes, 0, source=source)))
    whole = AHEAD + frame_bytes + GAP
    for node, rate in (("talker", GBPS), ("b1", 100 * MBPS), ("b2", 100 * MBPS)):
        sent = times.of("s", "sent", node)
        assert [at - sent[0] for at in sent] == [n * whole * byte_ps(rate) for n in range(count)], node


# ---- a blocking frame at each hop


@pytest.mark.parametrize("blocking_bytes", [64, 1522])
@pytest.mark.parametrize("rate_bps", [100 * MBPS, GBPS, 10 * GBPS])
@pytest.mark.parametrize("hops", [1, 2, 4])
def test_a_blocking_frame_at_each_hop(hops: int, rate_bps: int, blocking_bytes: int, run: Run) -> None:
    """At each bridge a frame of a lower class is selected 1 ns before the frame: it waits for all of it."""
    byte, delay, processing, frame_bytes = byte_ps(rate_bps), 300 * NS, 2 * US, 400
    head_start = 1 * NS
    start = 5_000 * US
    stations, streams = "", stream("s", frame_bytes, start, pcp=7)
    at = start + AHEAD * byte  # first bit out of the talker
    waited = []
    for hop in range(1, hops + 1):
        visible = at + delay + frame_bytes * byte + processing
        # First bit of the blocking frame: out of its talker, a link and a frame before it is selected.
        released = visible - head_start - processing - (blocking_bytes + AHEAD) * byte - delay
        common = f'rate = "{rate_bps}b/s", delay = "{delay}ps"'
        stations += f'x{hop} = {{ at = "b{hop}.2", {common} }}\n'
        sink = "listener"
        if hop < hops:
            sink = f"y{hop}"
            stations += f'{sink} = {{ at = "b{hop + 1}.3", {common} }}\n'
        streams += stream(f"blocking{hop}", blocking_bytes, released, talker=f"x{hop}", listener=sink)
        waited.append((AHEAD + blocking_bytes + GAP) * byte - head_start)
        at = visible + waited[-1] + AHEAD * byte
    settings = f'processing_delay = "{processing}ps"'
    times = run(line([rate_bps] * (hops + 1), [delay] * (hops + 1), settings, streams, stations=stations))
    latency = times.one("s", "delivered", "listener") - times.one("s", "sent", "talker")
    unhindered = (hops + 1) * delay + hops * (frame_bytes * byte + processing + AHEAD * byte)
    assert latency == unhindered + sum(waited)
    assert times.one("s", "delivered", "listener") == at + delay


# ---- Asynchronous Traffic Shaping

PROCESSING = 1 * US


def shaping(streams: str, *, rate_bps: int = GBPS, settings: str = "", overhead: int = 20) -> str:
    """One bridge whose classes 6 and 7 are shaped."""
    bridge = f'processing_delay = "{PROCESSING}ps"\noverhead = "{overhead}B"\n{settings}'
    return line([rate_bps, rate_bps], [100 * NS, 100 * NS], bridge, streams)


def waits(times: Times, name: str, frame_bytes: int, rate_bps: int = GBPS) -> list[int]:
    """From the arrival of each frame that passes (its last bit) to its selection, less the processing delay."""
    sent = times.of(name, "sent", "b1")
    received = dict(zip(frame_ids(times, name, "received"), times.of(name, "received", "b1"), strict=True))
    return [
        at - AHEAD * byte_ps(rate_bps) - PROCESSING - received[frame] - frame_bytes * byte_ps(rate_bps)
        for frame, at in zip(frame_ids(times, name, "sent"), sent, strict=True)
    ]


def frame_ids(times: Times, name: str, event: str) -> list[int]:
    rows = times.trace.filter((pl.col("stream") == name) & (pl.col("event") == event) & (pl.col("node") == "b1"))
    return [int(frame) for frame in rows.sort("frame_id")["frame_id"]]


def ats(rate_bps: int, burst_bytes: int) -> str:
    return f'ats = {{ rate = "{rate_bps}b/s", burst = "{burst_bytes}B" }}'


def periodic(period_ps: int, count: int) -> str:
    return f'every = "{period_ps}ps", count = {count}'


@pytest.mark.parametrize("link_bps", [GBPS, 10 * GBPS])
def test_a_table_of_one_stream(link_bps: int, run: Run) -> None:
    # 100 Mb/s is 80 ns a byte: 1000 bytes on the wire earn in 80 us, and the bucket holds three frames.
    # Frame n arrives at 10 us · n, and is paid for at 80 us · (n - 2).
    source = periodic(10 * US, 7)
    times = run(shaping(stream("s", 980, US, pcp=3, more=ats(100 * MBPS, 3_000), source=source), rate_bps=link_bps))
    # Eligibility is held in 2^-16 ns: a frame that arrives at no whole ns may be late by one of these.
    late = 0 if link_bps == GBPS else 16
    for wait, expected in zip(waits(times, "s", 980, link_bps), (0, 0, 0, 50, 120, 190, 260), strict=True):
        assert 0 <= wait - expected * US <= late


@pytest.mark.parametrize(
    ("overhead", "frame_bytes", "burst", "earned_ns"),
    [
        (0, 1000, 2_000, 80_000),
        (20, 1000, 2_040, 81_600),
        (24, 976, 2_000, 80_000),
        (42, 64, 212, 8_480),
    ],
)
def test_a_table_with_another_overhead(overhead: int, frame_bytes: int, burst: int, earned_ns: int, run: Run) -> None:
    """The shaper counts the frame and the overhead that it is told, at 80 ns a byte; two frames are in the bucket."""
    period = 4_000 if frame_bytes == 64 else 20_000
    source = periodic(period * NS, 5)
    times = run(
        shaping(stream("s", frame_bytes, 0, pcp=3, more=ats(100 * MBPS, burst), source=source), overhead=overhead)
    )
    expected = [0, 0] + [(n - 1) * earned_ns - n * period for n in (2, 3, 4)]
    assert waits(times, "s", frame_bytes) == [wait * NS for wait in expected]


def test_a_bucket_fills_up_again(run: Run) -> None:
    # 1000 bytes at 10 Mb/s: 800 us each; the bucket holds one and a half. Frames at 0, 100, 2000, 2100 and 2900 us.
    at = [n * US for n in (0, 100, 2_000, 2_100, 2_900)]
    times = run(shaping(run.captured(980, at, pcp=2, more=ats(10 * MBPS, 1_500))))
    # Half a frame is left after the first, so that the second is paid for at 400 us. It leaves nothing, and 1200 us
    # later the bucket is full: the third is as the first. The fourth is paid for at 2400 us, the fifth at 3200 us.
    assert waits(times, "s", 980) == [n * US for n in (0, 300, 0, 300, 300)]


def test_a_table_of_two_streams_of_a_group(run: Run) -> None:
    # The slow stream: 800 us a frame, one in the bucket. The fast one has all it wants, and waits for the group.
    fast = periodic(10 * US, 3)
    times = run(
        shaping(
            stream("slow", 980, 0, pcp=3, more=ats(10 * MBPS, 1_000), source=periodic(10 * US, 2))
            + stream("fast", 980, 20 * US, pcp=3, vlan=11, more=ats(900 * MBPS, 100_000), source=fast)
        )
    )
    assert waits(times, "slow", 980) == [0, 790 * US]
    # All eligible at 800 us, and one after the other: 8 us on the wire each.
    assert waits(times, "fast", 980) == [(780 + 8) * US, (770 + 16) * US, (760 + 24) * US]


def test_two_streams_that_take_turns(run: Run) -> None:
    # Each 80 us a frame and one in its bucket; a frame of one, then of the other, every 10 us.
    rate = ats(100 * MBPS, 1_000)
    times = run(
        shaping(
            stream("a", 980, 0, pcp=3, more=rate, source=periodic(20 * US, 3))
            + stream("b", 980, 10 * US, pcp=3, vlan=11, more=rate, source=periodic(20 * US, 3))
        )
    )
    # Arrivals of a 0, 20, 40 and of b 10, 30, 50. Eligible a 0, b 10, a 80, b 90, a 160, b 170.
    assert waits(times, "a", 980) == [0, 60 * US, 120 * US]
    assert waits(times, "b", 980) == [0, 60 * US, 120 * US]


def test_two_classes_are_two_groups(run: Run) -> None:
    slow = stream("slow", 980, 0, pcp=3, more=ats(10 * MBPS, 1_000), source=periodic(10 * US, 2))
    fast = stream("fast", 980, 20 * US, pcp=2, vlan=11, more=ats(900 * MBPS, 100_000))
    times = run(shaping(slow + fast))
    assert waits(times, "slow", 980) == [0, 790 * US]
    assert waits(times, "fast", 980) == [0]


def test_processing_delay_max_is_added(run: Run) -> None:
    """To eligibility times, so that it stands where the processing delay stood."""
    source = periodic(10 * US, 3)
    settings = 'processing_delay_max = "5us"'
    times = run(shaping(stream("s", 980, 0, pcp=3, more=ats(100 * MBPS, 1_000), source=source), settings=settings))
    later = 5 * US - PROCESSING
    assert waits(times, "s", 980) == [later, 70 * US + later, 140 * US + later]


@pytest.mark.parametrize(
    ("residence_ns", "expected_us", "dropped"),
    [
        # Arrivals at 0, 10, 20, 30 and 160 us; 80 us a frame, one in the bucket.
        (1_000_000, [0, 70, 140, 210, 160], 0),
        (70_000, [0, 70, 0], 2),  # the third would wait for 140 us, the fourth for 130 us
        (69_999, [0, 60, 0], 2),  # not the second: 70 us. The third takes what it would have had
        (59_999, [0, 50, 0], 2),
        (0, [0, 0], 3),
    ],
)
def test_a_discarded_frame_changes_nothing(residence_ns: int, expected_us: list[int], dropped: int, run: Run) -> None:
    settings = f'classes.7 = {{ selection = "ats", max_residence = "{residence_ns or 1}ns" }}'
    at = [n * US for n in (0, 10, 20, 30, 160)]
    times = run(shaping(run.captured(980, at, pcp=3, more=ats(100 * MBPS, 1_000)), settings=settings))
    assert waits(times, "s", 980) == [us * US for us in expected_us]
    assert times.reasons("s") == ["residence"] * dropped


def test_a_discarded_frame_does_not_hold_its_group(run: Run) -> None:
    # The second frame of `slow` would wait for 790 us and is discarded; `fast` does not wait for it.
    settings = 'classes.7 = { selection = "ats", max_residence = "100us" }'
    slow = stream("slow", 980, 0, pcp=3, more=ats(10 * MBPS, 1_000), source=periodic(10 * US, 2))
    fast = stream("fast", 980, 20 * US, pcp=3, vlan=11, more=ats(900 * MBPS, 100_000))
    times = run(shaping(slow + fast, settings=settings))
    assert waits(times, "slow", 980) == [0]
    assert waits(times, "fast", 980) == [0]
    assert times.reasons("slow") == ["residence"]


# ---- at one instant


def beside(streams: str) -> str:
    """Two more talkers at ports 2 and 3 of the bridge, with links like the first one's."""
    common = f'rate = "{GBPS}b/s", delay = "{100 * NS}ps"'
    stations = f'other = {{ at = "b1.2", {common} }}\nthird = {{ at = "b1.3", {common} }}\n'
    settings = f'processing_delay = "{PROCESSING}ps"'
    return line([GBPS, GBPS], [100 * NS] * 2, settings, streams, stations=stations)


@pytest.mark.parametrize(("first", "second"), [("talker", "other"), ("other", "talker"), ("third", "other")])
def test_two_classes_ready_at_one_instant(first: str, second: str, run: Run) -> None:
    """Both have arrived and are queued before one is selected: the higher class, whichever port it came from."""
    high = stream("high", 500, 0, talker=first, pcp=7)  # class 5
    low = stream("low", 500, 0, talker=second, pcp=4)  # class 2
    for streams in (high + low, low + high):
        times = run(beside(streams))
        ready = (AHEAD + 500) * 8 * NS + 100 * NS + PROCESSING
        assert times.one("high", "sent", "b1") == ready + AHEAD * 8 * NS
        assert times.one("low", "sent", "b1") == ready + (AHEAD + 500 + GAP + AHEAD) * 8 * NS


def test_frames_of_two_lengths_ready_at_one_instant(run: Run) -> None:
    # The long one begins earlier, so that both end together.
    high = stream("high", 64, (1000 - 64) * 8 * NS, talker="other", pcp=7)
    low = stream("low", 1000, 0, pcp=4)
    times = run(beside(low + high))
    ready = (AHEAD + 1000) * 8 * NS + 100 * NS + PROCESSING
    assert times.one("high", "sent", "b1") == ready + AHEAD * 8 * NS
    assert times.one("low", "sent", "b1") == ready + (AHEAD + 64 + GAP + AHEAD) * 8 * NS


def test_a_picosecond_decides(run: Run) -> None:
    """A frame of a lower class that is ready 1 ps earlier goes first."""
    high = stream("high", 500, 1, talker="other", pcp=7)
    low = stream("low", 500, 0, pcp=4)
    times = run(beside(low + high))
    ready = (AHEAD + 500) * 8 * NS + 100 * NS + PROCESSING
    assert times.one("low", "sent", "b1") == ready + AHEAD * 8 * NS
    assert times.one("high", "sent", "b1") == ready + (AHEAD + 500 + GAP + AHEAD) * 8 * NS


def test_one_class_ready_at_one_instant(run: Run) -> None:
    """The frame of the lower port goes first."""
    one, other = stream("one", 500, 0, pcp=4), stream("other", 500, 0, talker="other", pcp=4)
    for streams in (one + other, other + one):
        times = run(beside(streams))
        assert times.one("other", "sent", "b1") - times.one("one", "sent", "b1") == (AHEAD + 500 + GAP) * 8 * NS


def test_a_port_that_becomes_free_as_a_frame_becomes_ready(run: Run) -> None:
    """A frame that is ready at the very instant in which the port becomes free takes part in the selection."""
    whole = (AHEAD + 500 + GAP) * 8 * NS
    first = stream("first", 500, 0, talker="third", pcp=4)
    waiting = stream("waiting", 500, 1 * NS, pcp=4)
    high = stream("high", 500, whole, talker="other", pcp=7)
    times = run(beside(first + waiting + high))
    begin = times.one("first", "sent", "b1")
    assert times.one("high", "sent", "b1") == begin + whole
    assert times.one("waiting", "sent", "b1") == begin + 2 * whole


@pytest.mark.parametrize(
    ("shaped_pcp", "strict_pcp", "shaped_first"),
    [(3, 7, True), (3, 2, True), (2, 7, True), (2, 3, False)],  # classes 7, 5; 7, 6; 6, 5; 6, 7
)
def test_an_eligible_frame_and_another_at_one_instant(
    shaped_pcp: int, strict_pcp: int, shaped_first: bool, run: Run
) -> None:
    """A shaped frame becomes eligible at the instant in which one of another class, not shaped, is ready."""
    shaped = stream("shaped", 980, 0, pcp=shaped_pcp, more=ats(100 * MBPS, 1_000), source=periodic(10 * US, 2))
    strict = stream("strict", 980, 80 * US, talker="other", pcp=strict_pcp)
    times = run(beside(shaped + strict))
    ready = 80 * US + (AHEAD + 980) * 8 * NS + 100 * NS + PROCESSING
    order = [times.of("shaped", "sent", "b1")[1], times.one("strict", "sent", "b1")]
    whole = (AHEAD + 980 + GAP) * 8 * NS
    expected = [ready + AHEAD * 8 * NS, ready + AHEAD * 8 * NS + whole]
    assert order == (expected if shaped_first else expected[::-1])
