# SPDX-License-Identifier: Apache-2.0
"""Whether sources keep to rate and burst, told before a run: by hand, and against what runs see."""

from __future__ import annotations

import random
from typing import Any

import pytest

from penstock.bound import ways_of
from penstock.bound.analysis import analyse
from penstock.bound.answers import learn_answers
from penstock.bound.contracts import Contract, contract_of
from penstock.errors import InputError
from penstock.run import statistics
from penstock.scenario import Network, load


def network(duration: str = "20ms", station: dict[str, Any] | None = None, **streams: dict[str, Any]) -> Network:
    """Streams of class 7 from one talker, if they do not say otherwise."""
    common: dict[str, Any] = {"from": "t", "to": ["z"], "vlan": 10, "pcp": 3}
    return load(
        {
            "name": "contracts",
            "duration": duration,
            "nodes": "model",
            "bridges": {"b": {"ports": 4, "classes": {"7": {"selection": "ats", "max_residence": "500us"}}}},
            "stations": {"t": {"at": "b.0"} | (station or {}), "z": {"at": "b.1"}},
            "streams": {name: common | stream for name, stream in streams.items()},
        }
    )


def contract(checked: Network, name: str = "s") -> Contract:
    learn_answers(checked)
    found = contract_of(checked, name)
    assert found is not None
    return found


def ats(rate: str, burst: str) -> dict[str, str]:
    return {"rate": rate, "burst": burst}


def test_a_burst_above_the_contract_is_told_with_what_it_needs() -> None:
    """Three frames at once, of 120 B on the wire, against a burst of two.

    At 1 Gb/s the third is there 1.92 us after the first, in which 10 Mb/s bring 2.4 B: 360 - 2.4 B are needed.
    """
    source = {"frames": "100B", "burst": 3, "every": "1ms", "start": "300us"}
    checked = network(s={"source": source, "ats": ats("10Mb/s", "240B")})
    found = contract(checked)
    assert (found.state, found.first_late, found.first_late_ps) == ("broken", 3, 300 * 10**6)
    assert found.needed_burst_bytes == 358
    assert "frame 3, released at 300 us" in found.said
    enough = network(s={"source": source, "ats": ats("10Mb/s", "358B")})
    assert contract(enough).state == "kept"
    # There is no bound for such a stream, though equation (1) would give one.
    (one,) = analyse(checked).streams
    assert ways_of(checked, "s")[0].total_ps is not None
    assert one.worst is None
    assert not one.ok
    assert "does not keep rate and burst" in (one.ways[0].reason or "")


def test_a_rate_above_the_contract_is_told_where_it_breaks() -> None:
    """120 B every 95 us are 10.105 Mb/s. A frame takes 96 us, and two are there: 98 * 96 - 192 us > 97 * 95 us."""
    checked = network(s={"source": {"frames": "100B", "every": "95us"}, "ats": ats("10Mb/s", "240B")})
    found = contract(checked)
    assert (found.state, found.first_late) == ("broken", 98)
    assert found.first_late_ps == 97 * 95 * 10**6
    assert found.needed_rate_bps == 10_105_264
    assert contract(network(s={"source": {"frames": "100B", "every": "96us"}, "ats": ats("10Mb/s", "120B")})).holds


def test_displacement_that_brings_frames_together_is_counted() -> None:
    """Two frames 100 us apart come to within 40 us; at 10 Mb/s these bring 50 of the 120 B."""
    source = {"frames": "100B", "every": "100us", "jitter": {"uniform": "60us"}}
    found = contract(network(s={"source": source, "ats": ats("10Mb/s", "189B")}))
    assert (found.state, found.needed_burst_bytes) == ("not kept", 190)
    assert "60 us by which they may be displaced" in found.said
    assert contract(network(s={"source": source, "ats": ats("10Mb/s", "190B")})).state == "kept"


def test_what_is_by_chance_is_assumed() -> None:
    for source in (
        {"frames": "100B", "poisson": "1ms"},
        {"frames": "100B", "normal": {"mean": "1ms", "deviation": "1us"}},
        {"frames": "100B", "every": "1ms", "jitter": {"normal": "1us"}},
        {"frames": "100B", "every": "1ms", "software": {"delay": {"exponential": "1us"}}},
    ):
        checked = network(s={"source": source, "ats": ats("10Mb/s", "240B")})
        assert contract(checked).state == "assumed"
        assert analyse(checked).ok


def test_what_another_stream_of_the_talker_holds_up_is_counted() -> None:
    """A frame waits for up to 12.336 us behind one of best effort, and the next one does not."""
    mine = {"source": {"frames": "100B", "every": "96us"}, "ats": ats("10Mb/s", "120B")}
    other = {"source": {"frames": "1522B", "poisson": "1ms"}, "pcp": 0}
    found = contract(network(s=mine, be=other))
    assert (found.state, found.needed_burst_bytes) == ("not kept", 136)  # and 15.42 B, which come meanwhile
    assert '12.34 us for which they may wait at "t"' in found.said
    # Where nothing is by chance the engine knows whether they do.
    apart = {"source": {"frames": "1522B", "every": "96us", "start": "40us"}, "pcp": 0}
    assert contract(network(s=mine, be=apart)).state == "kept"
    once = {"source": {"frames": "1522B", "every": "1s", "start": "190us"}, "pcp": 0}
    found = contract(network(s=mine, be=once))
    assert (found.state, found.first_late) == ("broken", 4)


def test_answers_are_followed_as_far_as_what_they_answer() -> None:
    ask = {"source": {"frames": "64B", "every": "1ms"}, "ats": ats("1Mb/s", "168B")}
    answer = {"from": "z", "to": ["t"], "source": {"response_to": "ask", "frames": "1000B", "after": "1us"}}
    fits = network(ask=ask, s=answer | {"ats": ats("10Mb/s", "1020B")})
    assert contract(fits).state == "kept"
    assert contract(network(ask=ask, s=answer | {"ats": ats("8Mb/s", "1020B")})).state == "not kept"
    asks = {"source": {"frames": "64B", "poisson": "1ms"}, "ats": ats("1Mb/s", "168B")}
    assert contract(network(ask=asks, s=answer | {"ats": ats("8Mb/s", "1020B")})).state == "assumed"


def test_one_of_a_scheduler_group_takes_the_bound_of_the_others() -> None:
    good = {"source": {"frames": "100B", "every": "1ms"}, "ats": ats("10Mb/s", "240B")}
    bad = {"source": {"frames": "100B", "burst": 9, "every": "1ms"}, "ats": ats("10Mb/s", "240B")}
    told = analyse(network(good=good, bad=bad))
    assert [each.ok for each in told.streams] == [False, False]
    assert told.streams[0].ways[0].reason == '"bad" of the same scheduler group does not keep rate and burst'


def drawn(draw: random.Random) -> dict[str, Any]:
    length = draw.choice([64, 100, 300, 1522])
    period_us = draw.choice([20, 60, 100, 130])
    source: dict[str, Any] = {"frames": f"{length}B", "every": f"{period_us}us"}
    held = length + 20
    kind = draw.choice(["periodic", "burst", "jitter", "pictures", "handover"])
    if kind == "burst":
        burst = draw.randint(2, 4)
        source["burst"], held = burst, burst * held
    elif kind == "pictures":
        size = draw.randint(400, 3000)
        spacing = draw.choice([0, 7])
        source = {"video": {"pictures": "5kHz", "i_picture": f"{size}B", "packet": "400B", "spacing": f"{spacing}us"}}
        held, period_us = size + 62 * (1 + size // 400), 200
    if kind in ("jitter", "pictures", "burst") and draw.random() < 0.35:
        # Either all the way, or nothing of it.
        source["jitter"] = {"values": ["0us", f"{draw.choice([5, 30, 150])}us"]}
        source["seed"] = draw.randint(0, 10**6)
    if kind == "handover":
        source["software"] = {"delay": {"values": ["1us", f"{draw.choice([2, 50])}us"]}}
        source["seed"] = draw.randint(0, 10**6)
    rate = round(held * 8 * 10**6 / period_us * draw.choice([0.97, 1, 1, 1.3, 3]))
    burst_bytes = max(length + 20, 464 if kind == "pictures" else 0, round(held * draw.choice([0.7, 1, 1, 1.2, 2])))
    start = f"{draw.randint(0, 200)}us"
    if draw.random() < 0.2 and "video" not in source:
        source["count"] = draw.randint(1, 9)
    stream: dict[str, Any] = {"source": source | {"start": start}, "pcp": draw.choice([3, 3, 2])}
    if draw.random() < 0.8:
        stream["ats"] = ats(f"{min(rate, 10**9)}b/s", f"{burst_bytes}B")
    else:
        stream["pcp"] = draw.choice([0, 7])
    return stream


@pytest.mark.parametrize("seed", range(2))
def test_what_is_told_before_a_run_is_what_the_run_sees(seed: int) -> None:
    """What is proved holds in every run; what is said to break breaks; what may break breaks in some of them."""
    draw = random.Random(seed)
    seen = dict.fromkeys(("kept", "broken", "not kept", "assumed", "not kept, and so it was"), 0)
    for _ in range(80):
        station = {"clock": {"drift": draw.choice(["0ppb", "0ppb", "100ppm", "-100ppm"])}}
        streams = {f"s{n}": drawn(draw) for n in range(draw.choice([1, 1, 2, 3]))}
        try:
            checked = network("4ms", station, **streams)
        except InputError:
            continue  # rates that are above the link
        ran = statistics(checked, seed=None)
        for name, stream in checked.streams.items():
            if stream.ats is None:
                continue
            found, conforms = contract(checked, name), ran["streams"][name]["conforms"]
            seen[found.state] += 1
            if found.state == "not kept":
                seen["not kept, and so it was"] += not conforms
            elif found.state != "assumed":
                assert conforms is (found.state == "kept"), f"{seed}: {name} of {streams}: {found}"
    assert min(seen[state] for state in ("kept", "broken", "not kept, and so it was")) > 3, seen
