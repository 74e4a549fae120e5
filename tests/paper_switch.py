# SPDX-License-Identifier: Apache-2.0
"""The ATS paper's switch with any streams to port 3: frames of 1500 B of payload, which take 1542 B on the wire."""

from __future__ import annotations

from pathlib import Path

_HEAD = """
name = "paper"
title = "the paper's switch"
duration = "10ms"
nodes = "model"
bridges.sw.ports = 4
stations = { a = { at = "sw.0" }, b = { at = "sw.1" }, c = { at = "sw.2" }, d = { at = "sw.3" } }
"""
_STREAM = """
[streams.{name}]
from = "{talker}"
to = ["d"]
vlan = 1
pcp = {pcp}
{more}
"""
_SOURCE = 'source = { frames = "1522B", every = "1ms" }\n'
ATS = 'ats = { rate = "100Mb/s", burst = "1542B" }\n'

Stream = tuple[str, str, int, str]  # name, talker, priority code point, further keys


def write(folder: Path, *streams: Stream) -> None:
    """Writes the scenario into a folder."""
    text = _HEAD + "".join(
        _STREAM.format(name=n, talker=t, pcp=p, more=m if ".source]" in m else _SOURCE + m) for n, t, p, m in streams
    )
    (folder / "scenario.toml").write_text(text)
