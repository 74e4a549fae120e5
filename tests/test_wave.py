# SPDX-License-Identifier: Apache-2.0
"""`penstock run --wave`: the signals in the file are those of the frame, at the run's times."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from penstock import cli
from penstock.captures import read_capture
from penstock.errors import InputError
from penstock.ethernet import FCS_BYTES
from penstock.hardware import model
from penstock.hardware.tools import ToolError
from penstock.scenario import Network, load
from penstock.wave import Wanted, file_name

pytestmark = pytest.mark.long(60)

US = 10**6
PREAMBLE = b"\x55" * 7 + b"\xd5"
SMALL = """
name = "small"
nodes = "rtl"
duration = "200us"
bridges.sw.ports = 2
stations = { a = { at = "sw.0" }, b = { at = "sw.1" } }
streams.fast = { from = "a", to = ["b"], vlan = 10, pcp = 3, source = { frames = "100B", every = "50us" } }
"""


@pytest.fixture
def small(tmp_path: Path) -> Network:
    (tmp_path / "scenario.toml").write_text(SMALL)
    return load(tmp_path)


def trace(*rows: tuple[int, str, int]) -> pl.LazyFrame:
    frames = pl.DataFrame(rows, schema={"frame_id": pl.UInt64, "node": pl.String, "time_ps": pl.UInt64}, orient="row")
    return frames.with_columns(pl.lit(100, pl.UInt32).alias("bytes"), pl.col("node").cast(pl.Categorical)).lazy()


def test_a_frame_is_seen_from_before_its_preamble_until_its_last_byte_has_left(small: Network) -> None:
    rows = trace((3, "a", 90 * US), (4, "sw", 5 * US), (3, "sw", 100 * US), (3, "sw", 130 * US), (3, "b", 140 * US))
    windows = Wanted.read(small, "3", "2us").windows(small, rows)
    assert windows == {"sw": (100 * US - 2 * US - 120 * 8_000, 130 * US + 2 * US + 120 * 8_000)}


def test_an_instant_is_seen_at_every_bridge_that_is_hardware(small: Network) -> None:
    assert Wanted.read(small, "12.5us", "1us").windows(small, trace()) == {"sw": (11_500_000, 13_500_000)}
    assert Wanted.read(small, "0s", "1us").windows(small, trace()) == {"sw": (0, US)}


def test_each_bridge_that_is_hardware_and_sees_the_frame_has_its_own_window() -> None:
    line = load(Path(__file__).parents[1] / "scenarios" / "line5")
    windows = Wanted.read(line, "3", "1us").windows(line, trace((3, "s1", 5 * US), (3, "s2", 9 * US), (4, "s3", 0)))
    assert [*windows] == ["s1", "s2"]
    assert windows["s1"][1] < windows["s2"][1]


@pytest.mark.parametrize(
    ("asked", "margin", "said"),
    [
        ("frame", "2us", "neither a frame nor a time"),
        ("-1", "2us", "neither a frame nor a time"),
        ("7", "2us", "there is no frame 7; allowed: 0 to 5"),
        ("1", "2us", "frame 1 came only to a, b; allowed: a frame that comes to sw"),
        ("2", "2us", "frame 2 is in sw for 150 ms"),
        ("12 parsecs", "2us", "unknown unit"),
        ("201us", "2us", "after the run; allowed: 0s to 200us"),
        ("3", "2s", "too large"),
        ("3", "0s", "too small"),
    ],
)
def test_what_cannot_be_shown_is_refused(small: Network, asked: str, margin: str, said: str) -> None:
    rows = trace((1, "a", 0), (1, "b", 9), (2, "sw", 0), (2, "sw", 150_000 * US), (3, "sw", 0), (5, "sw", 7))
    with pytest.raises(InputError, match=re.escape(said)):
        Wanted.read(small, asked, margin).windows(small, rows)


def test_a_model_has_no_signals_and_a_frame_needs_the_trace(small: Network, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="allowed: --nodes rtl"):
        Wanted.read(load(tmp_path, "model"), "3", "2us")
    with pytest.raises(InputError, match="allowed: --trace full, or a time"):
        Wanted.read(small, "3", "2us", "none")
    assert Wanted.read(small, "3us", "2us", "none")


def test_libraries_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compiler = tmp_path / "g++"
    compiler.write_text('#!/bin/sh\n[ "$1" = --version ] && exec g++ --version\nexit 1\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    with pytest.raises(ToolError, match="apt-get install liblz4-dev zlib1g-dev"):
        model.build_model(ports=2, waves=True)


def sampled(text: str, names: dict[str, str]) -> Iterator[tuple[int, dict[str, int]]]:
    """At each rising edge of clk_i, its time in ps and what these signals of the top are just before it."""
    header, _, changes = text.partition("$enddefinitions")
    declared = {name: rf"\$var \w+ \d+ (\S+) {re.escape(signal)}[ \[]" for name, signal in names.items()}
    names_of = {match[1]: name for name, pattern in declared.items() if (match := re.search(pattern, header))}
    assert len(names_of) == len(names), names
    values = dict.fromkeys(names, 0)
    before = dict(values)
    now = 0
    for line in changes.splitlines():
        if line.startswith("#"):
            now, before = int(line[1:]), dict(values)
        elif change := re.fullmatch(r"(?:b([01xz]+) |([01]))(\S+)", line):
            name = names_of.get(change[3])
            if name is None:
                continue
            values[name] = int((change[1] or change[2]).replace("x", "0").replace("z", "0"), 2)
            if name == "clock" and values[name]:
                yield now, before


def test_the_file_has_the_frame_on_gmii_at_the_times_of_the_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shutil.which("fst2vcd"), "this test reads the file by fst2vcd: apt-get install gtkwave"
    # One model for both runs: that with waves is made sooner than both.
    monkeypatch.setattr(model, "build_model", partial(model.build_model, waves=True))
    (tmp_path / "scenario.toml").write_text(SMALL)
    out = tmp_path / "out"
    monkeypatch.setattr(sys, "argv", ["penstock", "run", str(tmp_path), "--out", str(out), "--wave", "2"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 0
    written = subprocess.run(["fst2vcd", str(out / file_name("sw"))], capture_output=True, text=True, check=True).stdout
    names = {"clock": "clk_i"}
    names |= {"received": "gmii_rxd_i[0]", "valid": "gmii_rx_dv_i", "sent": "gmii_txd_o[1]", "enable": "gmii_tx_en_o"}
    edges = list(sampled(written, names))
    rows = pl.read_parquet(out / "trace.parquet").filter(pl.col("frame_id") == 2, pl.col("node") == "sw")
    times: dict[str, int] = dict(rows.select(pl.col("event").cast(pl.String), "time_ps").iter_rows())
    frame = read_capture(out / "b.pcapng").frames[2]
    for event, carrier, port in (("received", "valid", 0), ("sent", "enable", 1)):
        wire = [(time, values[event]) for time, values in edges if values[carrier] >> port & 1]
        assert bytes(value for _, value in wire[:-FCS_BYTES]) == PREAMBLE + frame.data
        assert wire[len(PREAMBLE)][0] == times[event]
