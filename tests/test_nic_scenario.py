# SPDX-License-Identifier: Apache-2.0
"""A network card as a station of a scenario: in hardware against its model, which both have queues, gates and turns."""

from __future__ import annotations

import copy
import itertools
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from penstock.errors import InputError
from penstock.run import observe
from penstock.scenario import load
from penstock.scenario.file import parse_toml

pytestmark = pytest.mark.long(70)

NIC = Path(__file__).parents[1] / "scenarios" / "nic" / "scenario.toml"
FRAME_PS, CYCLE_PS = 12_304_000, 10**9
# From the host's memory to the queues, of the first frames of all of them together.
FILLED_PS = 200_000_000


def _values(**beside: Any) -> dict[str, Any]:
    values, _ = parse_toml(NIC, NIC.read_text())
    return copy.deepcopy(dict(values)) | beside


def _sent(values: Mapping[str, Any], nodes: str) -> tuple[dict[str, Any], dict[str, list[int]]]:
    """The summary, and when each stream's frames leave the card, in ps."""
    network = load(values, None if nodes == "rtl" else nodes)
    summary, view = observe(network)
    rows = view.trace.filter((pl.col("event") == "sent") & (pl.col("node") == "host"))
    return summary, {
        name: rows.filter(pl.col("stream") == name)["time_ps"].sort().to_list() for name in network.streams
    }


def test_slots_in_hardware_and_in_the_model() -> None:
    values = _values(duration="4ms")
    hard, soft = _sent(values, "rtl"), _sent(values, "model")
    for summary, sent in (hard, soft):
        assert summary["ok"]
        assert summary["conservation"]["dropped"] == summary["conservation"]["inside"] == 0
        slots = {"high": (0, 900_000_000), "middle": (900_000_000, 950_000_000), "low": (950_000_000, CYCLE_PS)}
        for name, (begin, end) in slots.items():
            at = [time % CYCLE_PS for time in sent[name]]
            # No bit is outside of its slot: the preamble comes before, gap and all after what is stamped.
            assert min(at) >= begin + 64_000, name
            assert max(at) + FRAME_PS <= end + 64_000, name
    assert hard[0]["nodes"] == "mixed"
    for name, per_cycle in {"high": 73, "middle": 4, "low": 4}.items():
        later = [[time for time in times[name] if CYCLE_PS <= time < 4 * CYCLE_PS] for times in (hard[1], soft[1])]
        assert later[0] == later[1], "to the cycle, once the queues are full"
        assert len(later[0]) == 3 * per_cycle
    high = next(row for row in soft[0]["cards"] if row["queue"] == 2)
    assert high["share"] >= 0.89
    assert high["open"] == pytest.approx(0.9)


def _drawn(seed: int) -> dict[str, Any]:
    rng = random.Random(seed)
    values = _values(duration="2ms")
    station: dict[str, Any] = {"at": "sw.0", "card": {"memory_latency": f"{8 * rng.randrange(64)}ns"}}
    selection = rng.choice(["strict", "round_robin", "cbs"])
    if selection == "cbs":
        station["classes"] = {
            str(k): {"selection": "cbs", "idle_slope": f"{rng.randrange(100, 300)}Mb/s"} for k in (2, 1)
        }
    else:
        station["classes"] = {str(k): {"selection": selection} for k in (0, 1, 2)}
    if rng.random() < 0.5:
        cut = rng.randrange(60, 140)
        entries = [{"open": [0, 2, 3], "interval": f"{cut}us"}, {"open": [1, 2], "interval": f"{200 - cut}us"}]
        station["gates"] = {"entries": entries}
    values["stations"]["host"] = station
    for stream in values["streams"].values():
        if rng.random() < 0.5:
            every = f"{rng.randrange(20, 90)}us"
            stream["source"] = {"frames": f"{rng.randrange(64, 1523)}B", "every": every, "start": "50us"}
        else:
            # Shorter ones, one after the other, are as slow as the memory.
            stream["source"] = {"frames": f"{rng.randrange(400, 1523)}B", "back_to_back": True}
    values["streams"]["back"] = {
        "from": "server",
        "to": ["host"],
        "vlan": 10,
        "pcp": 3,
        "source": {"frames": f"{rng.randrange(300, 1523)}B", "every": "15us"},
    }
    return values


def _launches(**streams: dict[str, Any]) -> dict[str, Any]:
    """A card without slots, whose streams have these sources, each of a frame in 100 us."""
    values = _values(duration="2ms")
    del values["stations"]["host"]["gates"]
    common = {"from": "host", "to": ["server"], "vlan": 10}
    values["streams"] = {
        name: common | {"pcp": source.pop("pcp"), "source": {"frames": "300B", "every": "100us"} | source}
        for name, source in streams.items()
    }
    return values


def test_frames_leave_a_card_at_their_launch_times() -> None:
    values = _launches(
        first={"pcp": 3, "launch": "60.003us"},
        second={"pcp": 3, "start": "10us", "launch": "20us"},
        plain={"pcp": 3, "start": "40us"},
        late={"pcp": 2, "start": "80us", "launch": "100ns"},
    )
    hard, soft = _sent(values, "rtl"), _sent(values, "model")
    # 60.003 us are 7500.4 cycles of 8 ns: the first bit behind the delimiter leaves in the next one, 5 ns after its
    # time. What was given to the card after it, with an earlier time or none, leaves before it.
    cycles = range(0, 2_000_000_000, 100_000_000)
    assert hard[1]["first"] == [cycle + 60_008_000 for cycle in cycles]
    assert hard[1]["second"] == [cycle + 30_000_000 for cycle in cycles]
    assert soft[1]["first"] == [cycle + 60_003_000 for cycle in cycles]
    assert soft[1]["second"] == hard[1]["second"]
    assert all(40_064_000 < time - cycle < 43_000_000 for time, cycle in zip(hard[1]["plain"], cycles, strict=True))
    # The host's memory takes longer than 100 ns.
    assert all(80_100_000 < time - cycle < 83_000_000 for time, cycle in zip(hard[1]["late"], cycles, strict=True))
    counts = {name: stream["launch"] and stream["launch"]["missed"] for name, stream in hard[0]["streams"].items()}
    assert counts == {"first": 0, "second": 0, "plain": None, "late": 20}
    assert any(warning.startswith("late: 20 of 20 frames") for warning in hard[0]["warnings"])
    # The talker sees what a frame waits in the card, too.
    first = hard[0]["streams"]["first"]
    assert first["transmit_ns"]["mean"] == first["latency_ns"]["mean"] + 60_008


@pytest.mark.parametrize(
    ("launch", "what"),
    [
        ("4.3s", "keeps no frame for 4.3 s"),
        ({"offset": "10us", "error": {"uniform": "1us"}}, "whose error is its own"),
    ],
)
def test_launch_times_that_a_card_cannot_keep_are_refused(launch: Any, what: str) -> None:
    values = _launches(first={"pcp": 3, "launch": launch})
    load(values, "model")
    with pytest.raises(InputError, match=what):
        load(values)


@pytest.mark.parametrize("seed", range(6))
def test_what_a_card_sends_and_receives_is_accounted_for(seed: int) -> None:
    """The node itself refuses a frame that leaves otherwise than it was given, or that does not reach its host."""
    values = _drawn(seed)
    hard, soft = _sent(values, "rtl"), _sent(values, "model")
    for name in hard[1]:
        # All of the card but the fetch is the same, so that no stream gets more or less than some frames.
        assert abs(len(hard[1][name]) - len(soft[1][name])) <= 12, name
        assert hard[0]["streams"][name]["conserved"]
    assert hard[0]["streams"]["back"]["delivered"] == soft[0]["streams"]["back"]["delivered"] > 100


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"card": {"queues": 2}}, r'"high" is of class 2; the card of "host" has 2 queues'),
        ({"card": {"memory_latency": "5ns"}}, "no whole number of the card's cycles"),
        ({"card": {}, "rate": "100Mb/s"}, "does not run at 100 Mb/s"),
        ({"card": {}, "clock": {"drift": "1ppm"}}, "the clock of a card in hardware is the network's"),
        ({"card": {}, "classes": {"1": {"max_sdu": "100B"}}}, "the card has no such limit"),
        ({"card": {}, "guard_band_gap": False}, "the card lets no frame start"),
        ({"card": None, "nodes": "rtl"}, '"rtl" is not part of this version'),
        ({"card": {}, "gates": {"entries": [{"open": [2], "interval": "200ms"}]}}, "simulated before the run begins"),
    ],
)
def test_what_a_card_cannot_is_refused(change: dict[str, Any], what: str) -> None:
    values = _values()
    host = values["stations"]["host"] | change
    values["stations"]["host"] = {key: value for key, value in host.items() if value is not None}
    with pytest.raises(InputError, match=what):
        load(values)


_BURST = {"frames": "1000B", "burst": 5, "every": "1ms", "start": "100us"}
_RECOVERY_PS = 1020 * 80_000  # of a frame with preamble and gap, at 100 Mb/s


def _held(**residence: str) -> dict[str, Any]:
    """A card whose class 2 has ATS for a stream that bursts, and whose class 1 has a stream without it."""
    values = _values(duration="4ms")
    del values["stations"]["host"]["gates"]
    values["stations"]["host"]["classes"] = {"2": {"selection": "ats"} | residence}
    common = {"from": "host", "to": ["server"], "vlan": 10}
    values["streams"] = {
        "held": common | {"pcp": 2, "source": dict(_BURST), "ats": {"rate": "100Mb/s", "burst": "2040B"}},
        "other": common | {"pcp": 1, "source": {"frames": "500B", "every": "50us"}},
    }
    return values


def test_a_card_holds_the_streams_of_a_class_with_ats() -> None:
    values = _held()
    hard, soft = _sent(values, "rtl"), _sent(values, "model")
    offsets = set()
    for period in range(4):
        card, model = (sent["held"][5 * period : 5 * period + 5] for _, sent in (hard, soft))
        assert len(card) == len(model) == 5
        begin = 100_000_000 + period * 10**9
        # The burst is two frames, and the others follow at the rate, each in the very cycle.
        assert [time - begin - 64_000 for time in model[2:]] == [n * _RECOVERY_PS for n in (1, 2, 3)]
        assert [time - begin - 64_000 for time in model[:2]] == [0, 8_160_000]
        # What the first frame of the burst takes from the host's memory, which serves the other queue too.
        (offset,) = {one - other for one, other in zip(card, model, strict=True)}
        offsets.add(offset)
    assert 0 < min(offsets) <= max(offsets) < 5_000_000
    assert max(offsets) - min(offsets) < 100_000
    assert len(hard[1]["other"]) == len(soft[1]["other"]) == 80
    for summary, _ in (hard, soft):
        assert summary["ok"]
        assert summary["conservation"]["dropped"] == 0


def test_a_card_drops_what_it_would_hold_for_too_long() -> None:
    values = _held(max_residence="100us")
    for nodes in ("rtl", "model"):
        summary, sent = _sent(values, nodes)
        assert len(sent["held"]) == 3 * 4, nodes
        assert summary["streams"]["held"]["dropped"] == {"residence": 2 * 4}
        assert summary["streams"]["held"]["conserved"]
        assert summary["streams"]["other"]["delivered"] == 80


def test_streams_of_a_queue_with_ats_share_its_scheduler() -> None:
    values = _held()
    second = copy.deepcopy(values["streams"]["held"])
    second["source"]["start"] = "200us"
    values["streams"]["second"] = second
    with pytest.raises(InputError, match='"held" and "second" have schedulers of their own; the queue of class 2'):
        load(values)
    load(values, "model")
    values["schedulers"] = {"both": second.pop("ats")}
    del values["streams"]["held"]["ats"]
    for name in ("held", "second"):
        values["streams"][name]["scheduler"] = "both"
    del values["streams"]["other"]
    hard, soft = _sent(values, "rtl"), _sent(values, "model")
    together = [sorted(sent["held"][:5] + sent["second"][:5]) for _, sent in (hard, soft)]
    steps = [[later - time for time, later in itertools.pairwise(times[2:])] for times in together]
    assert steps[0] == steps[1] == [_RECOVERY_PS] * 7


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"streams": {"other": {"pcp": 2}}}, '"other" has no ats; the queue of class 2 has the scheduler of "held"'),
        ({"streams": {"held": {"source": _BURST | {"launch": "1ms"}}}}, "no scheduler holds it"),
        ({"stations": {"host": {"overhead": "-8B"}}}, "cannot count -8 B beside a frame"),
    ],
)
def test_what_the_schedulers_of_a_card_cannot_is_refused(change: dict[str, Any], what: str) -> None:
    values = _held()
    for table, entries in change.items():
        for name, keys in entries.items():
            values[table][name] |= keys
    with pytest.raises(InputError, match=what):
        load(values)


def test_frames_that_are_too_long_are_refused() -> None:
    values = _values()
    values["bridges"]["sw"]["max_frame"] = "2000B"
    values["streams"]["high"]["source"]["frames"] = "1523B"
    with pytest.raises(InputError, match="takes 1522 B at most"):
        load(values)


def test_a_damaged_frame_does_not_reach_the_host() -> None:
    """The hardware refuses it by its FCS, as the station's model does."""
    values = _drawn(1) | {"faults": [{"link": ["sw", "host"], "bit_error_rate": 2e-5, "at": "0us"}]}
    summary, _ = _sent(values, "rtl")
    back = summary["streams"]["back"]
    assert back["dropped"]["fcs"] > 5
    assert back["delivered"] > 50
    assert back["conserved"]
