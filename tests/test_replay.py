# SPDX-License-Identifier: Apache-2.0
"""`penstock replay`: recorded runs of a real switch, runs that this file makes up in the same form, and spoilt ones."""

from __future__ import annotations

import heapq
import io
import json
import os
import random
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from rich.console import Console

from penstock import _engine, cli
from penstock.errors import RunError
from penstock.replay import Comparison, FlowResult, Played, Recording, play
from penstock.replay import replay as replayed
from penstock.replay.play import Progress
from penstock.replay.setup import Nodes
from penstock.replay.table import table

RECORDED = Path(__file__).parents[2] / "shared" / "reference" / "fpga-switch"
KEPT = Path(__file__).parents[1] / "scenarios" / "recording" / "three-flows"
RUNS = ["burst-1", "burst-8", "burst-64", "rate-100", "rate-400", "priority-500"]
FAST_RUNS = RUNS[:-1]
TICKS_PER_NS = 1 << 16

Replay = Callable[..., "Done"]


@dataclass
class Done:
    status: int
    out: str
    error: str

    @property
    def residuals(self) -> tuple[float, float, float]:
        """Least, median and most of the frames that no other flow holds back."""
        match = re.search(r"^.* unhindered +\d+ +(\S+) +(\S+) +(\S+) +15 ", self.out, re.M)
        assert match, self.out
        return float(match[1]), float(match[2]), float(match[3])

    def same(self, sent: int, survivors: int) -> bool:
        """Whether the table says so of the frames that survive."""
        return re.search(rf" survive of {sent} +{survivors}( +-){{4}} +same *$", self.out, re.M) is not None


@pytest.fixture
def replay(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Replay:
    """The command, as a user calls it."""

    def call(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["penstock", "replay", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        return Done(int(end.value.code or 0), *capfd.readouterr())

    return call


def recorded(name: str) -> Path:
    """A recorded run, which is kept beside the repository."""
    if not RECORDED.is_dir():
        pytest.skip(f"the recorded runs are not here: {RECORDED}")
    return RECORDED / name


# ---- what a real switch did


@pytest.mark.parametrize("nodes", ["model", "rtl"])
@pytest.mark.parametrize("run", FAST_RUNS)
def test_a_recorded_run(run: str, nodes: str, replay: Replay) -> None:
    done = replay(recorded(run), "--nodes", nodes)
    assert (done.status, done.error) == (0, ""), done
    assert done.out.startswith(f"replayed by the {'model' if nodes == 'model' else 'hardware'}; ")
    assert re.search(rf"^{run} +survive of \d+ +\d+ .* same *$", done.out, re.M)
    # Far within what is allowed, so that a shaper that drifts by a few ticks is seen here.
    least, median, most = done.residuals
    assert (median, most - least <= 6) == (0, True), done.out


def beginning(run: Path, ticks: int, folder: Path) -> Path:
    """What a run sent in so many ticks, and what became of it."""
    folder.mkdir()
    shutil.copyfile(run / "run.toml", folder / "run.toml")
    sent: set[str] = set()
    for file in sorted(run.glob("sent_port*.csv")):
        head, *rows = file.read_text().splitlines(keepends=True)
        rows = [row for row in rows if int(row.split(",")[1]) < ticks]
        sent |= {row.split(",")[0] for row in rows}
        (folder / file.name).write_text("".join([head, *rows]))
    (file,) = run.glob("received_port*.csv")
    head, *rows = file.read_text().splitlines(keepends=True)
    (folder / file.name).write_text("".join([head, *(row for row in rows if row.split(",")[0] in sent)]))
    return folder


def test_hardware_does_with_two_recorded_flows_what_the_model_does(replay: Replay, tmp_path: Path) -> None:
    part = beginning(recorded("priority-500"), 2_000_000, tmp_path / "run")
    rtl, model = (json.loads(replay(part, "--nodes", nodes, "--json").out)["rows"] for nodes in ("rtl", "model"))
    rows = {row["id"]: row for row in rtl}
    assert rows["run/ats/survivors"]["measured"] == 128
    assert rows["run/best effort/survivors"]["measured"] == 651
    assert all(row["ok"] for row in rtl)
    assert rtl == model


def test_a_recorded_run_with_two_flows(replay: Replay) -> None:
    done = replay(recorded("priority-500"), "--json")
    assert done.status == 0, done
    rows = {row["id"]: row for row in json.loads(done.out)["rows"]}
    assert rows["priority-500/ats/survivors"]["measured"] == 2011
    assert rows["priority-500/best effort/survivors"]["measured"] == 10295
    free, behind = (rows[f"priority-500/ats/{name}"] for name in ("residual", "residual_behind_another_flow"))
    assert (free["min"], free["max"]) == (-1, 1)
    assert behind["max"] <= 1542  # never later than one more frame time
    assert free["frames"] + behind["frames"] == 2011


# ---- on a terminal


def long_named() -> Comparison:
    """A run with all that a table may hold, in figures as long as they come."""
    flow = FlowResult("a", 123_456, 99_999, 99_998, [0x10], [], [-14.25, 0.5, 15.0] * 20_000, [-15_410.0] * 9_999,
                      [15_425.0] * 9_999, 3.0)  # fmt: skip
    return Comparison("a recording [with a name] of the long kind", "model", [flow], {"queue": 1})


@pytest.mark.parametrize("width", [80, 200])
def test_a_terminal(width: int) -> None:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=True, color_system=None)
    runs = [replayed(KEPT, "model"), long_named()]
    table(runs, console)
    lines = file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert "\u2026" not in text
    assert re.search(r"^three-flows +survive of 632 +574( +-){4} +same *$", text, re.M)
    assert re.search(r" -15410 +-15410 +-15410 +15425 +ok *$", text, re.M)
    assert " 123456 " in re.sub(r"\s+", " ", text)
    assert "1 frame survived only in the record (0x00000010 is one); ours had no room for 1" in " ".join(text.split())


def test_runs_before_one_that_fails_are_printed(
    run: Path, good: Path, replay: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(recording: Recording, nodes: Nodes, progress: Progress | None) -> Played:
        if recording.name == "run":
            raise RunError("the switch contradicts itself")
        return play(recording, nodes, progress)

    monkeypatch.setattr(sys.modules["penstock.replay.show"], "play", fail)
    done = replay(good, run)
    assert done.status == 3
    assert re.search(r"^good +survive", done.out, re.M)
    assert "contradicts itself" in done.error


# ---- made up in the same form


@dataclass(frozen=True)
class Flow:
    """A flow and, for those that are shaped, its parameters."""

    name: str
    port: int
    traffic_class: int
    frame_bytes: int
    rate_bps: int = 0  # 0: strict priority
    burst_bytes: int = 0
    residence_ns: int = 0
    gap_ns: tuple[int, int] = (0, 0)  # silence before each frame, drawn from this range
    burst: int = 1  # frames without silence
    count: int = 200


@dataclass(frozen=True)
class Device:
    """A switch that never was, with constants of its own.

    It records first bits. Its shaper takes them as arrivals, and its strict frames are stored before they leave.
    """

    flows: tuple[Flow, ...]
    tick_ns: Fraction = Fraction(8)
    received_port: int = 3
    overhead: int = 20
    delay_max_ns: int = 13_000
    seed: int = 1

    def record(self, folder: Path) -> dict[str, int]:
        """Writes a run directory; gives the number of frames sent and of survivors."""
        rng = random.Random(self.seed)
        arrivals: list[tuple[int, int, int, int]] = []  # first bit, order, flow, frame number
        rows: dict[int, list[tuple[int, int, int]]] = {}
        for port in sorted({flow.port for flow in self.flows}):
            wire_free = rng.randrange(20_000)
            left = {index: flow.count for index, flow in enumerate(self.flows) if flow.port == port}
            while left:
                index = rng.choice(list(left))
                flow = self.flows[index]
                wire_free += rng.randint(*flow.gap_ns)
                for _ in range(min(flow.burst, left[index])):
                    first = wire_free + 64
                    wire_free = first + 8 * (flow.frame_bytes + 12)
                    number = port << 28 | len(rows.setdefault(port, [])) * 3 + 1
                    rows[port].append((number, first, index))
                    arrivals.append((first, len(arrivals), index, number))
                    left[index] -= 1
                if not left[index]:
                    del left[index]
        zero = min(row[1] for port_rows in rows.values() for row in port_rows)

        folder.mkdir()
        (folder / "run.toml").write_text(self.toml())
        for port, port_rows in rows.items():
            lines = [f"{n:#010x},{self.tick(at - zero)},{self.flows[f].name}\n" for n, at, f in port_rows]
            (folder / f"sent_port{port}.csv").write_text("frame_id,tick,flow\n" + "".join(lines))
        departures = self.select(self.shape(sorted(arrivals)))
        lines = [f"{n:#010x},{self.tick(at - zero)}\n" for at, n in departures]
        (folder / f"received_port{self.received_port}.csv").write_text("frame_id,tick\n" + "".join(lines))
        return {"sent": len(arrivals), "survivors": len(departures)}

    def tick(self, ns: int) -> int:
        return int(ns // self.tick_ns)

    def shape(self, arrivals: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
        """When each surviving frame may be sent: (time, order, flow, number)."""
        ats = _engine.Ats(8, len(self.flows))
        for index, flow in enumerate(self.flows):
            if flow.rate_bps:
                ats.set_rate(index, *_engine.ats_rate(flow.rate_bps, flow.burst_bytes))
                ats.set_group(flow.port, flow.traffic_class, flow.residence_ns)
        found = []
        for first, order, index, number in arrivals:
            flow = self.flows[index]
            if not flow.rate_bps:
                found.append((first + 8 * flow.frame_bytes + 777, order, index, number))
                continue
            # Shaped by what is recorded of it.
            at = int(self.tick(first) * self.tick_ns)
            wire = flow.frame_bytes + self.overhead
            eligible = ats.frame(flow.port, flow.traffic_class, index, at, wire)
            if eligible is not None:
                found.append((eligible // TICKS_PER_NS + self.delay_max_ns + 1_104, order, index, number))
        return found

    def select(self, ready: list[tuple[int, int, int, int]]) -> list[tuple[int, int]]:
        """Strict priority out of one port: (first bit, frame number)."""
        ready = sorted(ready)
        waiting: list[tuple[int, int, int, int, int]] = []
        sent, free, next_ready = [], 0, 0
        while waiting or next_ready < len(ready):
            if not waiting:
                free = max(free, ready[next_ready][0])
            while next_ready < len(ready) and ready[next_ready][0] <= free:
                at, order, index, number = ready[next_ready]
                heapq.heappush(waiting, (-self.flows[index].traffic_class, at, order, index, number))
                next_ready += 1
            *_, index, number = heapq.heappop(waiting)
            sent.append((free, number))
            free += 8 * (self.flows[index].frame_bytes + 20)
        return sent

    def toml(self) -> str:
        text = f"tick_ns = {float(self.tick_ns):g}\nreceived_port = {self.received_port}\n"
        for flow in self.flows:
            text += (
                f'\n[[flow]]\nname = "{flow.name}"\nsent_port = {flow.port}\ntraffic_class = {flow.traffic_class}\n'
                f'shaper = "{"ats" if flow.rate_bps else "strict"}"\nframe_bytes = {flow.frame_bytes}\n'
                f"wire_bytes = {flow.frame_bytes + self.overhead}\n"
            )
            if flow.rate_bps:
                text += (
                    f"committed_information_rate_bps = {flow.rate_bps}\n"
                    f"committed_burst_size_bytes = {flow.burst_bytes}\n"
                    f"max_residence_time_ns = {flow.residence_ns}\nprocessing_delay_max_ns = {self.delay_max_ns}\n"
                )
        return text


ONE = Flow("one", 2, 7, 1522, 100_000_000, 8 * 1542, 100_000, count=150)
DEVICES = {
    "one flow of short frames": Device((replace(ONE, frame_bytes=64, burst_bytes=300, residence_ns=9_000),)),
    "another tick, another port": Device((replace(ONE, port=0, traffic_class=1),), Fraction(10), received_port=1),
    "a tick that is no whole number": Device((replace(ONE, gap_ns=(0, 9_000)),), Fraction(32, 5), received_port=0),
    "a coarse tick": Device((replace(ONE, gap_ns=(1_000, 20_000)),), Fraction(100)),
    "no overhead counted": Device((ONE,), overhead=0),
    "another overhead and delay": Device((replace(ONE, gap_ns=(0, 30_000)),), overhead=24, delay_max_ns=400),
    "a burst below a frame": Device((replace(ONE, burst_bytes=700, gap_ns=(0, 90_000)),)),
    "two streams of a group": Device(
        (
            Flow("long", 1, 6, 1522, 50_000_000, 2_000, 300_000, (11_000, 60_000)),
            Flow("short, with a comma", 1, 6, 200, 90_000_000, 500, 300_000, (0, 9_000), burst=5),
        )
    ),
    "groups beside each other": Device(
        (
            Flow("a", 0, 7, 800, 80_000_000, 1_700, 200_000, (5_000, 100_000), burst=3),
            Flow("b", 0, 6, 300, 60_000_000, 900, 150_000, (0, 50_000), burst=4),
            Flow("c", 1, 7, 1_000, 70_000_000, 2_100, 500_000, (0, 90_000), burst=2),
        ),
        received_port=2,
        overhead=12,
    ),
    "between two strict flows": Device(
        (
            Flow("low", 0, 1, 1522, gap_ns=(0, 80_000)),
            Flow("shaped", 1, 4, 700, 60_000_000, 1_500, 400_000, (0, 60_000), burst=2),
            Flow("high", 2, 7, 128, gap_ns=(2_000, 40_000)),
        )
    ),
    "strict only, long and short back to back": Device(
        (Flow("long", 1, 5, 1522, count=60), Flow("short", 1, 5, 64, count=60))
    ),
}


@pytest.mark.parametrize("nodes", ["model", pytest.param("rtl", marks=pytest.mark.slow)])
def test_a_made_up_run_on_eight_ports(nodes: str, tmp_path: Path, replay: Replay) -> None:
    device = Device((replace(ONE, port=7), Flow("other", 5, 3, 700, gap_ns=(0, 90_000))), received_port=4)
    made = device.record(tmp_path / "run")
    done = replay(tmp_path / "run", "--nodes", nodes)
    assert (done.status, done.error) == (0, ""), done
    assert done.same(made["sent"], made["survivors"]), done.out


@pytest.mark.parametrize("nodes", ["model", "rtl"])
@pytest.mark.parametrize("seed", range(3))
def test_a_run_of_many_flows(seed: int, nodes: str, tmp_path: Path, replay: Replay) -> None:
    """As many flows as one likes, of any class, at each port."""
    rng = random.Random(seed)
    flows = []
    for port in (0, 1, 2):
        for traffic_class in rng.sample(range(8), 3):
            shaped = rng.random() < 0.6
            flows.append(
                Flow(
                    f"{port}/{traffic_class}", port, traffic_class, rng.choice((100, 400, 900)),
                    rate_bps=rng.randrange(10_000_000, 40_000_000) if shaped else 0,
                    burst_bytes=rng.randrange(1_000, 3_000), residence_ns=rng.randrange(100_000, 900_000),
                    gap_ns=(8_000, 60_000), burst=1, count=60,
                )
            )  # fmt: skip
    device = Device(tuple(flows), received_port=3, seed=seed)
    made = device.record(tmp_path / "run")
    done = replay(tmp_path / "run", "--nodes", nodes)
    assert (done.status, done.error) == (0, ""), done
    assert done.same(made["sent"], made["survivors"]), done.out


@pytest.mark.parametrize("nodes", ["model", "rtl"])
@pytest.mark.parametrize("name", DEVICES)
def test_a_made_up_run(name: str, nodes: str, tmp_path: Path, replay: Replay) -> None:
    device = DEVICES[name]
    made = device.record(tmp_path / "run")
    done = replay(tmp_path / "run", "--nodes", nodes)
    assert (done.status, done.error) == (0, ""), done
    assert done.same(made["sent"], made["survivors"]), done.out
    if len({(flow.port, flow.traffic_class) for flow in device.flows}) == 1:
        assert max(map(abs, done.residuals)) <= 3, done.out


def test_made_up_runs_are_worth_it(tmp_path: Path) -> None:
    """Where frames are shaped, some are dropped and some are held back."""
    for number, (name, device) in enumerate(DEVICES.items()):
        made = device.record(tmp_path / str(number))
        if any(flow.rate_bps for flow in device.flows):
            assert 15 < made["survivors"] < made["sent"] - 10, f"{name}: {made}"


# ---- runs that differ


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "good"
    DEVICES["two streams of a group"].record(folder)
    return folder


@pytest.fixture
def run(good: Path, tmp_path: Path) -> Path:
    """A good run to be spoilt."""
    return Path(shutil.copytree(good, tmp_path / "run"))


def change(file: Path, line: int, new: Callable[[str], str]) -> None:
    lines = file.read_text().splitlines(keepends=True)
    lines[line - 1] = new(lines[line - 1])
    file.write_text("".join(lines))


def ticks_of(file: Path) -> dict[str, int]:
    """When each frame left, by its number as it is written."""
    return {number: int(tick) for number, tick in (line.split(",") for line in file.read_text().splitlines()[1:])}


def write_ticks(file: Path, left: dict[str, int]) -> None:
    lines = [f"{number},{tick}\n" for number, tick in sorted(left.items(), key=lambda each: each[1])]
    file.write_text("frame_id,tick\n" + "".join(lines))


def moved(by: int) -> Callable[[str], str]:
    def move(text: str) -> str:
        number, tick = text.split(",")
        return f"{number},{int(tick) + by}\n"

    return move


def test_a_survivor_less(run: Path, replay: Replay) -> None:
    lost = (run / "received_port3.csv").read_text().splitlines()[20].split(",")[0]
    change(run / "received_port3.csv", 21, lambda _: "")
    done = replay(run)
    assert done.status == 1
    assert re.search(r"survive of .* DIFFERS *$", done.out, re.M)
    assert done.out.endswith(f"run: 1 frame survived only in ours ({lost} is one)\n")


def test_a_survivor_more(run: Path, replay: Replay) -> None:
    left = ticks_of(run / "received_port3.csv")
    number, tick = next(
        (number, tick + 3_000)
        for number, tick in ticks_of_sent(run / "sent_port1.csv").items()
        if number not in left and all(abs(tick + 3_000 - other) > 1_600 for other in left.values())
    )
    write_ticks(run / "received_port3.csv", left | {number: tick})
    done = replay(run, "--json")
    assert done.status == 1
    found = json.loads(done.out)
    assert not found["ok"]
    assert [int(number, 16)] in [row.get("only_measured") for row in found["rows"]]


@pytest.mark.parametrize(("by", "status"), [(-20, 1), (-12, 0), (12, 0), (20, 1)])
def test_a_frame_that_left_at_another_time(by: int, status: int, run: Path, replay: Replay) -> None:
    change(run / "received_port3.csv", 31, moved(by))
    done = replay(run)
    assert done.status == status, done
    assert done.residuals[0 if by > 0 else 2] == pytest.approx(-by, abs=3)


def test_a_flow_that_left_at_another_time(run: Path, replay: Replay) -> None:
    """Shaped flows have one constant in common: a whole flow that is late is seen."""
    names = {
        line.split(",")[0] for line in (run / "sent_port1.csv").read_text().splitlines()[1:] if line.endswith(",long")
    }
    lines = (run / "received_port3.csv").read_text().splitlines(keepends=True)
    lines = [moved(30)(line) if line.split(",")[0] in names else line for line in lines]
    (run / "received_port3.csv").write_text("".join(lines))
    assert replay(run).status == 1


def test_later_than_one_more_frame(tmp_path: Path, replay: Replay) -> None:
    """Behind another flow one frame of it is allowed, and no more."""
    device = Device((Flow("low", 0, 1, 1522, gap_ns=(0, 3_000)), replace(ONE, port=1, gap_ns=(20_000, 90_000))))
    for frames, status in ((0, 0), (2, 1), (-2, 1)):
        run = tmp_path / f"moved{frames}"
        device.record(run)
        let_pass(run, frames)
        assert replay(run).status == status, frames


def let_pass(run: Path, frames: int) -> None:
    """One of the shaped frames leaves after so many others of its length, or before them, and their row stays whole."""
    received = run / "received_port3.csv"
    left = ticks_of(received)
    order = list(left)
    sent = ticks_of_sent(run / "sent_port1.csv")
    for place, number in enumerate(order):
        row = order[place : place + frames + 1] if frames >= 0 else order[place + frames : place + 1]
        ticks = [left[each] for each in row]
        whole = len(row) == abs(frames) + 1 and all(1_542 <= b - a <= 1_550 for a, b in pairwise(ticks))
        if number in sent and whole and ticks[0] > sent[number] and sum(each in sent for each in row) == 1:
            row = [*row[1:], row[0]] if frames >= 0 else [row[-1], *row[:-1]]
            write_ticks(received, left | dict(zip(row, ticks, strict=True)))
            return
    raise AssertionError("no frame that could pass or be passed")


def ticks_of_sent(file: Path) -> dict[str, int]:
    return {number: int(tick) for number, tick, _ in (line.split(",", 2) for line in file.read_text().splitlines()[1:])}


def test_another_rate(run: Path, replay: Replay) -> None:
    text = (run / "run.toml").read_text()
    (run / "run.toml").write_text(text.replace("= 50000000\n", "= 50100000\n"))
    assert replay(run).status == 1


def test_one_bad_run_of_several(good: Path, run: Path, replay: Replay) -> None:
    change(run / "received_port3.csv", 31, moved(25))
    done = replay(good, run)
    assert done.status == 1
    assert re.findall(r" unhindered .* (ok|DIFFERS) *$", done.out, re.M) == ["ok", "DIFFERS"]


# ---- bad input

# What is replaced in run.toml by what, and then what the message has.
BAD_TOML = {
    "no TOML": ("tick_ns = 8", "tick_ns = ", "run.toml:1: is not TOML"),
    "an unknown key": ("tick_ns = 8", "tick_ns = 8\ntick_sn = 8", 'run.toml:2: tick_sn: unknown key .*"tick_ns"'),
    "an unknown key of a flow": ("wire_bytes", "wire_byte", 'run.toml:10: .*unknown key "wire_byte".*"wire_bytes"'),
    "a missing key": ("sent_port = 1\n", "", r"run.toml:4: flow\[0\].sent_port: the key is missing"),
    "no tick": ("tick_ns = 8", "tick_ns = 0", "run.toml:1: tick_ns: 0 does not fit; allowed: greater than 0"),
    "text for a number": ("tick_ns = 8", 'tick_ns = "8"', r"run.toml:1: tick_ns: .8. does not fit"),
    "no such port": ("received_port = 3", "received_port = 8", "run.toml:2: received_port: 8 does not fit"),
    "an unknown shaper": ('shaper = "ats"', 'shaper = "cbs"', 'run.toml:8: flow.*: "cbs" does not fit.*ats'),
    "a frame too short": ("frame_bytes = 1522", "frame_bytes = 63", "run.toml:9: .*64"),
    "an overhead too long": ("wire_bytes = 1542", "wire_bytes = 1800", "run.toml:10: .* 278 more .*0 to 255 more"),
    "overheads that differ": ("wire_bytes = 220", "wire_bytes = 224", 'wire_bytes: .* is 24, and 20 for flow "long"'),
    "a name used twice": ('"short, with a comma"', '"long"', "is there twice"),
    "a rate that is missing": ("committed_information_rate_bps = 50000000\n", "", "rate_bps: the key is missing"),
    "a burst of a strict flow": ('shaper = "ats"', 'shaper = "strict"', "the flow is not shaped"),
    "a group of two minds": ("time_ns = 300000", "time_ns = 300001", "the scheduler group's time"),
    "back where it came from": ("received_port = 3", "received_port = 1", "run.toml:6: .*received port too"),
    "no flow": ("\n[[flow]]", "\n[[flows]]", 'unknown key "flows"'),
}


@pytest.mark.parametrize("case", BAD_TOML)
def test_a_bad_run_file(case: str, run: Path, replay: Replay) -> None:
    old, new, message = BAD_TOML[case]
    text = (run / "run.toml").read_text()
    assert old in text
    (run / "run.toml").write_text(text.replace(old, new, 1))
    if case == "back where it came from":
        shutil.copy(run / "received_port3.csv", run / "received_port1.csv")
    refused(replay(run), message)


# File, line (0: the file goes), what stands there instead, with NUMBER and TICK as they were, and the message.
BAD_FILES = {
    "no run.toml": ("run.toml", 0, "", "run.toml: the file is missing"),
    "no frames in": ("sent_port1.csv", 0, "", "sent_port1.csv: the file is missing"),
    "no frames out": ("received_port3.csv", 0, "", "received_port3.csv: the file is missing"),
    "another header": ("sent_port1.csv", 1, "id,tick,flow", 'sent_port1.csv:1: the first line is "id,tick,flow"'),
    "no number": ("sent_port1.csv", 5, "zebra,TICK,long", 'sent_port1.csv:5: frame_id: "zebra" is not a whole number'),
    "no tick": ("sent_port1.csv", 5, "NUMBER,,long", 'sent_port1.csv:5: tick: "" is not'),
    "an absurd tick": ("received_port3.csv", 5, f"NUMBER,{1 << 60}", "received_port3.csv:5: tick: .* out of range"),
    "a value less": ("received_port3.csv", 5, "1", "received_port3.csv:5: 1 value; allowed: 2"),
    "a line cut off": ("sent_port1.csv", 5, "0x10000", "sent_port1.csv:5: 1 value; allowed: 3"),
    "a number cut off": ("sent_port1.csv", 5, "0x,TICK,long", 'frame_id: "0x" is not a whole number'),
    "a negative number": ("sent_port1.csv", 5, "-7,TICK,long", "frame_id: -7 is out of range; allowed: 0 to 1844"),
    "not a number": ("received_port3.csv", 5, "NUMBER,nan", 'tick: "nan" is not a whole number'),
    "infinite": ("received_port3.csv", 5, "NUMBER,inf", 'tick: "inf" is not a whole number'),
    "a fraction": ("received_port3.csv", 5, "NUMBER,1e3", 'tick: "1e3" is not a whole number'),
    "digits of another script": ("received_port3.csv", 5, "NUMBER,\u0663", "tick: .* is not a whole number"),
    "a number without end": ("received_port3.csv", 5, f"NUMBER,{'9' * 9999}", 'tick: "9{40}..." is not a whole'),
    "times out of order": (
        "sent_port1.csv",
        5,
        "NUMBER,-1,long",
        r"sent_port1.csv:5: tick: -1 is before \d+, the tick of the line",
    ),
    "departures out of order": ("received_port3.csv", 5, "NUMBER,9", r"_port3.csv:5: tick: 9 is before \d+, the tick"),
    "nothing": ("sent_port1.csv", 1, "", 'sent_port1.csv:1: the first line is ""'),
    "an unknown flow": ("sent_port1.csv", 5, "7,TICK,lung", 'sent_port1.csv:5: flow: .*"lung".*did you mean "long"'),
    "sent twice": ("sent_port1.csv", 3, "0x10000001,TICK,long", "sent_port1.csv:3: .* also in sent_port1.csv:2"),
    "never sent": ("received_port3.csv", 4, "0x7,TICK", "received_port3.csv:4: frame_id: .* was never sent"),
}


def instead(old: str, new: str) -> str:
    number, tick, *_ = old.strip().split(",")
    return new.replace("NUMBER", number).replace("TICK", tick)


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file(case: str, run: Path, replay: Replay) -> None:
    name, line, new, message = BAD_FILES[case]
    if line:
        change(run / name, line, lambda old: instead(old, new) + "\n")
    else:
        (run / name).unlink()
    refused(replay(run), message)


def test_departure_before_arrival(run: Path, replay: Replay) -> None:
    """No switch does this, and so it is no difference between two of them."""
    sent = ticks_of_sent(run / "sent_port1.csv")
    number, tick = next(iter(ticks_of(run / "received_port3.csv").items()))
    change(run / "received_port3.csv", 2, moved(sent[number] - 1 - tick))
    refused(
        replay(run), rf"received_port3.csv:2: tick: frame {number} left at tick -1, before it was sent .*allowed: 0 or"
    )


def test_two_departures_at_a_time(run: Path, replay: Replay) -> None:
    ticks = list(ticks_of(run / "received_port3.csv").values())
    line, gap = next((n, b - a) for n, (a, b) in enumerate(pairwise(ticks), 3) if b - a < 1_500)
    change(run / "received_port3.csv", line, moved(17 - gap))
    refused(replay(run), rf"received_port3.csv:{line}: tick: frame .* left 17 ticks after the one before")


def test_a_record_of_days(run: Path, replay: Replay) -> None:
    change(
        run / "sent_port1.csv",
        len((run / "sent_port1.csv").read_text().splitlines()),
        lambda t: re.sub(r",\d+,", ",281474976710000,", t),
    )
    refused(replay(run), r"the record is 2,251,[0-9,.]* s long; allowed: 3,600 s or less")


def test_a_byte_order_mark_and_other_ends_of_lines(run: Path, replay: Replay) -> None:
    for file in run.iterdir():
        file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    assert replay(run).status == 0


def test_a_pipe_in_place_of_a_file(run: Path, replay: Replay) -> None:
    (run / "received_port3.csv").unlink()
    os.mkfifo(run / "received_port3.csv")
    refused(replay(run), "received_port3.csv: is no file")


def test_frames_that_overlap(run: Path, replay: Replay) -> None:
    text = (run / "run.toml").read_text()
    (run / "run.toml").write_text(text.replace("tick_ns = 8", "tick_ns = 1"))
    write_ticks(run / "received_port3.csv", {})
    refused(replay(run), r"sent_port1.csv: .*begins \d+ byte times before the frame before it has ended")


def test_no_run(tmp_path: Path, replay: Replay) -> None:
    refused(replay(tmp_path / "nowhere"), "nowhere: is not a folder")


def refused(done: Done, message: str) -> None:
    assert (done.status, done.out) == (2, ""), done
    assert done.error.startswith("error: "), done
    assert done.error.count("\n") == 1
    assert re.search(message, done.error), done.error
