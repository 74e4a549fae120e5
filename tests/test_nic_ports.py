# SPDX-License-Identifier: Apache-2.0
"""Network cards of several ports in hardware against their models."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.nic.alone import Kind, schedules
from penstock.nic.differ import differ
from penstock.reproduce.time_aware_nic.card import port_rows

pytestmark = pytest.mark.long(200)


def test_each_port_of_several_does_as_its_model_to_the_cycle() -> None:
    count = 8
    found = differ(seed=1, count=count, ports=4)
    assert found["said"] == []
    assert found["differing"] == []
    compared = found["compared"]
    least = {"frames": 12 * count, "errors": 10, "gate_lists": 10, "slots": 5, "received": 150, "late": 20}
    least |= {"shaped": 40, "stamps": 50}
    assert {name for name, count in least.items() if compared[name] < count} == set()


@pytest.mark.parametrize("kind", ["model", "rtl"])
def test_ports_hold_different_schedules_at_the_same_time(kind: Kind) -> None:
    seen = schedules(kind)
    assert len({tuple(port.slots_ns) for port in seen}) == 4
    assert [row.quantity for row in port_rows(kind, seen) if not row.ok] == []
    # A card whose ports have the schedule of the first does not meet it.
    same = [replace(port, got=seen[0].got, outside=1, changed=1) for port in seen]
    missed = {row.id.removeprefix(f"card.{kind}.") for row in port_rows(kind, same) if not row.ok}
    assert missed == {"ports.outside", "ports.changed", *(f"port{p}.queue{q}" for p in (1, 2, 3) for q in range(3))}
