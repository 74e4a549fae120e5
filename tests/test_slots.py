# SPDX-License-Identifier: Apache-2.0
"""Slots of a network card in a scenario: the gate list that they mean, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import InputError
from penstock.scenario import load


def scenario(**gates: Any) -> dict[str, Any]:
    return {
        "name": "slots",
        "nodes": "model",
        "duration": "1ms",
        "bridges": {"sw": {"ports": 2, "class_of_priority": "identity"}},
        "stations": {"card": {"at": "sw.0", "gates": gates}, "drive": {"at": "sw.1"}},
        "streams": {
            "s": {"from": "card", "to": ["drive"], "vlan": 10, "pcp": 2, "source": {"frames": "1500B", "every": "1ms"}}
        },
    }


def test_slots_are_a_gate_list() -> None:
    said = {"times": {"2": "900us", "1": "50us"}, "order": [2, 1], "guard": "1us"}
    gates = load(scenario(cycle_time="1ms", slots=said)).stations["card"].gates[0]
    rest = 0b11111001
    assert gates.entries == (
        (0b100, 899_000), (0, 1000), (0b010, 49_000), (0, 1000), (rest, 49_000), (0, 1000),
    )  # fmt: skip
    plain = load(scenario(slots={"times": {"2": "30us", "0": "10us"}, "order": [2, 0, 2]})).stations["card"].gates[0]
    assert (plain.cycle_time_ns, plain.entries) == (70_000, ((4, 30_000), (1, 10_000), (4, 30_000)))


@pytest.mark.parametrize(
    ("gates", "key", "what", "allowed"),
    [
        (
            {"slots": {"times": {"2": "1ms"}, "order": [2]}, "cycle_time": "900us"},
            "slots",
            "more than the cycle",
            "longer",
        ),
        ({"slots": {"times": {"2": "1ms"}, "order": [2, 3]}}, "slots", "queue 3, which has no time", "or no slot"),
        ({"slots": {"times": {"2": "1ms", "1": "1us"}, "order": [2]}}, "slots", "no slot in the order", "0 ns"),
        ({"slots": {"times": {}, "order": []}}, "entries", "has no entries", "1 to 1024"),
        ({"slots": {"times": {"2": "1ms"}, "order": [2], "guard": "1ms"}}, "slots", "and its guard", "1000001 ns"),
        ({"slots": {"times": {"8": "1ms"}, "order": [2]}}, "slots.times.8", 'no traffic class "8"', "0 to 7"),
        ({"slots": {"times": {"2": "1ms"}, "order": [9]}}, "slots.order[0]", "9 is not a whole number", "0 to 7"),
        (
            {"slots": {"times": {"2": "10us"}, "order": [2]}, "cycle_time": "1ms"},
            "entries",
            "is open for 10000 ns at most",
            "12160ns",
        ),
        ({"slots": {"times": {"2": "1ms"}, "order": [2]}, "entries": []}, "", "is entries or slots", "slots ="),
        ({"cycle_time": "1ms"}, "", "is entries or slots", "entries ="),
    ],
)
def test_slots_that_no_card_takes_are_refused(gates: dict[str, Any], key: str, what: str, allowed: str) -> None:
    with pytest.raises(InputError) as error:
        load(scenario(**gates))
    first = error.value.errors[0]
    assert first.key == ".".join(filter(None, ("stations.card.gates", key)))
    assert what in first.what
    assert allowed in str(first.allowed)
