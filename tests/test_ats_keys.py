# SPDX-License-Identifier: Apache-2.0
"""What a scenario says of ATS schedulers beside rate and burst of a stream: eligibility computed by hand."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

import penstock as ps
from penstock.bound.analysis import analyse
from penstock.bound.way import bound, ways_of
from penstock.errors import InputError
from penstock.scenario import load
from shaped import KINDS, Bridge, frames

MODELS = KINDS[:2]


def gaps(times: list[int]) -> list[int]:
    return [b - a for a, b in pairwise(times)]


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(("overhead", "gap_ns"), [("-18B", 100_000), ("0B", 118_000), ("20B", 138_000)])
def test_a_scheduler_may_count_the_payload_only(tmp_path: Path, kind: str, overhead: str, gap_ns: int) -> None:
    """Frames of 118 B at 8 Mb/s, a byte in 1 us; the burst is what is counted of one frame."""
    counted = gap_ns // 1000
    sent = Bridge(tmp_path, kind)(
        f'overhead = "{overhead}"',
        frames(
            "s", 7, 118, 0, source='every = "1s", burst = 3', more=f'ats = {{ rate = "8Mb/s", burst = "{counted}B" }}'
        ),
    )
    assert gaps(sent["s"]) == [gap_ns, gap_ns]


def test_hardware_counts_whole_frames(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        Bridge(tmp_path, "rtl")('overhead = "-18B"', frames("s", 1, 118, 0))
    assert refused.value.key == "bridges.b.overhead"
    assert refused.value.allowed == '0B to 255B, or nodes = "model"'
    assert load(tmp_path, nodes="model").bridges["b"].overhead_bytes == -18


SHARED = '[schedulers.cameras]\nrate = "8Mb/s"\nburst = "120B"\n'


def member(name: str, released: int, talker: int = 0) -> str:
    """A frame of 100 B, 120 B on the wire, which 8 Mb/s earn in 120 us."""
    return frames(name, 7, 100, released, talker=talker, more='scheduler = "cameras"')


@pytest.mark.parametrize("kind", KINDS)
def test_streams_that_name_a_scheduler_share_its_rate(tmp_path: Path, kind: str) -> None:
    """Three at once: each waits until the burst is earned again; a stream with a rate of its own would not."""
    sent = Bridge(tmp_path, kind)("", SHARED + member("a", 0) + member("b", 10_000) + member("c", 20_000))
    first = sent["a"][0]
    assert [sent[name][0] - first for name in "abc"] == [0, 120_000, 240_000]


@pytest.mark.parametrize("kind", KINDS)
def test_each_reception_port_has_its_own_of_a_shared_scheduler(tmp_path: Path, kind: str) -> None:
    sent = Bridge(tmp_path, kind)("", SHARED + member("a", 0) + member("b", 10_000) + member("c", 20_000, talker=1))
    first = sent["a"][0]
    assert [sent[name][0] - first for name in "abc"] == [0, 120_000, 20_000]


def two_bridges(more: str) -> str:
    """Bursts of two from t over s1 and s2: at 8 Mb/s 120 us apart, at 4 Mb/s 240 us."""
    return f"""
name = "two"
nodes = "model"
duration = "2ms"
[bridges]
s1 = {{ ports = 2 }}
s2 = {{ ports = 2 }}
[links]
up = {{ between = ["s1.1", "s2.0"] }}
[stations]
t = {{ at = "s1.0" }}
z = {{ at = "s2.1" }}
[streams.s]
from = "t"
to = ["z"]
vlan = 10
pcp = 3
source = {{ frames = "100B", burst = 2, every = "1s" }}
{more}
"""


@pytest.mark.parametrize(
    "more",
    [
        'ats = { rate = "8Mb/s", burst = "120B", at.s2 = { rate = "4Mb/s", burst = "120B" } }',
        'scheduler = "x"\n[schedulers.x]\nrate = "8Mb/s"\nburst = "120B"\nat.s2 = { rate = "4Mb/s", burst = "120B" }',
    ],
    ids=["own", "shared"],
)
def test_a_rate_may_be_another_at_a_bridge(tmp_path: Path, more: str) -> None:
    (tmp_path / "scenario.toml").write_text(two_bridges(more))
    trace = ps.load(tmp_path).run(out=tmp_path / "run").trace.with_columns(pl.col("event", "node").cast(pl.String))
    eligible = trace.filter(pl.col("event") == "eligible").sort("time_ps")
    times = {name: eligible.filter(pl.col("node") == name)["time_ps"].to_list() for name in ("s1", "s2")}
    assert [gaps(times[name]) for name in ("s1", "s2")] == [[120_000_000], [240_000_000]]


def test_a_bound_is_not_given_where_a_bridge_is_slower_than_the_one_before(tmp_path: Path) -> None:
    slower = 'ats = { rate = "8Mb/s", burst = "240B", at.s2 = { rate = "4Mb/s", burst = "240B" } }'
    (tmp_path / "scenario.toml").write_text(two_bridges(slower))
    told = bound(load(tmp_path), "s")
    assert told.reason == (
        'rate or burst of "s" is less than at the bridge before, and its frames may be held here; '
        'no less than there has a bound (at "s2")'
    )
    # More than before holds nothing back; the port counts what the bridge lets pass.
    more = slower.replace("4Mb/s", "16Mb/s")
    (tmp_path / "scenario.toml").write_text(two_bridges(more))
    assert bound(load(tmp_path), "s").total_ps is not None


def test_streams_of_a_scheduler_keep_its_contract_together(tmp_path: Path) -> None:
    """What one of them does not keep leaves no bound for its scheduler group; others count the shared rate once."""
    own = frames("own", 7, 100, 0, more='ats = { rate = "8Mb/s", burst = "120B" }')
    far = frames("far", 7, 100, 0, talker=1, more='ats = { rate = "8Mb/s", burst = "120B" }')
    Bridge(tmp_path, "model")("", SHARED + member("a", 0) + member("b", 10_000) + own + far)
    network = load(tmp_path)
    reasons = {each.stream.name: each.ways[0].reason or "" for each in analyse(network).streams}
    assert reasons["b"].startswith("the source does not keep rate and burst: frame 1, "), reasons["b"]
    for name in ("a", "own"):
        assert reasons[name] == '"b" of the same scheduler group does not keep rate and burst'
    assert not reasons["far"]
    # Bursts of cameras, own and far, less its own frame; l_LP is none.
    assert ways_of(network, "far")[0].hops[0].waits_for == "(120 + 120 + 120 - 120 + 0) B / (1000 - 0) Mb/s"


@pytest.mark.parametrize(
    ("change", "key", "what"),
    [
        (("cameras]", "camera]"), "streams.a.scheduler", 'there is no scheduler "cameras" (did you mean "camera"?)'),
        (
            ('burst = "120B"', 'burst = "119B"'),
            "schedulers.cameras.burst",
            "119 B is less than the longest frame's 120 B",
        ),
        (
            ('burst = "120B"', 'burst = "120B"\nat.c = { rate = "1Mb/s", burst = "120B" }'),
            "schedulers.cameras.at.c",
            '"c"',
        ),
        (('rate = "8Mb/s"', 'rate = "2Gb/s"'), "schedulers.cameras.rate", "2 Gb/s is above the link's 1 Gb/s"),
    ],
)
def test_what_is_wrong_with_schedulers(tmp_path: Path, change: tuple[str, str], key: str, what: str) -> None:
    text = (
        'name = "n"\nnodes = "model"\nduration = "1ms"\nbridges.b.ports = 4\n'
        '[stations]\nt0 = { at = "b.0" }\nlistener = { at = "b.2" }\n' + SHARED + member("a", 0) + member("b", 0)
    )
    assert change[0] in text
    (tmp_path / "scenario.toml").write_text(text.replace(*change))
    with pytest.raises(InputError) as refused:
        load(tmp_path)
    assert refused.value.errors[0].key == key
    assert what in refused.value.errors[0].what


def test_a_scheduler_is_of_one_class_where_its_streams_meet(tmp_path: Path) -> None:
    other = frames("b", 6, 100, 0, more='scheduler = "cameras"')
    with pytest.raises(InputError) as refused:
        Bridge(tmp_path, "model")("", SHARED + member("a", 0) + other)
    assert (refused.value.key, refused.value.allowed) == ("streams.b.scheduler", "streams of one class")
    both = member("a", 0) + 'ats = { rate = "8Mb/s", burst = "120B" }\n'
    with pytest.raises(InputError) as refused:
        Bridge(tmp_path, "model")("", SHARED + both)
    assert (refused.value.key, refused.value.allowed) == ("streams.a.scheduler", "ats or scheduler")


def test_a_stream_says_nothing_of_bridges_that_it_does_not_pass(tmp_path: Path) -> None:
    text = two_bridges('ats = { rate = "8Mb/s", burst = "120B", at.s3 = { rate = "4Mb/s", burst = "120B" } }')
    (tmp_path / "scenario.toml").write_text(text.replace("[bridges]\n", "[bridges]\ns3 = { ports = 2 }\n"))
    with pytest.raises(InputError) as refused:
        load(tmp_path)
    assert (refused.value.key, refused.value.allowed) == ("streams.s.ats.at.s3", '"s1", "s2"')
