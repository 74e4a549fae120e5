# SPDX-License-Identifier: Apache-2.0
"""Every bad scenario gets exit status 2, one message with file, line, key, what and what else, and leaves nothing."""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock import cli
from penstock.captures import CapturedFrame, write_pcapng
from penstock.errors import InputError
from penstock.hardware.configure import fdb_set
from penstock.plan import show_mac
from penstock.scenario import load

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
    "unknown key of a stream that is called like one of its keys": (
        '[streams.control]',
        '[streams.ats]\nto = ["plc"]\nsource = { frames = "64B", every = "1ms" }\nfrm = "pc"\n[streams.control]',
        20, "streams.ats.frm", 'unknown key "frm" .did you mean "from"', "from, to, source"),
    "no table": ('ats = { rate = "20Mb/s", burst = "1542B" }', 'ats = "20Mb/s"',
        23, "streams.control.ats", '"20Mb/s" is not a table', "a table with rate, burst, at"),
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
        'rate = "20Mb/s"', 'rate = "1kb/s"', 23, "streams.control.ats.rate", '"1kb/s" is too small', "10kb/s"),
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
    "a frame too long": ("1500B", "1600B", 31, "streams.video.source.frames", "not a frame's length", "64B to 1522B"),
    "a class that does not exist": ("classes.7", "classes.8", 10, "bridges.sw.classes.8", "no traffic class", "0 to 7"),
    "a selection that does not exist": (
        'selection = "ats"', 'selection = "at"', 10, "bridges.sw.classes.7.selection", '"at" is not known', "strict"),
    "a residence time too long": (
        'max_residence = "500us"', 'max_residence = "2s"', 10, "bridges.sw.classes.7.max_residence", "2s", "to 1s"),
    "a priority out of range": ("pcp = 0", "pcp = 8", 30, "streams.video.pcp", "8 is not", "0 to 7"),
    "a VLAN out of range": (
        "vlan = 10\npcp = 0", "vlan = 4095\npcp = 0", 29, "streams.video.vlan", "4095", "1 to 4094"),
    "a missing key": ('duration = "10ms"\n', "", 1, "duration", "missing", "duration"),
    "nodes that are not known": ('name = "case"', 'name = "case"\nnodes = "fpga"', 2, "nodes", "fpga", "linux"),
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
    assert "control     3       7   ats" in done.stdout


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


NETWORK = """\
name = "net"
duration = "10ms"
nodes = "model"

[links]
rate = "1Gb/s"
[links.uplink]
between = ["s1.1", "s2.1"]
rate = "10Gb/s"

[topology.core]
kind = "ring"
bridges = 3
bridge = { ports = 4 }

[bridges]
s1 = { ports = 3, clock = { drift = "5ppm" } }
s2 = { ports = 3, max_frame = "1000B" }
lone = { ports = 2 }

[stations]
a = { at = "s1.0", rate = "100Mb/s" }
b = { at = "s2.0" }
c = { at = "core0.2" }
d = { at = "core2.*" }
e = { at = "lone.0" }

[streams.one]
from = "a"
to = ["b"]
vlan = 10
pcp = 3
source = { frames = "500B", every = "1ms", jitter = { exponential = "2us" } }
ats = { rate = "50Mb/s", burst = "1kB" }
route = ["s1", "s2"]

[streams.sound]
from = "c"
to = ["d"]
vlan = 10
pcp = 3
source = { audio = { sample_rate = "44.1kHz" } }

[streams.film]
from = "d"
to = ["c"]
vlan = 11
pcp = 2
source = { video = { pictures = "25Hz", rate = "8Mb/s" } }

[streams.reply]
from = "b"
to = ["a"]
vlan = 10
source = { response_to = "one", after = "5us", frames = "100B" }
"""

NETWORK_CASES = {
    "unreachable listener": (
        'to = ["d"]', 'to = ["d", "e"]', 39, "streams.sound.to[1]",
        'no links lead from "c" at "core0" to "e" at "lone"', "a link"),
    "a loop in a route": ('["s1", "s2"]', '["s1", "s2", "s1"]', 35, "streams.one.route[2]", "has a loop", "once"),
    "a gap in a route": ('["s1", "s2"]', '["s1", "core0"]', 35, "streams.one.route[1]", "no link joins", "s2"),
    "a frame too long for a bridge on the way": (
        '"500B"', '"1200B"', 33, "streams.one.source.frames", '1200 B is not a frame.s length at "s2"', "to 1000B"),
    "packets too long": (
        '"44.1kHz"', '"192kHz", channels = 8, packet = "1ms"', 42, "streams.sound.source.audio.packet",
        "4654 B, too long", "1522 B"),
    "a rate above a link on the way": (
        '"50Mb/s"', '"101Mb/s"', 34, "streams.one.ats.rate", "above the link's 100 Mb/s", "up to 100 Mb/s"),
    "a link faster than any": ('"10Gb/s"', '"1000Gb/s"', 9, "links.uplink.rate", "too large", "10Mb/s to 100Gb/s"),
    "a link slower than any": ('"100Mb/s"', '"1Mb/s"', 22, "stations.a.rate", "too small", "10Mb/s to 100Gb/s"),
    "a link to nowhere": ('"s2.1"]', '"s3.1"]', 8, "links.uplink.between[1]", 'no bridge "s3"', "s1, s2"),
    "a link at a station's port": (
        '"s2.1"]', '"s2.0"]', 23, "stations.b.at", 's2.0 is already taken by link "uplink"', "one cable"),
    "a link with one end": ('["s1.1", "s2.1"]', '["s1.1"]', 8, "links.uplink.between", "has 1 entry", "2 or more"),
    "a link to itself": ('"s2.1"]', '"s1.2"]', 8, "links.uplink.between", 'both ends are at "s1"', "two bridges"),
    "a misspelt key of all links": ('rate = "1Gb/s"', 'rat = "1Gb/s"', 6, "links.rat", 'did you mean "rate"', "delay"),
    "a station at a port of the ring": ('"core0.2"', '"core0.1"', 24, "stations.c.at", "of this topology", "one cable"),
    "no port free": (
        'd = { at = "core2.*" }', 'd = { at = "core2.*" }\nf = { at = "core2.*" }\ng = { at = "core2.*" }',
        27, "stations.g.at", "none of the 4 ports", "free"),
    "an unknown topology": ('"ring"', '"rnig"', 12, "topology.core.kind", '"rnig" is not known', "tree"),
    "columns of a ring": ("bridges = 3", "bridges = 3\ncolumns = 2", 14, "topology.core.columns", "ring", "grid"),
    "a ring of two": ("bridges = 3", "bridges = 2", 13, "topology.core.bridges", "2 bridges are no ring", "3 or more"),
    "too few ports for the links": ("{ ports = 4 }", "{ ports = 2 }", 24, "stations.c.at", "no port 2", "core0.1"),
    "a bridge without ports": ("lone = { ports = 2 }", "lone = {}", 19, "bridges.lone.ports", "missing", "ports"),
    "a drift of a sundial": ('"5ppm"', '"5000ppm"', 17, "bridges.s1.clock.drift", "too large", "-1000ppm to 1000ppm"),
    "a drift without its unit": ('"5ppm"', '"5"', 17, "bridges.s1.clock.drift", "no unit", "ppm"),
    "a processing delay without end": (
        "ports = 3, max", 'ports = 3, processing_delay = "2ms", max', 18, "bridges.s2.processing_delay", "2ms", "1ms"),
    "two distributions": (
        'exponential = "2us"', 'exponential = "2us", normal = "1us"',
        33, "streams.one.source.jitter", "one distribution", "one of normal"),
    "a jitter without its file": (
        'exponential = "2us"', 'file = "none.txt"', 33, "streams.one.source.jitter.file", "none.txt", "text file"),
    "a jitter of words": (
        'exponential = "2us"', 'file = "text.pcapng"', 33, "streams.one.source.jitter.file", "line 1 of", "1.25us"),
    "quantiles that end early": (
        'exponential = "2us"', 'quantiles = [[0, "1us"], [0.5, "2us"]]',
        33, "streams.one.source.jitter.quantiles", "no quantiles", "rise from 0 to 1"),
    "a quantile without its part": (
        'exponential = "2us"', 'quantiles = [["1us"]]',
        33, "streams.one.source.jitter.quantiles[0]", "no quantile", "a part of all and a time"),
    "a frame at the controller before it is made": (
        'jitter = { exponential = "2us" }', 'software = { delay = { normal = "2us" } }',
        33, "streams.one.source.software.delay", "before it is constructed", "any but normal"),
    "a delay below zero": (
        'jitter = { exponential = "2us" }', 'software = { delay = { values = ["1us", "-1ns"] } }',
        33, "streams.one.source.software.delay", "before it is constructed", "any but normal"),
    "a launch time without its unit": (
        'jitter = { exponential = "2us" }', 'launch = 95', 33, "streams.one.source.launch", "no unit", "us"),
    "a launch error without its file": (
        'jitter = { exponential = "2us" }', 'launch = { offset = "9us", error = { file = "none.txt" } }',
        33, "streams.one.source.launch.error.file", "none.txt", "text file"),
    "launch times of answers": (
        'after = "5us"', 'after = "5us", launch = "9us"',
        55, "streams.reply.source.launch", "no times of its own", "another timing"),
    "sizes that do not come back": (
        '"44.1kHz"', '"44.1kHz", packet = "125.0001us"', 42, "streams.sound.source.audio.packet", "repeat", "up to"),
    "less than a sample": (
        '"44.1kHz"', '"44.1kHz", packet = "20us"',
        42, "streams.sound.source.audio.packet", "shorter than a sample", "at least"),
    "sound with frames": (
        '"44.1kHz" }', '"44.1kHz" }, frames = "100B"', 42, "streams.sound.source.frames", "its own times", "audio"),
    "a film of no size": (
        ', rate = "8Mb/s"', "", 49, "streams.film.source.video", "size of a picture", "i_picture"),
    "a film too slow for its packets": (
        '"8Mb/s"', '"8Mb/s", spacing = "2ms"', 49, "streams.film.source.video.spacing", "29 packets", "below"),
    "an answer to nobody": (
        '"one", after', '"two", after', 55, "streams.reply.source.response_to", 'no stream "two"', "one, sound"),
    "an answer to what was not heard": (
        '"one", after', '"film", after', 55, "streams.reply.source.response_to", '"b" does not hear "film"', "film.to"),
    "an answer to itself": (
        'frames = "500B", every = "1ms", jitter = { exponential = "2us" }', 'frames = "500B", response_to = "reply"',
        33, "streams.one.source.response_to", "waits for its own answer", "begins by itself"),
    "a trace of unknown nodes": ("[topology", '[trace]\nnodes = ["s9"]\n[topology', 12, "trace.nodes[0]", "s9", "s1"),
    "a trace of unknown events": (
        "[topology", '[trace]\nevents = ["gone"]\n[topology', 12, "trace.events[0]", '"gone" is not known', "sent"),
    "hardware at 10 Gb/s": (
        's1 = { ports = 3,', 's1 = { ports = 3, nodes = "rtl",',
        9, "links.uplink.rate", "hardware", '"model" for "s1"'),
    "hardware with many ports": (
        "lone = { ports = 2 }", 'lone = { ports = 9, nodes = "rtl" }', 19, "bridges.lone.ports", "9", "2 to 8"),
    "hardware with another's timing": (
        "lone = { ports = 2 }", 'lone = { ports = 2, nodes = "rtl", switching = "cut_through" }',
        19, "bridges.lone.switching", "what it is", "model"),
    "a header in hardware": (
        "lone = { ports = 2 }",
        'lone = { ports = 2, nodes = "rtl", switching = "cut_through", cut_through_header = "64B" }',
        19, "bridges.lone.cut_through_header", "what it is", "model"),
    "a header of a bridge that stores": (
        "lone = { ports = 2 }", 'lone = { ports = 2, cut_through_header = "64B" }',
        19, "bridges.lone.cut_through_header", "reads all of them", 'switching = "cut_through"'),
    "a header without its tag": (
        "lone = { ports = 2 }", 'lone = { ports = 2, switching = "cut_through", cut_through_header = "15B" }',
        19, "bridges.lone.cut_through_header", "15B", "16B"),
    "a guard band without the gap in hardware": (
        "lone = { ports = 2 }", 'lone = { ports = 2, nodes = "rtl", guard_band_gap = false }',
        19, "bridges.lone.guard_band_gap", "whose gap does not end", 'true, or nodes = "model" for "lone"'),
    "credit frozen in hardware": (
        "lone = { ports = 2 }", 'lone = { ports = 2, nodes = "rtl", guard_band_credit = "frozen" }',
        19, "bridges.lone.guard_band_credit", "lets credit rise", '"rises", or nodes = "model" for "lone"'),
    "a station in hardware": ('"core0.2"', '"core0.2", nodes = "rtl"', 24, "stations.c.nodes", "rtl", "model"),
    "learning in a ring": (
        "bridge = { ports = 4 }", 'bridge = { ports = 4, forwarding = "learned" }',
        14, "topology.core.bridge.forwarding", "form a loop", "static"),
    "a VLAN without a member that is needed": (
        "s1 = { ports = 3,", 's1 = { ports = 3, vlans.10 = ["a"],',
        17, "bridges.s1.vlans.10", "uplink", '"s2" in the list'),
    "a member from elsewhere": (
        "s1 = { ports = 3,", 's1 = { ports = 3, vlans.9 = ["b"],',
        17, "bridges.s1.vlans.9[0]", 'at "s2"', "this bridge"),
    "a name of a bridge and a station": ('a = { at', 'lone = { at', 22, "stations.lone", "name of a bridge", "once"),
    "a name that is a path": ('e = { at', '"../e" = { at', 26, "stations.../e", "cannot be used as a name", "letters"),
}  # fmt: skip


@pytest.mark.parametrize("case", NETWORK_CASES)
def test_bad_networks(case: str, folder: Path, penstock: Penstock) -> None:
    old, new, line, key, what, allowed = NETWORK_CASES[case]
    assert NETWORK.count(old) >= 1
    (folder / "scenario.toml").write_text(NETWORK.replace(old, new, 1))
    done = penstock("check", "scenario.toml")
    _is_told(done, line, key, what, allowed)


def _is_told(done: Done, line: int, key: str, what: str, allowed: str) -> None:
    """Once, whatever follows from it is told too."""
    own = [m for m in done.stderr.splitlines() if m.startswith(f"error: scenario.toml:{line}: {key}: ")]
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert len(own) == 1, done.stderr
    said, _, could = own[0].partition("; allowed: ")
    assert re.search(what, said), own
    assert allowed in could, own
    assert done.stdout == ""


def _places_told(folder: Path, penstock: Penstock, text: str, changes: dict[str, str]) -> list[tuple[int, str]]:
    """Lines and keys of all messages, of a scenario with some mistakes."""
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    (folder / "scenario.toml").write_text(text)
    done = penstock("check", "scenario.toml")
    assert done.returncode == 2
    messages = done.stderr.splitlines()
    places = [re.match(r"error: scenario.toml:(\d+): (\S+): ", message) for message in messages]
    return [
        (int(place[1]), place[2]) if place else (0, message) for place, message in zip(places, messages, strict=True)
    ]


def test_the_good_network_is_good(folder: Path, penstock: Penstock) -> None:
    (folder / "scenario.toml").write_text(NETWORK)
    assert penstock("check", "scenario.toml").returncode == 0


def test_all_that_is_wrong_is_told_at_once(folder: Path, penstock: Penstock) -> None:
    """Wrong by itself, wrong with others, and wrong in a network, each once and nothing that only follows."""
    changes = {
        'duration = "10ms"': 'duration = "10m"',
        'rate = "10Gb/s"': 'rate = "10GB/s"',
        'b = { at = "s2.0" }': 'b = { at = "s2.0", mack = "02:00:00:00:00:09", rat = "1Gb/s" }',
        'e = { at = "lone.0" }': 'e = { at = "core1.0" }',
        'sample_rate = "44.1kHz"': 'sample_rate = "44.1kHz", bits = 20',
        '"25Hz", rate': '"25Hz", packet = "9kB", rate',
    }
    assert _places_told(folder, penstock, NETWORK, changes) == [
        (2, "duration"),
        (9, "links.uplink.rate"),
        (23, "stations.b.mack"),
        (23, "stations.b.rat"),
        (26, "stations.e.at"),
        (42, "streams.sound.source.audio.bits"),
        (49, "streams.film.source.video.packet"),
    ]


def test_one_bad_line_of_a_thousand(folder: Path, penstock: Penstock) -> None:
    lines = ['name = "long"', 'duration = "1ms"', 'nodes = "model"']
    lines += ["[topology.t]", 'kind = "tree"', "bridges = 120", "bridge = { ports = 8 }", "[stations]"]
    lines += [f'e{i} = {{ at = "t{i % 120}.*" }}' for i in range(300)]
    for i in range(120):
        lines += ["", f"[streams.s{i}]", f'from = "e{i}"', f'to = ["e{i + 150}"]', "vlan = 5", "pcp = 0"]
        lines += ['source = { frames = "200B", every = "1ms" }']
    assert len(lines) > 1000
    (folder / "scenario.toml").write_text("\n".join(lines))
    assert penstock("check", "scenario.toml").returncode == 0
    at = lines.index('to = ["e227"]')
    lines[at] = 'to = ["e2277"]'
    (folder / "scenario.toml").write_text("\n".join(lines))
    done = penstock("check", "scenario.toml")
    assert done.returncode == 2
    assert done.stderr.startswith(f'error: scenario.toml:{at + 1}: streams.s77.to[0]: there is no station "e2277"')
    assert done.stderr.count("\n") == 1


def test_a_dict_is_told_without_lines() -> None:
    with pytest.raises(InputError) as error:
        load({"name": "d", "duration": "1ms", "bridges": {"sw": {"ports": 2}}, "stations": {}, "streams": {}})
    assert [str(e) for e in error.value.errors] == [
        "scenario: stations: is empty; allowed: one or more",
        "scenario: streams: is empty; allowed: one or more",
    ]


def test_what_is_wrong_with_a_table_that_stands_in_several_places_is_told_of_each() -> None:
    bridge = {"ports": 2, "classes": {"1": {"selectoin": "strict"}}}
    with pytest.raises(InputError) as caught:
        load({"name": "case", "duration": "1ms", "bridges": {"a": bridge, "b": bridge}})
    told = [error.key for error in caught.value.errors]
    assert [f"bridges.{name}.classes.1.selectoin" for name in "ab"] == told[:2]


def test_more_shaped_streams_than_the_hardware_holds() -> None:
    values: dict[str, Any] = {
        "name": "many",
        "duration": "1ms",
        "bridges": {"sw": {"ports": 2}},
        "stations": {"a": {"at": "sw.0"}, "b": {"at": "sw.1"}},
        "streams": {
            f"s{i}": {
                "from": "a",
                "to": ["b"],
                "vlan": 1,
                "pcp": 3,
                "source": {"frames": "100B", "every": "1ms"},
                "ats": {"rate": "1Mb/s", "burst": "120B"},
            }
            for i in range(257)
        },
    }
    assert len(load(values, "model").streams) == 257
    with pytest.raises(InputError, match='"sw" shapes 257 streams, this is number 257') as error:
        load(values)
    assert error.value.key == "streams.s256.ats"


def test_no_place_in_the_tables_of_the_hardware() -> None:
    """Three destinations of one hash: two places."""
    found: dict[int, list[int]] = {}
    for mac in range(0x030000000000, 0x030000010000):
        found.setdefault(fdb_set(mac, 7, 512), []).append(mac)
    crowd = next(macs for macs in found.values() if len(macs) >= 3)[:3]
    values: dict[str, Any] = {
        "name": "crowd",
        "duration": "1ms",
        "bridges": {"sw": {"ports": 2}},
        "stations": {"a": {"at": "sw.0"}, "b": {"at": "sw.1"}},
        "streams": {
            f"s{i}": {
                "from": "a",
                "to": ["b"],
                "vlan": 7,
                "destination": show_mac(mac),
                "source": {"frames": "100B", "every": "1ms"},
            }
            for i, mac in enumerate(crowd)
        },
    }
    load(values, "model")
    with pytest.raises(InputError, match='does not fit the tables of "sw": no room') as error:
        load(values)
    assert error.value.key == "streams.s2"


SHAPERS = """\
name = "shapers"
duration = "10ms"
nodes = "model"

[bridges.sw]
ports = 4
max_frame = "2000B"
classes.7 = { selection = "strict", name = "control" }
classes.6 = { selection = "ats" }
classes.5 = { selection = "cbs", idle_slope = "20Mb/s", name = "sound" }
classes.4 = { selection = "cbs", idle_slope = "200Mb/s" }

[bridges.sw.gates]
cycle_time = "250us"
base_time = "1ms"
entries = [
  { open = ["control"], interval = "50us" },
  { open = ["sound", 4, 6], interval = "100us" },
  { open = "0x1f", interval = "100us" },
]

[bridges.sw.port.3]
classes.4 = { idle_slope = "40Mb/s" }
gates = { cycle_time_extension = "1us", initial = "none", entries = [{ open = "all", interval = "1ms" }] }

[stations]
plc = { at = "sw.0" }
mic = { at = "sw.1" }
drive = { at = "sw.2" }
old = { at = "sw.3", rate = "100Mb/s" }

[streams.control]
from = "plc"
to = ["drive"]
vlan = 10
pcp = 3
source = { frames = "200B", every = "250us" }

[streams.sound]
from = "mic"
to = ["drive", "old"]
vlan = 10
pcp = 7
source = { frames = "300B", every = "125us" }
"""

ENTRIES = SHAPERS[SHAPERS.index("entries = [") : SHAPERS.index("\n\n[bridges.sw.port.3]")]
GATES, PORT = "bridges.sw.gates", "bridges.sw.port.3"
SHAPER_CASES = {
    "a list with zero entries": (
        ENTRIES, "entries = []", 16, f"{GATES}.entries", "has no entries", "1 to 1024 entries"),
    "an interval above all": (
        'interval = "50us"', 'interval = "5s"', 17, f"{GATES}.entries[0].interval", "5s. is too large",
        "4294967295ns"),
    "an interval that is not whole": (
        'interval = "50us"', 'interval = "50.0005us"', 17, f"{GATES}.entries[0].interval", "not a whole number of ns",
        "whole ns"),
    "an interval without a unit": (
        'interval = "50us"', "interval = 50000", 17, f"{GATES}.entries[0].interval", "no unit", "us"),
    "a cycle of zero": ('"250us"\nbase', '"0s"\nbase', 14, f"{GATES}.cycle_time", "0s. is too small", "1ns to"),
    "a cycle above all": (
        'interval = "1ms" }', 'interval = "3s" }, { open = "none", interval = "3s" }',
        24, f"{PORT}.gates.cycle_time", "6 s is longer", "to 4294967295ns"),
    "more entries than the hardware has": (
        'nodes = "model"', 'nodes = "rtl"', 16, f"{GATES}.entries", "has 129 entries",
        "1 to 128 entries, more in models"),
    "more entries than any has": (ENTRIES, "", 16, f"{GATES}.entries", "has 1025 entries", "1 to 1024 entries"),
    "a base time beyond the clock": (
        'base_time = "1ms"', 'base_time = "9223370036.854775808s"',
        15, f"{GATES}.base_time", "is too large", "whole ns, 0s to 3153600000s"),
    "a base time in parts of a nanosecond": (
        'base_time = "1ms"', 'base_time = "1ps"', 15, f"{GATES}.base_time", "not a whole number of ns", "whole"),
    "an extension beyond its register": (
        'extension = "1us"', 'extension = "5s"', 24, f"{PORT}.gates.cycle_time_extension", "too large",
        "0s to 4294967295ns"),
    "an unknown class": (
        '["control"]', '["controll"]', 17, f"{GATES}.entries[0].open", 'no traffic class "controll"',
        "0 to 7, control, sound"),
    "a class out of range": ('["control"]', "[8]", 17, f"{GATES}.entries[0].open", "no class 8", "0 to 7"),
    "a class opened twice": ('["control"]', '["control", 7]', 17, f"{GATES}.entries[0].open",
        "class 7 is there twice", "once"),
    "a bare number of gates": (
        '["control"]', "128", 17, f"{GATES}.entries[0].open", "128 could be a class or a mask", 'a mask, "0x81"'),
    "initial states of an unknown class": (
        'initial = "none"', 'initial = "video"', 24, f"{PORT}.gates.initial", 'no traffic class "video"', "control"),
    "an unknown key of a list": (
        'base_time = "1ms"', 'basetime = "1ms"', 15, f"{GATES}.basetime", 'did you mean "base_time"', "cycle_time"),
    "an unknown key of an entry": (
        'interval = "50us"', 'intervall = "50us"', 17, f"{GATES}.entries[0].intervall", 'did you mean "interval"',
        "open"),
    "an entry without its interval": (
        ', interval = "50us"', "", 17, f"{GATES}.entries[0].interval", "missing", "interval"),
    "a class that never opens": (
        '["sound", 4, 6]', "[4, 6]", 16,
        f"{GATES}.entries", r'class 5 \(sound\) never opens at sw.2, but "sound" needs', "opens"),
    "a frame that fits no window": (
        '"control"], interval = "50us"', '"control"], interval = "1759ns"',
        16, f"{GATES}.entries", "open for 1759 ns at most at sw.2, but a frame of .control. takes 1760 ns .220 B",
        "1760ns or more"),
    "a frame that fits no window of a slow link": (
        '[{ open = "all", interval = "1ms" }]',
        '[{ open = [7], interval = "1us" }, { open = [5], interval = "25599ns" }]',
        24, f"{PORT}.gates.entries", "25599 ns at most at sw.3, but .* takes 25600 ns .320 B", "25600ns or more"),
    "an idle slope above the link": (
        'idle_slope = "200Mb/s"', 'idle_slope = "1.1Gb/s"',
        11, "bridges.sw.classes.4.idle_slope", "1.1 Gb/s is above the 1 Gb/s of port 0", "up to 1 Gb/s"),
    "an idle slope above one port's link": (
        'idle_slope = "40Mb/s"', 'idle_slope = "101Mb/s"',
        23, f"{PORT}.classes.4.idle_slope", "101 Mb/s is above the 100 Mb/s of port 3", "up to 100 Mb/s"),
    "slopes that sum above the link": (
        'idle_slope = "200Mb/s"', 'idle_slope = "981Mb/s"',
        11, "bridges.sw.classes.4.idle_slope", "at port 0 sum up to 1.001 Gb/s, above its 1 Gb/s",
        "up to 980 Mb/s, which others leave"),
    "slopes that sum above one port's link": (
        'idle_slope = "40Mb/s"', 'idle_slope = "81Mb/s"',
        23, f"{PORT}.classes.4.idle_slope", "at port 3 sum up to 101 Mb/s", "up to 80 Mb/s"),
    "no idle slope": (
        ', idle_slope = "200Mb/s"', "", 11, "bridges.sw.classes.4.idle_slope", "has an idle slope", "idle_slope ="),
    "an idle slope of zero": (
        'idle_slope = "200Mb/s"', 'idle_slope = "0b/s"', 11, "bridges.sw.classes.4.idle_slope", "too small",
        "1kb/s to 100Gb/s"),
    "a send slope of one's own": (
        'idle_slope = "200Mb/s"', 'idle_slope = "200Mb/s", send_slope = "-500Mb/s"',
        11, "bridges.sw.classes.4.send_slope", "-500 Mb/s is not the idle slope less the 1 Gb/s of port 0",
        '"-800000000b/s"'),
    "an idle slope of a strict class": (
        'classes.4 = { selection = "cbs"', 'classes.4 = { selection = "strict"',
        11, "bridges.sw.classes.4.idle_slope", 'nothing about selection = "strict"', "cbs"),
    "an idle slope of an ATS class": (
        'classes.6 = { selection = "ats"', 'classes.6 = { idle_slope = "1Mb/s"',
        9, "bridges.sw.classes.6.idle_slope", "class 6 is ATS, as nothing else is said", "cbs"),
    "a residence time of a class with credit": (
        'idle_slope = "200Mb/s"', 'idle_slope = "200Mb/s", max_residence = "1ms"',
        11, "bridges.sw.classes.4.max_residence", "only ATS", "ats"),
    "credit at one port of an ATS class": (
        'classes.4 = { idle_slope = "40Mb/s" }', 'classes.6 = { selection = "cbs", idle_slope = "1Mb/s" }',
        23, f"{PORT}.classes.6.selection", "class 6 is ATS, which a bridge is at all of its ports", "strict"),
    "a class that no port has": (
        'classes.4 = { idle_slope = "40Mb/s" }', 'classes.9 = { selection = "strict" }',
        23, f"{PORT}.classes.9", 'no traffic class "9"', "0 to 7"),
    "scaled above the link": (
        'idle_slope = "200Mb/s"', 'idle_slope = "900Mb/s", scaled = true',
        11, "bridges.sw.classes.4.idle_slope", "in the 200 us of 250 us that it is open are 1.125 Gb/s",
        "up to 800 Mb/s"),
    "a name that means something": (
        'name = "sound"', 'name = "all"', 10, "bridges.sw.classes.5.name", '"all" cannot be used', "a letter"),
    "a name twice": (
        'name = "sound"', 'name = "control"', 10, "bridges.sw.classes.5.name", "also the name of another", "once"),
    "a unit that is no frame": (
        'name = "sound"', 'max_sdu = "45B"', 10, "bridges.sw.classes.5.max_sdu", "45B. is too small",
        "46B to 1982B"),
    "a frame above the longest unit": (
        'name = "sound"', 'name = "sound", max_sdu = "281B"',
        44, "streams.sound.source", r"frames of 300 B are above the max_sdu of class 5 \(sound\) at sw.2: 281 B",
        "up to 299B"),
    "a clock that nobody keeps": (
        'ports = 4', 'ports = 4\nclock = { sync = "gps" }', 7, "bridges.sw.clock.sync", "gps. is not known",
        '"ideal", "none"'),
    "a clock that is far off": (
        'ports = 4', 'ports = 4\nclock = { sync = { error = "2ms" } }',
        7, "bridges.sw.clock.sync.error", "2ms. is too large", "0s to 1ms"),
}  # fmt: skip


@pytest.mark.parametrize("case", SHAPER_CASES)
def test_bad_shapers(case: str, folder: Path, penstock: Penstock) -> None:
    old, new, line, key, what, allowed = SHAPER_CASES[case]
    assert SHAPERS.count(old) >= 1
    many = {"more entries than the hardware has": 129, "more entries than any has": 1025}.get(case)
    text = SHAPERS
    if many:
        entry = '{ open = "all", interval = "100ns" }'
        text = text.replace(ENTRIES, f"entries = [{', '.join([entry] * many)}]").replace('cycle_time = "250us"\n', "\n")
    (folder / "scenario.toml").write_text(text.replace(old, new, 1) if old in text else text)
    done = penstock("check", "scenario.toml")
    _is_told(done, line, key, what, allowed)


def test_the_good_shapers_are_good(folder: Path, penstock: Penstock) -> None:
    (folder / "scenario.toml").write_text(SHAPERS)
    done = penstock("check", "scenario.toml")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_slope_that_is_scaled_to_no_gates(folder: Path, penstock: Penstock) -> None:
    text = re.sub(r"\n\[bridges.sw.gates\].*?(?=\n\[stations)", "", SHAPERS, flags=re.DOTALL)
    text = text.replace('"200Mb/s"', '"90Mb/s", scaled = true').replace('"20Mb/s"', '"9Mb/s"')
    (folder / "scenario.toml").write_text(text)
    done = penstock("check", "scenario.toml")
    assert done.stderr == (
        "error: scenario.toml:11: bridges.sw.classes.4.scaled: the bridge has no gates to scale to; "
        "allowed: gates, or no scaled\n"
    )


def test_all_that_is_wrong_with_shapers_is_told_at_once(folder: Path, penstock: Penstock) -> None:
    changes = {
        'idle_slope = "20Mb/s"': 'idle_slope = "2Gb/s"',
        'cycle_time = "250us"': 'cycle_time = "5s"',
        '"50us"': '"5s"',
        '"0x1f"': '[0, "vidoe"]',
        'idle_slope = "40Mb/s"': 'idle_slope = "200Mb/s"',
        '"1us", initial = "none"': '"6s", initial = [9]',
    }
    assert set(_places_told(folder, penstock, SHAPERS, changes)) == {
        (10, "bridges.sw.classes.5.idle_slope"),
        (14, f"{GATES}.cycle_time"),
        (17, f"{GATES}.entries[0].interval"),
        (19, f"{GATES}.entries[2].open"),
        (23, f"{PORT}.classes.4.idle_slope"),
        (24, f"{PORT}.gates.cycle_time_extension"),
        (24, f"{PORT}.gates.initial"),
    }


def test_no_scenario(folder: Path, penstock: Penstock) -> None:
    done = penstock("run", "nowhere")
    assert done.returncode == 2
    allowed = "a folder with scenario.toml, a file, or one of `penstock scenarios`"
    assert done.stderr == f"error: nowhere: no such scenario; allowed: {allowed}\n"


def test_a_folder_of_something_else_is_not_overwritten(folder: Path, penstock: Penstock) -> None:
    (folder / "scenario.toml").write_text(GOOD)
    (folder / "results").mkdir()
    (folder / "results" / "thesis.tex").write_text("years of work")
    done = penstock("run", "scenario.toml", "--out", "results")
    assert done.returncode == 2
    assert "is not a run's folder" in done.stderr
    assert (folder / "results" / "thesis.tex").exists()
