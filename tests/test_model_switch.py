# SPDX-License-Identifier: Apache-2.0
"""The model of the switch: what it says of single frames, and that it agrees with the hardware to the cycle."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from penstock import _engine
from penstock.hardware.configure import StreamEntry, SwitchConfig, configure, model_config
from penstock.hardware.model import build_model
from penstock.hardware.registers import registers
from switch_bench import frame

BROADCAST = b"\xff" * 6
COLUMNS = (
    "cycle",
    "length",
    "reason",
    "traffic_class",
    "visible",
    "destination",
    "refused",
    "refused_reasons",
    "flags",
)


def station(n: int) -> bytes:
    return (0x020000000000 + n).to_bytes(6)


def rows(switch: Any) -> dict[tuple[int, ...], tuple[int, ...]]:
    """Events by frame, kind and port."""
    events = switch.events()
    keys = zip(*(events[name].tolist() for name in ("frame", "kind", "port")), strict=True)
    return dict(zip(keys, zip(*(events[name].tolist() for name in COLUMNS), strict=True), strict=True))


@pytest.mark.parametrize("ports", range(2, 9))
def test_a_frame_alone_takes_a_constant_time(ports: int) -> None:
    model = _engine.Switch.model(ports)
    for size in (64, 65, 127, 1522):
        start = model.cycle + 100 + size
        model.push(0, start, frame(BROADCAST, station(1), size))
        model.run(start + 4000)
        events = model.events()
        out = events["kind"] == _engine.KINDS.index("output")
        assert sorted(events["port"][out].tolist()) == list(range(1, ports))
        assert set(events["cycle"][out].tolist()) == {start + 8 + size + 12 + 4 + 2 * ports + 19}
    assert model.inside == model.waiting == 0


def test_bad_configurations_are_refused() -> None:
    for config, message in [
        ({"surprise": 1}, "unknown field `surprise`"),
        ({"max_frame_bytes": 63}, "longest frame in bytes is 63; allowed are 64"),
        ({"class_of_untagged": 8}, "class of untagged frames is 8; allowed are 0 to 7"),
        ({"ipv4_mask": "xyz"}, "26 hexadecimal digits"),
        ({"port_vlan_id": [1, 1, 1, 1, 1]}, "number of port VLAN ids is 5"),
        ({"max_residence_ns": [[4, 0, 1]]}, "reception port of a group is 4"),
    ]:
        with pytest.raises(_engine.InputError, match=message):
            _engine.Switch.model(4, json.dumps(config))
    with pytest.raises(_engine.InputError, match="9 ports with the hardware's timing; it has 2 to 8"):
        _engine.Switch.model(9)
    model = _engine.Switch.model(4)
    with pytest.raises(_engine.HardwareError, match="0x0800"):
        model.write(0x800, 1)
    with pytest.raises(_engine.HardwareError, match="port 4 does not exist; 0 to 3"):
        model.push(4, 0, frame(BROADCAST, station(1)))


def random_config(rng: random.Random, ports: int) -> SwitchConfig:
    streams = [
        StreamEntry(
            port=rng.randrange(ports),
            identify=rng.choice(["destination", "source"]),
            rate_bps=int(10 ** rng.uniform(7, 9)),
            burst_bytes=rng.choice([1_600, 5_000]),
            mac=0x020000000000 + n,
            vlan=10,
        )
        for n in range(2 * ports)
    ]
    return SwitchConfig(
        ports=ports,
        ats_classes=set(rng.sample(range(8), 5)),
        class_of_pcp=[rng.randrange(8) for _ in range(8)],
        vlans={1: set(range(ports)), 10: set(range(ports))},
        streams=streams,
        max_residence_ns={(p, k): rng.choice([20_000, 10**6]) for p in range(ports) for k in range(8)},
        queue_limit_cells={k: rng.choice([10, 40]) for k in range(8)},
        static_addresses=[(0x020000000000 + n, 10, {n % ports}) for n in range(ports)],
    )


def spoil(rng: random.Random, data: bytes) -> tuple[bytes, dict[str, Any]]:
    """Makes one frame in ten wrong in some way."""
    wrong: list[tuple[bytes, dict[str, Any]]] = [
        (data[:50], {}),
        (bytes([*data[:40], data[40] ^ 4, *data[41:]]), {}),
        (data, {"rx_er_at": 30}),
        (data, {"delimiter": False}),
        (data + bytes(1_600), {}),
        (data, {"gap": 1, "preamble": 1}),
    ]
    return rng.choice(wrong) if rng.random() < 0.1 else (data, {})


@pytest.mark.parametrize("seed", range(6))
def test_the_model_agrees_with_the_hardware(seed: int) -> None:
    rng = random.Random(seed)
    ports = rng.choice([2, 4])
    config = random_config(rng, ports)
    hardware, model = _engine.Switch(build_model(ports=ports)), _engine.Switch.model(ports)
    by_json = _engine.Switch.model(ports, json.dumps(model_config(config)))
    for address, value in configure(config, registers()):
        hardware.write(address, value)
        model.write(address, value)
        assert hardware.cycle == model.cycle
    by_json.run(hardware.cycle)
    told: list[dict[tuple[int, ...], tuple[int, ...]]] = [{}, {}, {}]
    switches: tuple[_engine.Switch, ...] = (hardware, model, by_json)
    for _ in range(4):
        for _ in range(60):
            destination = rng.choice([BROADCAST, station(rng.randrange(2 * ports))])
            tag = rng.choice([None, 10, 10, 10, 77])
            size = rng.choice([64, 100, 129, 500, 1522])
            data = frame(destination, station(rng.randrange(2 * ports)), size, vlan=tag, pcp=rng.randrange(8))
            data, knobs = spoil(rng, data)
            port, start = rng.randrange(ports), hardware.cycle + rng.randrange(4_000)
            for switch in switches:
                switch.push(port, start, data, **knobs)
        until = hardware.cycle + rng.randrange(20_000)
        for switch in switches:
            switch.run(until)
        change = registers().write("class_of_untagged", value=rng.randrange(8))
        for switch, all_told in zip(switches, told, strict=True):
            switch.write(*change)
            assert switch.cycle == hardware.cycle
            all_told |= rows(switch)
    while hardware.inside or hardware.waiting:
        for switch in switches:
            switch.run(hardware.cycle + 100_000 if switch is hardware else hardware.cycle)
    for switch, all_told in zip(switches, told, strict=True):
        switch.run(hardware.cycle + 100)
        all_told |= rows(switch)
    assert told[0] == told[1]
    assert told[0] == told[2]
    reasons = {row[COLUMNS.index("reason")] for row in told[0].values()}
    assert len(reasons) > 3


def read(switch: _engine.Switch, address: int) -> tuple[int | None, int]:
    """The value, none where the switch refuses, and the cycles that it took."""
    start = switch.cycle
    try:
        value = switch.read(address)
    except _engine.HardwareError:
        value = None
    return value, switch.cycle - start


def write(switch: _engine.Switch, address: int, value: int) -> tuple[bool, int]:
    start = switch.cycle
    try:
        switch.write(address, value)
    except _engine.HardwareError:
        return False, switch.cycle - start
    return True, switch.cycle - start


# What the model has not: counters and stamps, which its events are, and what only hardware can be in.
HARDWARE_ALONE = (0x128, *range(0x300, 0x304), *range(0x308, 0x400), 0x448, *range(0x1000, 0x1800))


@pytest.mark.parametrize("ports", [2, 4])
def test_registers_are_those_of_the_hardware(ports: int) -> None:
    rng = random.Random(ports)
    hardware, model = _engine.Switch(build_model(ports=ports)), _engine.Switch.model(ports)
    addresses = [address for address in range(0, 0x2000, 4) if address not in HARDWARE_ALONE]
    writable = [r for r in registers().values() if any(field.access == "rw" for field in r.fields.values())]
    settings = [address for r in writable for address in r.words if address in addresses]
    for _ in range(6):
        for address in addresses:
            assert read(hardware, address) == read(model, address), f"{address:#05x}"
        for address in rng.sample(settings, len(settings)):
            value = rng.choice([0, 1, 0xFFFF_FFFF, rng.getrandbits(32)])
            assert write(hardware, address, value) == write(model, address, value), f"{address:#05x}"
    # A command that does not exist, and nanoseconds that are none; then the clock is set.
    status = registers().address("ptp.status")
    for command, nanoseconds, is_refused in ((7, 0, True), (1, 10**9, True), (1, 5, False)):
        for switch in (hardware, model):
            for word, value in enumerate((nanoseconds, 0, 0)):
                write(switch, registers().address(f"table_data[{word}]"), value)
            write(switch, registers().address("ptp.command"), command)
        answer = read(hardware, status)
        assert answer == read(model, status)
        assert (answer[0] != 0) == is_refused
