# SPDX-License-Identifier: Apache-2.0
"""Links that are cut, nodes that die and bits that flip: what is lost, what waits, and when it goes on. By hand.

A frame of 1000 B takes 8.064 us with its preamble and 8.16 us with its gap; a bridge has it ready 280 ns after its end.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import penstock as ps
from penstock.bound.way import bound
from penstock.errors import InputError
from penstock.report import figures, latency, style
from penstock.run import observe, statistics
from penstock.run import run as run_network
from penstock.scenario import load
from penstock.trace import NO_FRAME, NO_STREAM
from shaped import KINDS, MBPS, Bridge, begins, frames, gates

MODELS = KINDS[:2]
EVERY_100_US = 'every = "100us", count = 10'
TEN = frames("s", 1, 1000, 0, source=EVERY_100_US)
READY = [8_344 + 100_000 * n for n in range(10)]
# The hardware and its twin send the first bit four cycles after the selection.
SELECTED_NS = {"other maker": 0, "model": 32}
assert MBPS  # the helpers count in Mb/s


def fault(**keys: str) -> str:
    return "\n[[faults]]\n" + "\n".join(f"{key} = {value}" for key, value in keys.items()) + "\n"


def cut(a: str, b: str, at: str, until: str | None = None, **more: str) -> str:
    end = {} if until is None else {"until": f'"{until}"'}
    return fault(link=f'["{a}", "{b}"]', at=f'"{at}"', **end, **more)


def dead(node: str, at: str, until: str) -> str:
    return fault(node=f'"{node}"', at=f'"{at}"', until=f'"{until}"')


def drops(run: Bridge) -> list[tuple[str, str, int]]:
    """Node, reason and time in ns of each frame that was dropped."""
    rows = run.trace.filter(pl.col("event") == "dropped").sort("time_ps", "frame_id")
    return [(a, str(b), c // 1000) for a, b, c in rows.select("node", "reason", "time_ps").iter_rows()]


@pytest.mark.parametrize("kind", MODELS)
def test_frames_wait_until_a_link_is_back(tmp_path: Path, kind: str) -> None:
    run = Bridge(tmp_path, kind)
    sent = run("", TEN + cut("b", "listener", "250us", "550us"), duration="1ms")
    back = 550_000 + SELECTED_NS[kind]
    assert sent["s"] == [*READY[:3], back, back + 8_160, back + 16_320, *READY[6:]]
    assert drops(run) == []


@pytest.mark.parametrize("kind", MODELS)
def test_a_frame_on_the_wire_is_lost_when_the_link_is_cut(tmp_path: Path, kind: str) -> None:
    """The third is on it from 208.344 us to 216.408 us; a link that is back at once is free at once."""
    run = Bridge(tmp_path, kind)
    burst = frames("late", 1, 1000, 0, talker=1, source='start = "200us", every = "1s", count = 1').replace(
        '"0ns", start =', ""
    )
    sent = run("", TEN + burst + cut("listener", "b", "212us", "213us"), duration="1ms")
    assert drops(run) == [("b", "link_down", 212_000)]
    # What comes by another port at the same time is next, and begins when the link is back.
    assert sent["late"] == [213_000 + SELECTED_NS[kind]]
    assert len(sent["s"]) == 10


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("port", ["", 'gates = { entries = [{ open = "all", interval = "1ms" }] }\n'])
def test_a_station_waits_for_its_link(tmp_path: Path, kind: str, port: str) -> None:
    """Also one with gates. Frame 3 is on the wire from 200 us to 208.064 us."""
    stations = f'[stations.t9]\nat = "b.1"\n{port}'
    streams = TEN.replace('"t0"', '"t9"') + cut("t9", "b", "205us", "550us")
    run = Bridge(tmp_path, kind)
    text = streams + "\n" + stations
    with_station(run, text)
    sent = begins(run.trace, "t9")["s"]
    assert sent == [0, 100_000, 200_000, 550_000, 558_160, 566_320, 600_000, 700_000, 800_000, 900_000]
    assert drops(run) == [("t9", "link_down", 205_000)]


def with_station(run: Bridge, text: str) -> None:
    """Runs a bridge whose port 1 has a station of its own."""
    nodes = "rtl" if run.kind == "rtl" else "model"
    own = 'processing_delay = "280ns"\n' if run.kind == "other maker" else ""
    file = run.folder / "scenario.toml"
    file.write_text(
        f'name = "one"\nnodes = "{nodes}"\nduration = "1ms"\n[links]\ndelay = "0ns"\n'
        f'[bridges.b]\nports = 4\n{own}[stations]\nlistener = {{ at = "b.2" }}\n{text}'
    )
    result = ps.load(file).run()
    run.trace = result.trace.with_columns(pl.col("stream", "node", "event").cast(pl.String))
    assert result.summary["conservation"]["ok"]


@pytest.mark.parametrize("kind", MODELS)
def test_a_node_that_dies_loses_what_is_inside_and_on_its_wires(tmp_path: Path, kind: str) -> None:
    """Of three at once, one is through at 216.5 us, one is sent then, and one comes until 224.384 us."""
    run = Bridge(tmp_path, kind)
    three = frames("s", 1, 1000, 200_000, source='every = "1s", burst = 3')
    later = frames("later", 1, 1000, 300_000)
    sent = run("", three + later + dead("b", "220us", "400us"), duration="1ms")
    assert sorted(drops(run)) == [("b", "node_down", 220_000), ("t0", "node_down", 220_000)]
    # What is released meanwhile waits for its link, and passes the bridge as it is configured.
    assert begins(run.trace, "t0")["later"] == [400_000]
    assert sent["later"] == [408_344]


@pytest.mark.parametrize("kind", MODELS)
def test_what_waits_in_a_node_is_lost_with_it(tmp_path: Path, kind: str) -> None:
    """Two wait behind a gate that opens at 500 us, when what comes after the node's return passes it."""
    run = Bridge(tmp_path, kind)
    sent = run(
        gates([([7], 500_000), ([1], 500_000)]),
        TEN.replace("count = 10", "count = 4") + dead("b", "150us", "160us"),
        duration="1ms",
    )
    assert drops(run) == [("b", "node_down", 150_000)] * 2
    opens = 500_000 + (0 if kind == "other maker" else sent["s"][0] - 500_000)
    assert sent["s"] == [opens, opens + 8_160]
    assert opens - 500_000 < 100


@pytest.mark.parametrize("kind", MODELS)
def test_a_node_forgets_what_it_has_learnt(tmp_path: Path, kind: str) -> None:
    """It has seen the listener until it dies; then it floods to three ports."""
    back = (
        frames("back", 1, 100, 0)
        .replace('from = "t0"', 'from = "listener"')
        .replace('to = ["listener"]', 'to = ["t0"]')
    )
    run = Bridge(tmp_path, kind)
    two = TEN.replace("count = 10", "count = 3")
    everyone = 'vlans.10 = ["t0", "t1", "listener", "t3"]'
    run(f'forwarding = "learned"\n{everyone}', back + two + dead("b", "150us", "160us"), duration="1ms")
    rows = run.trace.filter((pl.col("event") == "sent") & (pl.col("node") == "b") & (pl.col("stream") == "s"))
    ports = {key[0]: sorted(of["port"].to_list()) for key, of in rows.partition_by("frame_id", as_dict=True).items()}
    assert list(ports.values())[1:] == [[2], [1, 2, 3]]


@pytest.mark.parametrize("shaped", ["", 'gates = { entries = [{ open = "all", interval = "1ms" }] }\n'])
@pytest.mark.parametrize(("source", "sent"), [(EVERY_100_US, 7), ("back_to_back = true, count = 50", 50)])
def test_a_dead_station_releases_nothing(tmp_path: Path, shaped: str, source: str, sent: int) -> None:
    """Those of 300, 400 and 500 us are never made; one that always has a frame goes on with the next."""
    run = Bridge(tmp_path, "model")
    stream = frames("s", 1, 1000, 0, source=source).replace('"t0"', '"t9"')
    with_station(run, stream + dead("t9", "250us", "550us") + f'\n[stations.t9]\nat = "b.1"\n{shaped}')
    created = run.trace.filter(pl.col("event") == "created")
    assert created.height == sent
    quiet = created.filter(pl.col("time_ps").is_between(250_000_000, 550_000_000, closed="left"))
    assert quiet.height == 0
    assert begins(run.trace, "t9")["s"][3 if sent == 7 else 31] in (600_000, 550_000)


def test_what_a_dead_station_holds_is_lost(tmp_path: Path) -> None:
    """Of ten at once one is sent and one is on the wire after 10 us; software has an eleventh."""
    run = Bridge(tmp_path, "model")
    ten = frames("s", 1, 1000, 0, source='every = "1s", burst = 10').replace('"t0"', '"t9"')
    slow = frames("slow", 1, 100, 0, source='every = "1s", software = { delay = { values = ["20us"] } }').replace(
        '"t0"', '"t9"'
    )
    with_station(run, ten + slow + dead("t9", "10us", "50us") + '\n[stations.t9]\nat = "b.1"\n')
    assert drops(run) == [("t9", "node_down", 10_000)] * 10


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_whose_bits_flip_is_dropped_by_the_next_receiver(tmp_path: Path, kind: str) -> None:
    """At a rate of one, all whose first bit is sent meanwhile: those of 300, 400 and 500 us."""
    run = Bridge(tmp_path, kind)
    sent = run("", TEN + cut("t0", "b", "250us", "550us", bit_error_rate="1.0"), duration="1ms")
    assert [(node, reason) for node, reason, _ in drops(run)] == [("b", "fcs")] * 3
    assert sent["s"] == [*READY[:3], *READY[6:]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_listener_sees_the_fcs_too(tmp_path: Path, kind: str) -> None:
    """With its last bit: 8 ns a byte after the first, which leaves 64 ns after its preamble."""
    run = Bridge(tmp_path, kind)
    run("", TEN + cut("b", "listener", "250us", "350us", bit_error_rate="1"), duration="1ms")
    assert drops(run) == [("listener", "fcs", READY[3] + 64 + 8_000)]
    summary = observe(load(tmp_path))[0]
    assert (summary["conservation"]["ok"], summary["streams"]["s"]["dropped"]) == (True, {"fcs": 1})


def by_chance(seed: int | None) -> dict[str, Any]:
    more = {} if seed is None else {"seed": seed}
    return {
        "name": "chance",
        "nodes": "model",
        "duration": "100ms",
        "bridges": {"b": {"ports": 2}},
        "stations": {"t": {"at": "b.0"}, "z": {"at": "b.1"}},
        "streams": {"s": {"from": "t", "to": ["z"], "source": {"frames": "1000B", "every": "10us"}}},
        "faults": [{"link": ["t", "b"], "bit_error_rate": 1e-5} | more],
    }


def test_as_many_frames_are_hit_as_chance_has_it(tmp_path: Path) -> None:
    """1 - (1 - 1e-5)^8000 of 10,000: 769, with a deviation of 27. The same by trace and by what the engine counted."""
    traced = ps.load(by_chance(7)).run(out=tmp_path / "run").summary["streams"]["s"]["dropped"]
    assert abs(traced["fcs"] - 769) < 5 * 27
    network = load(by_chance(7))
    counted = [statistics(network)["streams"]["s"]["dropped"] for _ in range(2)]
    assert counted == [traced, traced]
    assert statistics(load(by_chance(8)))["streams"]["s"]["dropped"] != traced
    assert statistics(network, seed=3)["streams"]["s"]["dropped"] != traced


@pytest.mark.parametrize("kind", MODELS)
def test_what_waits_for_a_link_that_never_comes_back_is_inside(tmp_path: Path, kind: str) -> None:
    run = Bridge(tmp_path, kind)
    run("", TEN + cut("b", "listener", "250us"), duration="1ms")
    summary = run_network(load(tmp_path), tmp_path / "run").summary
    stream = summary["streams"]["s"]
    assert (stream["delivered"], stream["inside"], stream["dropped"]) == (3, 7, {})
    assert summary["conservation"]["ok"]
    (told,) = summary["faults"]
    assert told["said"] == 'the link of "b" and "listener" is down from 250 us on'
    assert told["said"].replace('"', "&#34;") in (tmp_path / "run" / "report.html").read_text()


def test_no_bound_beside_an_outage_or_on_a_link_with_bit_errors(tmp_path: Path) -> None:
    ats = frames("s", 7, 100, 0, more='ats = { rate = "8Mb/s", burst = "120B" }\n')
    other = frames("other", 7, 100, 0, talker=1, more='ats = { rate = "8Mb/s", burst = "120B" }\n')
    run = Bridge(tmp_path, "model")
    run("", ats + other + cut("t0", "b", "1us", "2us", bit_error_rate="1e-9"))
    network = load(tmp_path)
    assert bound(network, "s").reason == (
        'the link of "t0" and "b" flips 1e-09 of its bits from 1 us to 2 us (faults), '
        "and frames that are hit are dropped; without it there may be a bound"
    )
    assert bound(network, "other").total_ps is not None
    run("", ats + other + cut("t0", "b", "1us", "2us"))
    assert bound(load(tmp_path), "other").reason == (
        'it meets streams that wait while the link of "t0" and "b" is down from 1 us to 2 us (faults); '
        "without it there may be a bound"
    )


@pytest.mark.parametrize(
    ("text", "key", "what", "allowed"),
    [
        (cut("t0", "x", "1us"), "faults[0].link[1]", 'there is no node "x"', "b, t0"),
        (cut("t0", "t1", "1us"), "faults[0].link", 'no link joins "t0" and "t1"', "b"),
        (fault(link='"up"'), "faults[0].link", 'there is no link "up"', "no link is there"),
        (fault(link="3"), "faults[0].link", "3 is no link", '["plc", "sw"]'),
        (fault(node='"bb"'), "faults[0].node", 'there is no node "bb" (did you mean "b"?)', "b, t0"),
        (fault(at='"1us"'), "faults[0]", "is of a link or of a node", 'link = ["plc", "sw"], or node = "sw"'),
        (fault(node='"b"', bit_error_rate="0.1"), "faults[0].bit_error_rate", "bits flip on a link", "instead of node"),
        (cut("t0", "b", "1us", bit_error_rate="0.0"), "faults[0].bit_error_rate", "0.0 is no part", "1e-15 to 1"),
        (
            cut("t0", "b", "1us", bit_error_rate="true"),
            "faults[0].bit_error_rate",
            "true is not a number",
            "1e-15 to 1",
        ),
        (cut("t0", "b", "1us", seed="3"), "faults[0].seed", "only bit errors are by chance", "bit_error_rate"),
        (cut("t0", "b", "2us", "2us"), "faults[0].until", "is not after its begin", "a later time"),
        (
            cut("t0", "b", "1us", "3us") + cut("b", "t0", "2us"),
            "faults[1].at",
            "from 1 us to 3 us, which overlaps",
            "one",
        ),
        (dead("b", "5us", "7us") + dead("b", "1us", "6us"), "faults[0].at", '"b" is down from 1 us to 6 us', "one"),
        (cut("t0", "b", "1us", speed='"1Gb/s"'), "faults[0].speed", 'unknown key "speed"', "at, until, link"),
    ],
)
def test_faults_that_are_none(tmp_path: Path, text: str, key: str, what: str, allowed: str) -> None:
    with pytest.raises(InputError) as refused:
        Bridge(tmp_path, "model")("", TEN + text)
    (error,) = refused.value.errors
    assert error.key == key
    assert what in error.what
    assert allowed in (error.allowed or "")


def test_hardware_does_not_die_and_linux_is_not_broken(tmp_path: Path) -> None:
    Bridge(tmp_path, "model")("", TEN + dead("b", "1us", "2us"))
    for nodes, key, what in (
        ("rtl", "faults[0].node", '"b" is hardware, whose power is not switched off here'),
        ("linux", "faults[0]", "real Linux is not broken by a scenario"),
    ):
        with pytest.raises(InputError) as refused:
            load(tmp_path, nodes=nodes)
        (error,) = [each for each in refused.value.errors if (each.key or "").startswith("faults")]
        assert (error.key, error.what) == (key, what)


def test_a_fault_after_the_run_is_told(tmp_path: Path) -> None:
    Bridge(tmp_path, "model")("", TEN + cut("t0", "b", "3ms"))
    (warning,) = [each for each in load(tmp_path).warnings if each.key.startswith("faults")]
    assert warning.key == "faults[0].at"
    assert warning.what == "begins at 3 ms, and the run lasts 3 ms"


def drawn(seed: int) -> dict[str, Any]:
    """A ring of shaped bridges, of any make, on which everything breaks again and again."""
    draw = random.Random(seed)
    gates = {"entries": [{"open": [7, 6, 5], "interval": "40us"}, {"open": "all", "interval": "60us"}]}
    bridges: dict[str, Any] = {}
    for name in ("b0", "b1", "b2"):
        bridge: dict[str, Any] = {"ports": 4, "classes": {"5": {"selection": "cbs", "idle_slope": "20Mb/s"}}}
        bridge |= draw.choice([{}, {"gates": gates}])
        bridge |= draw.choice(
            [
                {},
                {"processing_delay": "2us"},
                {"processing_delay": "1us", "switching": "cut_through"},
                {"switching": "cut_through", "cut_through_header": "20B"},
            ]
        )
        bridges[name] = bridge
    stations = {f"s{n}": {"at": f"b{n % 3}.{n // 3}"} | draw.choice([{}, {"gates": gates}]) for n in range(6)}
    streams = {}
    for n in range(8):
        talker, *heard = draw.sample(range(6), draw.choice([2, 3]))
        pcp = draw.choice([0, 3, 5, 7])
        timing: dict[str, Any] = draw.choice(
            [{"every": "40us"}, {"every": "200us", "burst": 5}, {"back_to_back": True}]
        )
        software: dict[str, Any] = (
            {"software": {"delay": {"uniform": "30us"}}} if "every" in timing and draw.random() < 0.3 else {}
        )
        stream: dict[str, Any] = {
            "from": f"s{talker}",
            "to": [f"s{each}" for each in heard],
            "vlan": 10,
            "pcp": pcp,
            "source": {"frames": f"{draw.choice([64, 500, 1500])}B"} | timing | software,
        }
        if pcp == 3 and "every" in timing:
            stream["ats"] = {"rate": "20Mb/s", "burst": "3kB"}
        streams[f"f{n}"] = stream
    places: list[dict[str, Any]] = [{"node": name} for name in (*bridges, *stations)]
    places += [{"link": [a, b]} for a, b in (("b0", "b1"), ("b1", "b2"), ("s0", "b0"), ("s1", "b1"), ("b2", "s2"))]
    places += [{"link": ["b2", "b0"], "bit_error_rate": 1e-5}, {"link": ["s4", "b1"], "bit_error_rate": 1e-3}]
    faults = []
    for place in draw.sample(places, 8):
        at = draw.randrange(900)
        ends = at + draw.randrange(1, 90)
        faults.append(place | {"at": f"{at}us", "until": f"{ends}us"})
        if draw.random() < 0.3:
            faults.append(place | {"at": f"{ends}us"} | draw.choice([{}, {"until": f"{ends + 7}us"}]))
    return {
        "name": "broken",
        "nodes": "model",
        "duration": "1ms",
        "bridges": bridges,
        "links": {f"l{n}": {"between": [f"b{n}.2", f"b{(n + 1) % 3}.3"]} for n in range(3)},
        "stations": stations,
        "streams": streams,
        "faults": faults,
    }


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_lost_without_a_reason(seed: int) -> None:
    """A frame that is nowhere, twice or stuck fails the run; the trace says the same as what was counted."""
    network = load(drawn(seed))
    summary, view = observe(network)
    assert summary["conservation"]["ok"]
    counted = statistics(network)
    for name, stream in summary["streams"].items():
        same = ("sent", "delivered", "inside", "dropped")
        assert {key: counted["streams"][name][key] for key in same} == {key: stream[key] for key in same}
    dropped = view.trace.filter(pl.col("event") == "dropped")
    assert dropped.height
    down = [fault for fault in network.faults if fault.kind == "node_down"]
    for fault in down:
        until = fault.until_ps or network.duration_ps * 100
        acted = view.trace.filter((pl.col("node") == fault.place) & (pl.col("event") != "dropped"))
        # A frame that is sent or received meanwhile had begun before.
        begun = acted.filter(pl.col("event").is_in(["created", "queued"]))
        assert not begun.filter(pl.col("time_ps").is_between(fault.at_ps, until, closed="none")).height


@pytest.mark.parametrize("kind", MODELS)
def test_the_trace_says_when_each_fault_begins_and_ends(tmp_path: Path, kind: str) -> None:
    """Of a link at both its ends, of a node once; what would come when all is silent does not come."""
    run = Bridge(tmp_path, kind)
    broken = (
        cut("b", "listener", "250us", "550us")
        + cut("b", "listener", "550us", "600us")
        + dead("b", "700us", "710us")
        + cut("t1", "b", "100us", "900us", bit_error_rate="1e-12")
        + cut("t0", "b", "800us")
        + cut("t3", "b", "900us", "3ms")
    )
    run("", TEN + broken, duration="1ms")
    rows = run.trace.filter(pl.col("event").is_in(["fault_begin", "fault_end"]))
    assert rows["frame_id"].unique().to_list() == [NO_FRAME]
    assert rows["stream"].unique().to_list() == [NO_STREAM]
    assert rows["bytes"].unique().to_list() == [0]
    told = [
        (time // 1_000_000, node, port, event.removeprefix("fault_"), str(reason))
        for time, node, port, event, reason in rows.select("time_ps", "node", "port", "event", "reason").iter_rows()
    ]
    assert told == [
        (100, "b", 1, "begin", "bit_errors"),
        (100, "t1", 0, "begin", "bit_errors"),
        (250, "b", 2, "begin", "link_down"),
        (250, "listener", 0, "begin", "link_down"),
        (550, "b", 2, "end", "link_down"),
        (550, "listener", 0, "end", "link_down"),
        (550, "b", 2, "begin", "link_down"),
        (550, "listener", 0, "begin", "link_down"),
        (600, "b", 2, "end", "link_down"),
        (600, "listener", 0, "end", "link_down"),
        (700, "b", 0, "begin", "node_down"),
        (710, "b", 0, "end", "node_down"),
        (800, "b", 0, "begin", "link_down"),
        (800, "t0", 0, "begin", "link_down"),
        (900, "b", 1, "end", "bit_errors"),
        (900, "t1", 0, "end", "bit_errors"),
        (900, "b", 3, "begin", "link_down"),
        (900, "t3", 0, "begin", "link_down"),
    ]


def test_faults_are_marked_in_the_report(tmp_path: Path) -> None:
    """From 0.25 to 0.55 ms, and from 0.9 ms to the end; the one that never began is not drawn."""
    Bridge(tmp_path, MODELS[0])(
        "",
        TEN
        + cut("b", "listener", "250us", "550us")
        + cut("t3", "b", "900us")
        + cut("t1", "b", "2ms", bit_error_rate="1e-9"),
        duration="1ms",
    )
    summary, view = observe(load(tmp_path / "scenario.toml"))
    looks = style.looks(list(summary["streams"]))
    arrived = latency.delivered(view, summary)
    pictures = {each.title: each for each in figures.of_frames(view, arrived, summary, looks)}
    for title in ("Latency over time", "Queue depth"):
        shapes = [(s["x0"], s["x1"]) for s in pictures[title].figure.to_dict()["layout"]["shapes"] if "x0" in s]
        assert shapes == [(0.25, 0.55), (0.9, 1.0)]
        assert "Shaded: while a fault lasts." in pictures[title].note


def test_rows_of_faults_can_be_left_out() -> None:
    network = drawn(3) | {"trace": {"events": ["fault_end"], "nodes": ["b0", "s0"]}}
    _, view = observe(load(network))
    assert set(view.trace["event"].cast(pl.String)) <= {"fault_end"}
    assert set(view.trace["node"].cast(pl.String)) <= {"b0", "s0"}
