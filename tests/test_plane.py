# SPDX-License-Identifier: Apache-2.0
"""The data plane on interfaces of namespaces: real frames, real time, and what goes wrong."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.cli import app
from penstock.errors import InputError, MachineError
from penstock.plane import show
from penstock.plane.binary import PROGRAM
from penstock.plane.control import Control
from plane_bench import Bench, between, config, frame, numbers
from program import invoke
from rights import needs_namespaces


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with between(tmp_path) as made:
        yield made


@needs_namespaces
def test_frames_pass_in_order_and_at_the_rate_of_the_port(bench: Bench) -> None:
    with bench.plane(config()) as control:
        for number in range(40):
            bench.outside["p0"].send(frame(3, number))
        began = time.monotonic()
        assert numbers(bench.outside["p1"], 40) == list(range(40))
        took = time.monotonic() - began
        told = control.ask("counters")["ports"]["b"]
    least = 39 * 1020 * 8 / 15e6
    assert 0.8 * least < took < least + 0.5, "paced as a link of 15 Mb/s"
    assert told["sent_of_class"][3]["frames"] == 40
    assert bench.said["ports"]["b"]["sent"]["frames"] == 40


@needs_namespaces
def test_a_full_queue_drops_and_says_so(bench: Bench) -> None:
    with bench.plane(config()) as control:
        control.ask("limit", port="b", **{"class": 3}, frames=10)
        for number in range(60):
            bench.outside["p0"].send(frame(3, number))
        came = numbers(bench.outside["p1"], 60)
        level = control.ask("occupancy")["ports"]["b"][3]
        told = control.ask("counters")["ports"]["b"]
    assert len(came) + told["dropped"]["queue_full"] == 60
    assert came[:10] == list(range(10))
    assert came == sorted(came)
    assert (level["most"], level["frames"]) == (10, 0)
    assert level["integral_frame_ns"] > 10 * 544e3, "each of the first ten waits for those before it"


GATES = {
    5: {"cycle_time": "5ms", "entries": [{"open": [3], "interval": "3.5ms"}, {"open": [2], "interval": "1.5ms"}]},
    10: {"cycle_time": "10ms", "entries": [{"open": [3], "interval": "7ms"}, {"open": [2], "interval": "3ms"}]},
}


@needs_namespaces
def test_a_gate_list_changes_under_load_without_a_frame_lost_or_in_a_closed_gate(bench: Bench) -> None:
    trace = bench.folder / "trace.csv"
    lists: list[tuple[int, int]] = []
    count = 700
    with bench.plane(config(tolerance="100us"), "--trace", str(trace)) as control:
        control.ask("limit", port="b", **{"class": 3}, frames=count)
        control.ask("limit", port="b", **{"class": 2}, frames=count)
        for number in range(count):
            bench.outside["p0"].send(frame(2 + number % 2, number))
        for change in range(20):
            cycle = 5 if change % 2 else 10
            since = control.ask("gates", port="b", gates=GATES[cycle])["config_change_time_tai_ns"]
            lists.append((since, cycle))
            while time.clock_gettime_ns(time.CLOCK_TAI) <= since:
                time.sleep(0.001)
        came = numbers(bench.outside["p1"], count)
    assert sorted(came) == list(range(count))
    left = bench.said["ports"]["b"]
    assert (left["dropped"], left["departures"]["outside"]) == ({}, 0)
    _check_gates(trace, lists)


def _check_gates(trace: Path, lists: list[tuple[int, int]]) -> None:
    """Each departure in its window, by the list that held then, as an independent look at the times says."""
    rows = [line.split(",") for line in trace.read_text().splitlines()[1:]]
    sent = [(int(row[4]), int(row[6])) for row in rows if row[0] == "sent" and row[1] == "b"]
    assert len(sent) == 700
    for at, traffic_class in sent:
        held = [(since, cycle) for since, cycle in lists if since <= at]
        if not held:
            continue  # before the first list all gates are open
        since, cycle = max(held)
        in_cycle = (at - since) % (cycle * 10**6)
        is_first = in_cycle < cycle * 10**6 * 7 // 10
        assert traffic_class == (3 if is_first else 2), (at, traffic_class, in_cycle)
    assert sent[-1][0] > lists[-1][0], "the load lasts longer than the changes"


@needs_namespaces
def test_rules_lead_frames_and_are_replaced_whole(bench: Bench) -> None:
    rules = [{"match": {"vlan": 10, "port": "a"}, "to": ["b"], "queue": 7, "tag": {"set": {"vlan": 20, "pcp": 6}}}]
    with bench.plane(config(table=rules)) as control:
        bench.outside["p0"].send(frame(3, 1))
        data, ancillary, *_ = bench.outside["p1"].recvmsg(2048, 256)
        assert int.from_bytes(data[14:18], "big") == 1
        assert int.from_bytes(ancillary[0][2][16:18], "little") == 6 << 13 | 20
        control.ask("table", table=[{"drop": True}])
        bench.outside["p0"].send(frame(3, 2))
        time.sleep(0.1)
        told = control.ask("counters")["ports"]
    assert told["b"]["sent_of_class"][7]["frames"] == 1
    assert told["a"]["dropped"] == {"rule": 1}


@needs_namespaces
def test_what_is_refused_says_what_is_allowed_and_the_plane_goes_on(bench: Bench) -> None:
    with bench.plane(config()) as control:
        asked: list[tuple[str, dict[str, Any], str]] = [
            ("gates", {"port": "c", "gates": GATES[5]}, "a, b"),
            ("gates", {"port": "b", "gates": {"entries": []}}, "1 to 1024"),
            ("gates", {"port": "b", "gates": {"entries": [{"open": [9], "interval": "1ms"}]}}, "0 to 7"),
            ("gates", {"port": "b", "gates": {"entries": [{"open": "all", "interval": "10ns"}]}}, "1000 or more"),
            ("gates", {"port": "b", "gates": {**GATES[5], "cycle_time": "1ms"}}, "no more than the cycle"),
            ("limit", {"port": "b", "class": 8, "frames": 1}, "0 to 7"),
            ("table", {"table": [{"to": ["x"]}]}, "a, b"),
            ("dance", {}, "a line of JSON as docs/plane.md has it"),
        ]
        for what, details, allowed in asked:
            with pytest.raises(InputError) as refused:
                control.ask(what, **details)
            assert refused.value.allowed == allowed, what
        bench.outside["p0"].send(frame(3, 5))
        assert numbers(bench.outside["p1"], 1) == [5]


@needs_namespaces
def test_hostile_bytes_are_counted_or_answered(bench: Bench) -> None:
    with bench.plane(config(), "--port", "a=packet") as control:
        path = bench.folder / "control"
        for data in (
            b"\0" * 5000 + b"\n",
            b'{"do":"counters"',
            b"[" * 200_000 + b"\n",
            b"\n" * 10,
            b"\xff" * 9 + b"\n",
        ):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as raw:
                raw.connect(str(path))
                raw.settimeout(5)
                raw.sendall(data)
                raw.shutdown(socket.SHUT_WR)
                told = json.loads(raw.makefile("rb").readline())
                assert (told["ok"], told["error"]["allowed"] != "") == (False, True)
        outside = bench.outside["p0"]
        outside.send(b"\x02" * 14)  # nothing but a header
        outside.send(bytes.fromhex("0180c2000000") + b"\x02" * 60)
        outside.send(b"\x02" * 12 + b"\x08\x00\x4f\x00")  # a header of IPv4 that is cut off
        bench.run("ip", "link", "set", "out-p0", "mtu", "4000")
        bench.run("ip", "link", "set", "p0", "mtu", "4000")
        outside.send(frame(3, 1, 3000))
        outside.send(frame(3, 2))
        assert 2 in numbers(bench.outside["p1"], 3)
        told = control.ask("counters")["ports"]["a"]
    assert told["dropped"] == {"giant": 1, "reserved_address": 1, "no_destination": 1}, "one was to its own sender"
    assert told["received"]["frames"] == 5


@needs_namespaces
def test_an_interface_that_goes_and_comes_back_is_a_port_again(bench: Bench) -> None:
    with bench.plane(config()) as control:
        bench.run("ip", "link", "set", "p1", "down")
        _until(lambda: _sends_and_is(bench, control, down=True))
        assert control.ask("counters")["ports"]["b"]["dropped"]["link_down"] >= 1
        bench.run("ip", "link", "set", "p1", "up")
        _until(lambda: not control.ask("counters")["ports"]["b"]["down"])
        bench.outside["p0"].send(frame(3, 77))
        assert 77 in numbers(bench.outside["p1"], 1)
        bench.run("ip", "link", "del", "p1")
        _until(lambda: _sends_and_is(bench, control, down=True))
        assert control.ask("counters")["ports"]["a"]["down"] is False


def _sends_and_is(bench: Bench, control: Control, *, down: bool) -> bool:
    bench.outside["p0"].send(frame(3, 0))
    return bool(control.ask("counters")["ports"]["b"]["down"] is down)


def _until(holds: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 5
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.05)


@needs_namespaces
def test_the_interface_of_the_default_route_is_not_taken_without_a_word(bench: Bench) -> None:
    bench.run("ip", "address", "add", "192.0.2.1/24", "dev", "p0")
    bench.run("ip", "route", "add", "default", "via", "192.0.2.2")
    file = bench.folder / "plane.json"
    file.write_text(json.dumps(config()))
    command = bench.command(str(PROGRAM.build()), "--config", str(file))
    done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    assert (done.returncode, "default route leads by it; allowed: another one, or --yes" in done.stderr) == (2, True)
    with bench.plane(config(), "--yes") as control:
        assert control.ask("counters")["ok"]


@needs_namespaces
def test_the_commands_ask_and_change_a_plane(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bench.folder)
    Path("gates.toml").write_text('cycle_time = "5ms"\nentries = [{ open = [3], interval = "5ms" }]\n')
    Path("rules.toml").write_text("[[table]]\nmatch = { vlan = 10 }\nqueue = 7\n")
    with bench.plane(config()):
        where = ["--socket", str(bench.folder / "control")]
        said = invoke(app, ["plane", "gates", "b", "gates.toml", *where])
        assert (said.status, said.stdout.startswith("b: the list takes over at ")) == (0, True), said.output
        assert invoke(app, ["plane", "table", "rules.toml", *where]).stdout == "1 rules act\n"
        assert invoke(app, ["plane", "limit", "b", "3", "5", *where]).status == 0
        said = invoke(app, ["plane", "counters", "--json", *where])
        assert json.loads(said.stdout)["ports"]["b"]["limits"][3] == 5
        said = invoke(app, ["plane", "counters", "--prometheus", *where])
        assert 'penstock_plane_queue_limit_frames{port="b",class="3"} 5' in said.stdout.splitlines()
        bench.outside["p0"].send(frame(3, 0))
        picture = bench.folder / "watch.svg"
        said = invoke(app, ["plane", "watch", "--views", "1", "--every", "100", "--picture", str(picture), *where])
        drawn = picture.read_text()
        assert drawn.startswith("<svg")
        assert "missed" in drawn
        assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "").replace("https://www.textualize.io", "")
        assert (said.status, "b: 15 Mb/s, cycle of 5 ms" in said.stdout) == (0, True), said.output
        said = invoke(app, ["plane", "gates", "x", "gates.toml", *where])
        assert (said.status, "allowed: a, b" in said.output) == (2, True)


def test_without_a_plane_the_commands_say_so(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="no plane answers"):
        Control(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("ports = []", "ports: 0 ports; allowed: 2 to 64"),
        ('[[ports]]\ninterface = "x"\nrate = "1Mb"', 'a rate as "15Mb/s"'),
        ("tolerance = 5\n[[ports]]\ninterface = 'x'\nrate = 1000000\n[[ports]]\ninterface = 'y'\nrate = 1000000",
         "tolerance: 5 ns; allowed: 1us to 1s"),
        ("what = 1", "unknown field `what`"),
        ("x", "allowed: TOML"),
    ],
)  # fmt: skip
def test_a_file_that_is_wrong_is_refused(tmp_path: Path, told: str, said: str) -> None:
    file = tmp_path / "plane.toml"
    file.write_text(told)
    done = invoke(app, ["plane", "run", str(file)])
    assert (done.status, said in done.output) == (2, True), done.output


def test_the_mean_of_a_queue_is_its_integral_over_the_time() -> None:
    def told(time_ns: int, integral: int) -> dict[str, Any]:
        return {"time_ns": time_ns, "ports": {"b": [{"integral_frame_ns": integral}]}}

    assert show.mean_occupancy(told(100, 0), told(300, 500), "b", 0) == 2.5


def test_the_bar_of_a_gate_is_open_where_its_list_says() -> None:
    gates = {"since_tai_ns": 0, "cycle_time_ns": 60, "entries": [(1, 45), (2, 15)]}
    port = {"gates": gates, "gate_states": 1}
    assert show.gate_bar(port, 0, 10).plain == "█" * 45 + "·" * 15
    assert show.gate_bar(port, 1, 10).plain == "·" * 45 + "█" * 15


@needs_namespaces
def test_the_benchmark_says_what_frames_cost_and_how_late_gates_are() -> None:
    said = invoke(app, ["bench", "plane", "--rounds", "1", "--seconds", "0.1", "--json"])
    rows = {row["id"]: row for row in json.loads(said.stdout)["rows"]}
    for family in ("xdp", "packet"):
        assert rows[f"{family}_64"]["measured"] > 10_000
        assert rows[f"passed_{family}_64"]["measured"] > 99
        assert rows[f"ratio_{family}_1500"]["measured"] > 0
    assert {name for name, row in rows.items() if "goal" in row} == {"xdp_64", "gate_error_xdp_p99"}
    meets = rows["xdp_64"]["measured"] >= 400_000 and rows["gate_error_xdp_p99"]["measured"] <= 20
    assert said.status == (0 if meets else 1)


@needs_namespaces
def test_a_random_mix_is_counted_frame_by_frame() -> None:
    said = invoke(app, ["bench", "plane", "--soak", "1", "--seed", "7", "--json"])
    rows = {row["id"]: row for row in json.loads(said.stdout)["rows"]}
    assert (said.status, rows["offered"]["measured"] > 100, rows["passed"]["measured"] > 10) == (0, True, True), rows
