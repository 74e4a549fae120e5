# SPDX-License-Identifier: Apache-2.0
"""Every bad scenario gets exit status 2, one message with file, line, key, what and what else, and leaves nothing."""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from penstock import cli
from penstock.captures import CapturedFrame, write_pcapng

GOOD = """\
name = "case"
duration = "10ms"

[links]
rate = "1Gb/s"
delay = "50ns"

[bridges.sw]
ports = 4
classes.7 = { selection = "ats", max_residence = "500us" }

[stations]
plc = { at = "sw.0" }
pc = { at = "sw.1" }
drive = { at = "sw.2" }

[streams.control]
from = "plc"
to = ["drive"]
vlan = 10
pcp = 3
source = { capture = "control.pcapng" }
ats = { rate = "20Mb/s", burst = "1542B" }
deadline = "100us"

[streams.video]
from = "pc"
to = ["drive"]
vlan = 10
pcp = 0
source = { frames = "1500B", every = "13us", jitter = { normal = "2us" }, seed = 7 }
"""

# What is replaced, by what, and then: line, key, what is wrong, what is allowed (regular expressions).
CASES = {
    "unknown key": (
        'deadline = "100us"', 'dedline = "100us"',
        24, "streams.control.dedline", 'unknown key "dedline" .did you mean "deadline".', "from, to, source"),
    "unknown table": ("[links]", "[link]", 4, "link", 'unknown key "link" .did you mean "links"', "name, title"),
    "unknown key in an inline table": (
        "seed = 7", "sead = 7", 31, "streams.video.source.sead", 'did you mean "seed"', "capture, frames"),
    "wrong unit": ('rate = "20Mb/s"', 'rate = "20MB/s"', 23, "streams.control.ats.rate", "MB/s", "Mb/s"),
    "unit of another quantity": ('delay = "50ns"', 'delay = "50m"', 6, "links.delay", '"m"', "ns, us"),
    "no unit": ('duration = "10ms"', "duration = 10", 2, "duration", "no unit", "ms"),
    "no whole number": ('delay = "50ns"', 'delay = "0.1234ps"', 6, "links.delay", "not a whole number", "ps"),
    "not a length": ('burst = "1542B"', 'burst = "lots"', 23, "streams.control.ats.burst", "not a length", "1522B"),
    "port that does not exist": ("sw.2", "sw.4", 15, "stations.drive.at", 'no port 4', "sw.0 to sw.3"),
    "bridge that does not exist": ("sw.2", "sx.2", 15, "stations.drive.at", 'no bridge "sx"', "sw"),
    "port taken twice": ("sw.2", "sw.1", 15, "stations.drive.at", 'taken by "pc"', "one cable"),
    "port without number": ("sw.2", "sw", 15, "stations.drive.at", "not a port", "sw.0"),
    "too many ports": ("ports = 4", "ports = 9", 9, "bridges.sw.ports", "9", "2 to 8"),
    "two streams with one name": (
        "[streams.video]", "[streams.control]", 26, "streams.control", "there twice", "each name once"),
    "a key twice": ('delay = "50ns"', 'rate = "1Gb/s"', 6, "rate", "there twice", "each name once"),
    "rate above the link": (
        'rate = "20Mb/s"', 'rate = "2Gb/s"', 23, "streams.control.ats.rate", "2 Gb/s is above the link", "1 Gb/s"),
    "rate below the hardware": (
        'rate = "20Mb/s"', 'rate = "1kb/s"', 23, "streams.control.ats.rate", "too slow", "10kb/s"),
    "rates above the link together": (
        'pcp = 0\n', 'pcp = 2\nats = { rate = "990Mb/s", burst = "1542B" }\n',
        31, "streams.video.ats.rate", "from sw.2 to .drive. add up to 1.01 Gb/s, above its 1 Gb/s", "up to 980 Mb/s"),
    "burst below a frame": (
        'burst = "1542B"', 'burst = "100B"', 23, "streams.control.ats.burst", "longest frame", "B and above"),
    "ats in a strict class": (
        "pcp = 0\n", 'pcp = 0\nats = { rate = "1Mb/s", burst = "1542B" }\n', 31, "streams.video.ats", "strict", "pcp"),
    "station that does not exist": ('from = "pc"', 'from = "pp"', 27, "streams.video.from", 'no station "pp"', "plc"),
    "listener that does not exist": (
        'to = ["drive"]\nvlan = 10\npcp = 0', 'to = ["driver"]\nvlan = 10\npcp = 0',
        28, "streams.video.to[0]", 'did you mean "drive"', "plc, pc"),
    "no capture": ("control.pcapng", "none.pcapng", 22, "streams.control.source.capture", "does not exist", "pcap"),
    "a capture cut short": (
        "control.pcapng", "cut.pcapng", 22, "streams.control.source.capture", "cut short after 2 whole", "whole pcap"),
    "an old capture cut short": (
        "control.pcapng", "cut.pcap", 22, "streams.control.source.capture", "cut short after 1 whole", "whole pcap"),
    "not a capture": ("control.pcapng", "text.pcapng", 22, "streams.control.source.capture", "not a capture", "pcap"),
    "an empty capture": ("control.pcapng", "empty.pcapng", 22, "streams.control.source.capture", "is empty", "pcap"),
    "a capture of another VLAN": (
        "vlan = 10\npcp = 3", "vlan = 11\npcp = 3", 20, "streams.control.vlan", "carry vlan 10", "10"),
    "a capture and a timing": (
        'capture = "control.pcapng"', 'capture = "control.pcapng", every = "1ms"',
        22, "streams.control.source.every", "brings its own times", "frames"),
    "no source": ('source = { capture = "control.pcapng" }\n', "", 17, "streams.control.source", "missing", "source"),
    "two timings": ("seed = 7", 'poisson = "1ms"', 31, "streams.video.source", "2 timings", "one of every"),
    "faster than the link": (
        'every = "13us"', 'every = "1us"', 31, "streams.video.source.every", "shorter than", "at least 12160ns"),
    "a frame too long": ("1500B", "1600B", 31, "streams.video.source.frames", "not a frame's length", "64B to 1522B"),
    "a class that does not exist": ("classes.7", "classes.8", 10, "bridges.sw.classes.8", "no traffic class", "0 to 7"),
    "a selection that does not exist": (
        'selection = "ats"', 'selection = "at"', 10, "bridges.sw.classes.7.selection", '"at" is not known', "strict"),
    "a residence time too long": (
        'max_residence = "500us"', 'max_residence = "2s"', 10, "bridges.sw.classes.7.max_residence", "2 s", "up to 1s"),
    "a priority out of range": ("pcp = 0", "pcp = 8", 30, "streams.video.pcp", "8 is not", "0 to 7"),
    "a VLAN out of range": (
        "vlan = 10\npcp = 0", "vlan = 4095\npcp = 0", 29, "streams.video.vlan", "4095", "1 to 4094"),
    "a missing key": ('duration = "10ms"\n', "", 1, "duration", "missing", "duration"),
    "nodes of a later version": ('name = "case"', 'name = "case"\nnodes = "linux"', 2, "nodes", "linux", "rtl"),
    "not TOML": ('to = ["drive"]\nvlan = 10\npcp = 3', "to = [drive]", 19, "to", "not TOML", "TOML 1.0"),
    "a name with a slash": ('name = "case"', 'name = "../case"', 1, "name", "cannot be used", "letters"),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tag = b"\x81\x00" + (3 << 13 | 10).to_bytes(2) + b"\x88\xb5"
    data = bytes.fromhex("020000000003020000000001") + tag + bytes(64)
    frames = [CapturedFrame(n * 10**9, data, len(data)) for n in range(3)]
    write_pcapng(tmp_path / "control.pcapng", frames)
    (tmp_path / "cut.pcapng").write_bytes((tmp_path / "control.pcapng").read_bytes()[:-20])
    old = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    record = struct.pack("<IIII", 0, 0, len(data), len(data)) + data
    (tmp_path / "cut.pcap").write_bytes(old + record + record[:-1])
    (tmp_path / "text.pcapng").write_text("This is no capture.")
    (tmp_path / "empty.pcapng").touch()
    return tmp_path


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


Penstock = Callable[..., Done]


@pytest.fixture
def penstock(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Penstock:
    """The command line, called from within the folder of the scenario."""

    def call(*arguments: str) -> Done:
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["penstock", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        return Done(int(end.value.code or 0), *capfd.readouterr())

    return call


def test_the_good_one_is_good(folder: Path, penstock: Penstock) -> None:
    (folder / "scenario.toml").write_text(GOOD)
    done = penstock("check", "scenario.toml")
    assert (done.returncode, done.stderr) == (0, "")
    assert "bound of control" in done.stdout


@pytest.mark.parametrize("case", CASES)
def test_bad_input(case: str, folder: Path, penstock: Penstock) -> None:
    old, new, line, key, what, allowed = CASES[case]
    assert GOOD.count(old) >= 1
    # The last of several places, but the key whose name is in the first stream.
    head, tail = GOOD.split(old, 1) if GOOD.count(old) == 1 else GOOD.rsplit(old, 1)
    (folder / "scenario.toml").write_text(head + new + tail)
    before = {path.name for path in folder.iterdir()}
    done = penstock("run", "scenario.toml", "--out", "results")
    message = done.stderr
    assert done.returncode == 2, message
    assert "Traceback" not in message
    assert message.count("\n") == 1, message
    assert message.startswith(f"error: scenario.toml:{line}: "), message
    assert f" {key}: " in message, message
    said, _, could = message.partition("; allowed: ")
    assert re.search(what, said), message
    assert re.search(re.escape(allowed), could), message
    assert done.stdout == ""
    assert {path.name for path in folder.iterdir()} == before


def test_no_scenario(folder: Path, penstock: Penstock) -> None:
    done = penstock("run", "nowhere")
    assert done.returncode == 2
    assert done.stderr == "error: nowhere: no such scenario; allowed: a folder with scenario.toml, or a file\n"


def test_a_folder_of_something_else_is_not_overwritten(folder: Path, penstock: Penstock) -> None:
    (folder / "scenario.toml").write_text(GOOD)
    (folder / "results").mkdir()
    (folder / "results" / "thesis.tex").write_text("years of work")
    done = penstock("run", "scenario.toml", "--out", "results")
    assert done.returncode == 2
    assert "is not a run's folder" in done.stderr
    assert (folder / "results" / "thesis.tex").exists()
