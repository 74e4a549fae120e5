# SPDX-License-Identifier: Apache-2.0
"""Gate control lists that hardware does not run: intervals below 64 ns, and entries at one instant. By hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import InputError
from penstock.scenario import load
from shaped import KINDS, Bridge, frames, gates

MODELS = KINDS[:2]
# 625 B on the wire: 5 us. All have come when the first cycle begins.
FOUR = frames("s", 1, 605, 0, source='every = "1s", burst = 4')
CLOSED_UNTIL = 'initial = "none"'


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("closed_ns", [40, 1, 63, 64])
def test_a_gate_may_close_for_less_than_the_hardware_can(tmp_path: Path, kind: str, closed_ns: int) -> None:
    """Two frames fill a window of 10 us to its last bit; then the gate is closed for some ns."""
    listed = gates([([1], 10_000), ([], closed_ns)], 50_000, CLOSED_UNTIL)
    sent = Bridge(tmp_path, kind)(listed, FOUR)
    # The hardware's twin, for lists that the hardware can run, acts in cycles of 8 ns: 64 ns are eight of them.
    assert sent["s"] == [50_000, 55_000, 60_000 + closed_ns, 65_000 + closed_ns]


@pytest.mark.parametrize("kind", MODELS)
def test_of_two_entries_at_one_instant_the_later_one_acts(tmp_path: Path, kind: str) -> None:
    plain = [([7], 10_000), ([1], 10_000)]
    doubled = [([1], 0), ([7], 10_000), ([7], 0), ([1], 10_000), ([1], 0)]
    times = [Bridge(tmp_path, kind)(gates(each, 50_000, CLOSED_UNTIL), FOUR)["s"] for each in (plain, doubled)]
    assert times[0] == times[1] == [60_000, 65_000, 80_000, 85_000]


@pytest.mark.parametrize("kind", MODELS)
def test_the_last_entry_has_what_is_left_of_the_cycle(tmp_path: Path, kind: str) -> None:
    """Also one of no time: class 1 is open for the second half of 20 us."""
    listed = gates([([7], 10_000), ([7], 0), ([1], 0)], 50_000, f'{CLOSED_UNTIL}\ncycle_time = "20us"')
    assert Bridge(tmp_path, kind)(listed, FOUR)["s"] == [60_000, 65_000, 80_000, 85_000]


@pytest.mark.parametrize("nodes", ["rtl", "linux"])
def test_hardware_and_linux_take_64_ns_and_more(tmp_path: Path, nodes: str) -> None:
    Bridge(tmp_path, "model")(gates([([1], 10_000), ([], 63)]), FOUR)
    with pytest.raises(InputError) as refused:
        load(tmp_path, nodes=nodes)
    (error,) = [each for each in refused.value.errors if (each.key or "").endswith("interval")]
    assert error.key == "bridges.b.port.2.gates.entries[1].interval"
    assert error.what == "63 ns is too small for hardware and for Linux"
    assert error.allowed == "64ns to 4294967295ns, or a model"
    assert load(tmp_path, nodes="model").bridges["b"].hardware_timing is False


def test_a_list_of_no_time_is_none(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        Bridge(tmp_path, "model")(gates([([1], 0), ([], 0)]), FOUR)
    assert (refused.value.key, refused.value.what) == ("bridges.b.port.2.gates.entries", "a cycle of 0 ps is too small")


def test_a_frame_is_asked_for_its_window_though_shorter_ones_pass_there() -> None:
    """1000 B and 20 B around them take 8.16 us of a window of 8 us; 64 B before and after them fit."""

    def stream(size: int) -> dict[str, object]:
        source = {"frames": f"{size}B", "every": "1ms"}
        return {"from": "a", "to": ["b"], "vlan": 1, "pcp": 0, "source": source}

    gated = {"entries": [{"open": [0], "interval": "8us"}, {"open": [], "interval": "92us"}]}
    bridge = {"ports": 2, "class_of_priority": list(range(8)), "gates": gated}
    stations = {"a": {"at": "sw.0"}, "b": {"at": "sw.1"}}
    scenario = {"name": "n", "nodes": "model", "duration": "1ms", "bridges": {"sw": bridge}, "stations": stations}
    load(scenario | {"streams": {f"s{size}": stream(size) for size in (64, 65)}})
    with pytest.raises(InputError, match='a frame of "s1000" takes 8160 ns'):
        load(scenario | {"streams": {f"s{size}": stream(size) for size in (64, 1000, 65)}})
