# SPDX-License-Identifier: Apache-2.0
"""Which idle slopes a port can have together: only what can be open at once counts."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import InputError
from penstock.run import statistics
from penstock.scenario import load

TURNS = [([7, 1], "4ms"), ([6], "2ms")]


def network(entries: list[tuple[list[int], str]], slopes: dict[str, Any] | None = None, **gates: Any) -> dict[str, Any]:
    """A station that talks in classes 7 and 6, 64 Mb/s each while its gate is open, over a link of 100 Mb/s."""
    credit = slopes or {"7": {"idle_slope": "63.96Mb/s"}, "6": {"idle_slope": "63.96Mb/s"}}
    list_ = [{"open": states, "interval": interval} for states, interval in entries]
    source = {"frames": "1000B", "every": "2ms"}
    return {
        "name": "turns",
        "duration": "60ms",
        "nodes": "model",
        "links": {"rate": "100Mb/s"},
        "bridges": {"b": {"ports": 2, "class_of_priority": "identity"}},
        "stations": {
            "t": {
                "at": "b.0",
                "classes": {k: {"selection": "cbs"} | v for k, v in credit.items()},
                "gates": {"entries": list_} | gates,
            },
            "z": {"at": "b.1"},
        },
        "streams": {
            f"s{k}": {"from": "t", "to": ["z"], "vlan": 1, "pcp": int(k), "source": source} for k in ("7", "6")
        },
    }


def test_classes_that_are_never_open_at_once_do_not_add_up() -> None:
    checked = load(network(TURNS))
    assert {k: shaper.idle_slope_bps for (_, k), shaper in checked.stations["t"].credit.items()} == {
        7: 63_960_000,
        6: 63_960_000,
    }
    streams = statistics(checked)["streams"]
    assert {name: (told["sent"], told["delivered"]) for name, told in streams.items()} == dict.fromkeys(
        ("s7", "s6"), (30, 30)
    )


@pytest.mark.parametrize(
    ("entries", "slopes", "gates", "left"),
    [
        # Together in a third of the cycle.
        ([([7], "4ms"), ([7, 6], "2ms")], {}, {}, "36.04 Mb/s"),
        # Open at once before the first cycle.
        (TURNS, {}, {"base_time": "1ms"}, "36.04 Mb/s"),
        # 30 Mb/s of the whole time in half of it are 60 Mb/s: with 40 Mb/s beside them that is all there is.
        ([([7], "3ms"), ([7, 6], "3ms")],
         {"7": {"idle_slope": "40.1Mb/s"}, "6": {"idle_slope": "30Mb/s", "scaled": True}}, {}, "29.95 Mb/s"),
    ],
)  # fmt: skip
def test_classes_that_are_open_at_once_add_up(
    entries: list[tuple[list[int], str]], slopes: dict[str, Any], gates: dict[str, Any], left: str
) -> None:
    with pytest.raises(InputError, match=f"while their gates are open; allowed: up to {left}, which others leave"):
        load(network(entries, slopes, **gates))


@pytest.mark.parametrize(
    ("entries", "slopes", "gates"),
    [
        (TURNS, {}, {"base_time": "1ms", "initial": [7]}),
        # What is beyond the cycle never acts.
        ([*TURNS, ([7, 6], "1ms")], {}, {"cycle_time": "6ms"}),
        ([([7], "3ms"), ([7, 6], "3ms")],
         {"7": {"idle_slope": "40Mb/s"}, "6": {"idle_slope": "30Mb/s", "scaled": True}}, {}),
    ],
)  # fmt: skip
def test_only_what_acts_counts(
    entries: list[tuple[list[int], str]], slopes: dict[str, Any], gates: dict[str, Any]
) -> None:
    assert load(network(entries, slopes, **gates)).stations["t"].credit
