# SPDX-License-Identifier: Apache-2.0
"""Makes a recording of what a run sent through one port of a bridge, in the form that `replay` reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from penstock import plan
from penstock.folder import replacing
from penstock.journeys import hops
from penstock.replay.recording import (
    CYCLE_NS,
    RECEIVED_COLUMNS,
    SENT_COLUMNS,
    SENT_COLUMNS_WITH_BYTES,
    received_file,
    sent_file,
)
from penstock.replay.tap import Tap

_MADE_BY = "# Made by penstock run --record"
_TICK_PS = CYCLE_NS * 1000
_BY_SHAPER = "residence"  # the one reason of drops that a replay repeats


@dataclass(frozen=True)
class Recorded:
    """What a recording holds."""

    folder: Path
    tap: Tap
    sent: int
    received: int
    dropped: Mapping[str, int]  # by reason
    inside: int  # frames left out, since they were still inside when the run ended

    @property
    def not_repeated(self) -> dict[str, int]:
        """Drops that a replay does not repeat: its queues are as long as the store, and nothing is damaged."""
        return {reason: count for reason, count in self.dropped.items() if reason != _BY_SHAPER}


def is_recording(folder: Path) -> bool:
    """Whether the folder is a recording that was made here, and not one of a real switch."""
    file = folder / "run.toml"
    return file.is_file() and file.read_bytes().startswith(_MADE_BY.encode())


def record(tap: Tap, trace: Path, folder: Path) -> Recorded:
    """Writes the recording of what a whole trace has of a port. Instants are rounded up to ticks of 8 ns."""
    rows = pl.scan_parquet(trace).filter(pl.col("node").cast(pl.String) == tap.bridge.name).collect()
    frames = _frames(tap, rows)
    whole = frames.filter(pl.col("left").is_not_null() | pl.col("why").is_not_null())
    zero = int(whole["at"].min() or 0)  # type: ignore[arg-type]
    whole = whole.with_columns(pl.col("at", "left") - zero)
    received = whole.filter(pl.col("left").is_not_null()).sort("left", maintain_order=True)
    with replacing(folder, is_recording, "recording") as new:
        (new / "run.toml").write_text("".join(_run_toml(tap, whole)), encoding="utf-8")
        for port in sorted({hop.entry for _, hop in tap.streams}):
            _write_sent(sent_file(new, port), whole.filter(pl.col("entry") == port))
        _write(received_file(new, tap.port), RECEIVED_COLUMNS, received.select("frame_id", "left"))
    reasons = whole.filter(pl.col("left").is_null()).group_by("why").len().sort("why")
    return Recorded(folder, tap, whole.height, received.height, dict(reasons.iter_rows()), frames.height - whole.height)


def _frames(tap: Tap, rows: pl.DataFrame) -> pl.DataFrame:
    """Of each frame for the port: where and when it arrived, when it left, or why it did not; times in ticks.

    It arrived with its last bit and left with its first: the time between is the same for all sizes.
    """
    names = rows.select(pl.col("stream", "node", "event", "reason").cast(pl.String).cast(pl.Categorical))
    rows = rows.with_columns(*names.get_columns(), pl.col("time_ps").cast(pl.Int64))
    drift_ppb = tap.bridge.clock.drift_ppb
    dropped = rows.filter(pl.col("event") == "dropped")
    # A frame that is dropped whole is so at the port by which it came in.
    at_entry = dropped.select("frame_id", pl.col("port").alias("entry"), pl.col("reason").alias("at_entry"))
    return (
        hops(tap.network, rows)
        .filter(pl.col("port") == tap.port)
        .join(at_entry, on=["frame_id", "entry"], how="left")
        .select(
            "frame_id",
            pl.col("stream").cast(pl.String),
            "entry",
            "bytes",
            _ticks("arrived", drift_ppb).alias("at"),
            _ticks("sent", drift_ppb).alias("left"),
            pl.coalesce("reason", "at_entry").cast(pl.String).alias("why"),
        )
        .sort("at", "frame_id", maintain_order=True)
    )


def _ticks(column: str, drift_ppb: int) -> pl.Expr:
    """An instant by the bridge's own clock, as its shapers have it."""
    own = pl.col(column) + pl.col(column) // 1000 * drift_ppb // 1_000_000
    return -(-own // _TICK_PS)


def _write_sent(file: Path, frames: pl.DataFrame) -> None:
    lengths = frames.group_by("stream").agg(pl.col("bytes").n_unique())["bytes"]
    if any(count > 1 for count in lengths):
        _write(file, SENT_COLUMNS_WITH_BYTES, frames.select("frame_id", "at", "bytes", "stream"))
    else:
        _write(file, SENT_COLUMNS, frames.select("frame_id", "at", "stream"))


def _write(file: Path, columns: tuple[str, ...], rows: pl.DataFrame) -> None:
    lines = (",".join(map(str, row)) + "\n" for row in rows.iter_rows())
    file.write_text(",".join(columns) + "\n" + "".join(lines), encoding="utf-8")


def _run_toml(tap: Tap, frames: pl.DataFrame) -> Iterator[str]:
    longest = dict(frames.group_by("stream").agg(pl.col("bytes").max()).iter_rows())
    config = plan.switch_config(tap.network, tap.bridge)
    yield (
        f"{_MADE_BY}: what left {tap.name} of {tap.network.name}.\n"
        "# A frame is sent with its last bit and received with its first, both rounded up to a tick.\n"
        f"title = {_text(tap.network.title)}\n"
        f"tick_ns = {CYCLE_NS}\n"
        f"error_ticks = 1\n"
        f"received_port = {tap.port}\n"
    )
    for stream, hop in tap.streams:
        traffic_class = tap.network.class_at(stream, tap.bridge.name)
        length = longest.get(stream.name, stream.max_frame_bytes)
        yield (
            f"\n[[flow]]\nname = {_text(stream.name)}\nsent_port = {hop.entry}\ntraffic_class = {traffic_class}\n"
            f'shaper = "{"ats" if tap.is_shaped(stream) else "strict"}"\nframe_bytes = {length}\n'
            f"wire_bytes = {length + config.overhead_bytes}\n"
        )
        if tap.is_shaped(stream):
            assert stream.ats is not None
            ats = stream.ats.at_node(tap.bridge.name)
            yield (f"committed_information_rate_bps = {ats.rate_bps}\ncommitted_burst_size_bytes = {ats.burst_bytes}\n")
            residence_ns = config.max_residence_ns.get((hop.entry, traffic_class))
            if residence_ns is not None:
                yield f"max_residence_time_ns = {residence_ns}\n"
            if config.processing_delay_max_ns is not None:
                yield f"processing_delay_max_ns = {config.processing_delay_max_ns}\n"


def _text(text: str) -> str:
    """As TOML has it, whose strings are those of JSON."""
    return json.dumps(text, ensure_ascii=False)
