# SPDX-License-Identifier: Apache-2.0
"""One bridge whose port 2 is shaped, and when frames begin on its wire: for tests that are computed by hand.

A frame of L bytes is ready to be sent, its preamble first, READY_NS after its last bit has come. So it is in hardware
and its model with four ports; a bridge of another maker is given the same delay. Then all three do the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

import penstock as ps

READY_NS = 280
AHEAD_BYTES, WIRE_BYTES = 8, 20
# Priority code points of the classes 0 to 7.
PCP = (1, 0, 4, 5, 6, 7, 2, 3)
KINDS = ("other maker", "model", "rtl")
MBPS = 10**6


def byte_ns(rate_mbps: int = 1000) -> int:
    return 8000 // rate_mbps


def ready_ns(released_ns: int, frame_bytes: int, rate_mbps: int = 1000) -> int:
    """When the first bit of the preamble may leave, of a frame that its talker releases at an idle link."""
    return released_ns + (AHEAD_BYTES + frame_bytes) * byte_ns(rate_mbps) + READY_NS


def released_ns(ready: int, frame_bytes: int, rate_mbps: int = 1000) -> int:
    """When the talker has to release a frame that is to be ready then."""
    return ready - ready_ns(0, frame_bytes, rate_mbps)


def wire_ns(frame_bytes: int, rate_mbps: int = 1000) -> int:
    return (frame_bytes + WIRE_BYTES) * byte_ns(rate_mbps)


def frames(
    name: str, traffic_class: int, frame_bytes: int, released: int, *, talker: int = 0, source: str = "", more: str = ""
) -> str:
    """A stream from the station at a port; one frame if `source` does not say otherwise."""
    source = source or 'every = "1s", count = 1'
    return (
        f'[streams.{name}]\nfrom = "t{talker}"\nto = ["listener"]\nvlan = 10\npcp = {PCP[traffic_class]}\n'
        f'source = {{ frames = "{frame_bytes}B", start = "{released}ns", {source} }}\n{more}\n'
    )


def entry(classes: Sequence[int], interval_ns: int) -> str:
    return f'{{ open = {list(classes)}, interval = "{interval_ns}ns" }}'


def gates(entries: Sequence[tuple[Sequence[int], int]], base_ns: int = 0, more: str = "") -> str:
    """The gate control list of port 2."""
    lines = ", ".join(entry(*one) for one in entries)
    return f'[bridges.b.port.2.gates]\nbase_time = "{base_ns}ns"\n{more}\nentries = [{lines}]\n'


def begins(trace: pl.DataFrame, node: str, rate_mbps: int = 1000) -> dict[str, list[int]]:
    """When the preamble of each frame begins at the node in ns, by stream."""
    sent = trace.filter((pl.col("event") == "sent") & (pl.col("node") == node)).sort("time_ps", "frame_id")
    ahead_ps = AHEAD_BYTES * byte_ns(rate_mbps) * 1000
    found: dict[str, list[int]] = {}
    for name, time in sent.select("stream", "time_ps").iter_rows():
        begin, rest = divmod(time - ahead_ps, 1000)
        assert rest == 0, "all times here are whole ns"
        found.setdefault(name, []).append(begin)
    return found


def drops(trace: pl.DataFrame) -> list[tuple[str, str, str]]:
    """Stream, node and reason of each frame that was dropped."""
    rows = trace.filter(pl.col("event") == "dropped").sort("time_ps", "frame_id")
    return [(str(a), str(b), str(c)) for a, b, c in rows.select("stream", "node", "reason").iter_rows()]


class Bridge:
    """Runs streams through the bridge."""

    def __init__(self, folder: Path, kind: str, rate_mbps: int = 1000) -> None:
        self.folder, self.kind, self.rate_mbps = folder, kind, rate_mbps

    def __call__(self, settings: str, streams: str, *, duration: str = "3ms") -> dict[str, list[int]]:
        """When the preamble of each frame begins at port 2 in ns, by stream."""
        nodes = "rtl" if self.kind == "rtl" else "model"
        own = f'processing_delay = "{READY_NS}ns"\n' if self.kind == "other maker" else ""
        text = (
            f'name = "shaped"\nnodes = "{nodes}"\nduration = "{duration}"\n'
            f'[links]\nrate = "{self.rate_mbps}Mb/s"\ndelay = "0ns"\n'
            '[stations]\nt0 = { at = "b.0" }\nt1 = { at = "b.1" }\nlistener = { at = "b.2" }\nt3 = { at = "b.3" }\n'
            f"[bridges.b]\nports = 4\n{own}{settings}\n{streams}"
        )
        file = self.folder / "scenario.toml"
        file.write_text(text)
        self.trace = ps.load(file).run().trace.with_columns(pl.col("stream", "node", "event").cast(pl.String))
        return begins(self.trace, "b", self.rate_mbps)

    def drops(self) -> list[tuple[str, str]]:
        """Stream and reason of each frame that was dropped."""
        return [(stream, reason) for stream, _, reason in drops(self.trace)]
