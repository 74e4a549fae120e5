# SPDX-License-Identifier: Apache-2.0
"""Several cards whose hosts are guests, without the guests: when frames pass from card to card, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

from penstock.errors import InputError, RunError
from penstock.hardware.model import build_card
from penstock.nic.card import Card, Sent, Step
from penstock.nic.guests import CABLE_NS, Exchange, Shared, Wired, carry, exchanges
from penstock.run import CompiledEngine, Progress, Result
from penstock.scenario import load
from penstock.scenario.file import parse_toml
from penstock.scenario.network import Network

SCENARIO = Path(__file__).parents[1] / "scenarios" / "nic-pair" / "scenario.toml"
BASE_NS = {"left": 80_000, "right": 160_000}
LINK_NS, BYTE_NS, PREAMBLE = 48, 8, 8


class FakeCard:
    """Sends what it has to send at its times, and keeps what comes, with when."""

    def __init__(self, base_ns: int, hears: Callable[[int, bytes], None] = lambda _at, _data: None) -> None:
        self.now_ns = base_ns
        self.to_send: list[Sent] = []
        self.heard: list[tuple[int, bytes]] = []
        self.hears = hears

    def step(self, until_ns: int) -> Step:
        self.now_ns = max(self.now_ns, until_ns)
        left = [sent for sent in self.to_send if sent.at_ns + BYTE_NS * (PREAMBLE + len(sent.data) + 4) <= self.now_ns]
        self.to_send = self.to_send[len(left) :]
        coming = any(at_ns + 20_000 > self.now_ns for at_ns, _ in self.heard)
        return Step(self.now_ns, not self.to_send and not coming, tuple(left))

    def receive(self, at_ns: int, data: bytes) -> None:
        assert at_ns >= self.now_ns, "it is not over"
        self.heard.append((at_ns, data))
        self.hears(at_ns, data)


def _pair(nodes: str = "model") -> tuple[Network, list[Exchange]]:
    network = load(parse_toml(SCENARIO, SCENARIO.read_text())[0] | {"nodes": nodes})
    return network, exchanges(network, network.stations.values())


def _frame(network: Network, talker: str, listener: str, vlan: int, pcp: int, length: int) -> bytes:
    addresses = b"".join(network.stations[name].mac.to_bytes(6) for name in (listener, talker))
    return (addresses + b"\x81\x00" + (pcp << 13 | vlan).to_bytes(2) + b"\x08\x00").ljust(length - 4, b"\x5a")


def _wired(network: Network, name: str, card: FakeCard) -> Wired:
    streams = {(network.stations[s.listeners[0]].mac, s.vlan or 0): s for s in network.streams_from[name]}
    return Wired(cast(Card, card), streams, BASE_NS[name])


def _carry(network: Network, found: list[Exchange], cards: dict[str, FakeCard], shared: Shared, out: Path) -> Result:
    shared.cards |= {name: _wired(network, name, card) for name, card in cards.items()}
    return carry(network, found, shared, out, notes=["of a test"], begins=lambda: None)


def test_frames_pass_between_cards_at_the_times_of_their_clocks(tmp_path: Path) -> None:
    """There and back, with nothing between but cables, links and the switch, whose own time the trace tells."""
    network, found = _pair()
    ask = _frame(network, "left", "right", 10, 2, 102)
    reply = _frame(network, "right", "left", 10, 2, 102)
    shared = Shared()

    def answer(at_ns: int, _data: bytes) -> None:
        cards["right"].to_send.append(Sent(at_ns + 5_000, 2, reply))

    cards = {
        "left": FakeCard(BASE_NS["left"], lambda _at, _data: shared.is_over.set()),
        "right": FakeCard(BASE_NS["right"], answer),
    }
    begin_ns = 10_000
    cards["left"].to_send.append(Sent(BASE_NS["left"] + begin_ns, 2, ask))
    result = _carry(network, found, cards, shared, tmp_path / "out")
    assert result.summary["ok"]
    assert "of a test" in result.summary["warnings"]
    streams = result.summary["streams"]
    assert {name: (said["sent"], said["delivered"]) for name, said in streams.items()} == {
        "ping": (1, 1), "pong": (1, 1), "flow": (0, 0), "words": (0, 0)}  # fmt: skip
    assert [streams[name]["talker_wait_ns"]["max"] for name in ("ping", "pong")] == [64, 64], "of its preamble alone"
    (there_ns, data), (back_ns, echoed) = cards["right"].heard[0], cards["left"].heard[0]
    assert (data, echoed) == (ask, reply)
    passage = {name: streams[name]["latency_ns"]["max"] for name in ("ping", "pong")}
    assert passage["ping"] == passage["pong"] > 2 * LINK_NS + BYTE_NS * (PREAMBLE + 102)
    assert there_ns - BASE_NS["right"] == begin_ns + 2 * CABLE_NS + passage["ping"]
    assert back_ns - BASE_NS["left"] == there_ns - BASE_NS["right"] + 5_000 + 2 * CABLE_NS + passage["pong"]


def test_guests_begin_when_the_switch_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network, found = _pair()
    shared = Shared()
    shared.cards |= {name: _wired(network, name, FakeCard(base_ns)) for name, base_ns in BASE_NS.items()}
    happened = []
    prepare = CompiledEngine.prepare

    def slowly(engine: CompiledEngine, network: Network, progress: Progress) -> dict[str, Any]:
        description = prepare(engine, network, progress)
        happened.append("built")
        return description

    def begin() -> None:
        happened.append("begun")
        shared.is_over.set()

    monkeypatch.setattr(CompiledEngine, "prepare", slowly)
    carry(network, found, shared, tmp_path / "out", notes=(), begins=begin)
    assert happened == ["built", "begun"]


def test_time_stands_still_while_nothing_is_on_its_way(tmp_path: Path) -> None:
    network, found = _pair()
    shared = Shared()
    looks = 0

    class Sleeping(FakeCard):
        def step(self, until_ns: int) -> Step:
            nonlocal looks
            looks += until_ns == 0
            if looks == 3:
                # Registers have taken time, and the guest has made a frame.
                self.now_ns += 4_000
                self.to_send.append(Sent(self.now_ns, 2, _frame(network, "left", "right", 10, 2, 102)))
                looks += 1
            return super().step(until_ns)

    cards = {
        "left": Sleeping(BASE_NS["left"]),
        "right": FakeCard(BASE_NS["right"], lambda _at, _data: shared.is_over.set()),
    }
    result = _carry(network, found, cards, shared, tmp_path / "out")
    first = result.trace.filter(pl.col("event") == "created")["time_ps"].min()
    assert isinstance(first, int)
    assert first // 1000 < 6_000 + 4_000 + 1_000 + CABLE_NS, "4 us of quiet, a step, and the registers"
    assert result.summary["streams"]["ping"]["delivered"] == 1


@pytest.mark.parametrize(
    ("of", "what"),
    [(("left", "left", 10, 2, 102), "of no stream"), (("left", "right", 10, 3, 102), "priority 3 by queue 2")],
)
def test_a_frame_that_no_stream_has_ends_the_run(of: tuple[str, str, int, int, int], what: str, tmp_path: Path) -> None:
    network, found = _pair()
    cards = {name: FakeCard(base_ns) for name, base_ns in BASE_NS.items()}
    cards["left"].to_send.append(Sent(BASE_NS["left"] + 1_000, 2, _frame(network, *of)))
    with pytest.raises(RunError, match=what):
        _carry(network, found, cards, Shared(), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_frame_that_left_too_late_for_its_cable_ends_the_run(tmp_path: Path) -> None:
    network, found = _pair()
    cards = {name: FakeCard(base_ns) for name, base_ns in BASE_NS.items()}
    ask = _frame(network, "left", "right", 10, 2, 102)
    cards["left"].to_send.append(Sent(BASE_NS["left"] - CABLE_NS - 1, 2, ask))
    with pytest.raises(RunError, match="was at the end of its cable"):
        _carry(network, found, cards, Shared(), tmp_path / "out")


def test_a_card_goes_by_steps() -> None:
    """In hardware, without a guest: its time is the caller's, and what is over is over."""
    with Card(4, 1_000_000_000, build_card(pairs=4), steps=True) as card:
        begin_ns = card.step(0).now_ns
        assert card.step(0).now_ns == begin_ns, "it stands still while nobody asks"
        assert card.step(begin_ns + 8_000) == Step(begin_ns + 8_000, is_idle=True, sent=())
        card.receive(begin_ns + 9_000, bytes(60))
        assert not card.step(begin_ns + 9_600).is_idle, "it comes: 72 bytes from 9 us on"
        assert card.step(begin_ns + 12_000).is_idle, "nobody has a buffer for it"
        with pytest.raises(RunError, match=r"is to come at \d+ ns, but the card is at"):
            card.receive(begin_ns + 11_992, bytes(60))


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        (("stations", "left", "classes"), {"1": {"selection": "round_robin"}}, "more than a card"),
        (("streams", "pong"), None, 'nothing answers "ping"'),
        (("streams", "ping", "source"), {"frames": "102B", "every": "1ms"}, "how much"),
        (("streams", "words", "vlan"), 30, "VLAN 20"),
        (("streams", "ping", "vlan"), 20, "VLAN 20"),
        (("streams", "pong", "source"), {"frames": "100B", "response_to": "ping"}, "another length"),
        (("streams", "flow", "source"), {"frames": "64B", "back_to_back": True, "count": 3}, "frames of 64 B"),
        (("stations", "left", "class_of_priority"), [1, 0, 2, 3, 0, 0, 0, 0], "is class 1"),
        (("stations", "right", "card"), None, "not what a guest sends"),
    ],
)
def test_what_guests_do_not_do_is_refused(key: tuple[str, ...], value: Any, what: str) -> None:
    values: Any = parse_toml(SCENARIO, SCENARIO.read_text())[0]
    table = values
    for part in key[:-1]:
        table = table[part]
    if value is None:
        del table[key[-1]]
    else:
        table[key[-1]] = value
    network = load(values)
    with pytest.raises(InputError, match=what):
        exchanges(network, [station for station in network.stations.values() if station.card is not None])


def test_words_of_ping_and_iperf3() -> None:
    _, (ping, flow) = _pair()
    assert "20 answers" in ping.told("20 packets transmitted, 20 packets received, 0% packet loss")
    assert "300 datagrams" in flow.told('{"end": {"sum": {"packets": 300, "lost_packets": 0}}}')
    for exchange, printed in (
        (ping, "20 packets transmitted, 19 packets received, 5% packet loss"),
        (flow, '{"end": {"sum": {"packets": 300, "lost_packets": 1}}}'),
        (flow, '{"end": {"sum": {"packets": 299, "lost_packets": 0}}}'),
        (flow, '{"error": "unable to connect to server"}'),
        (flow, ""),
    ):
        with pytest.raises(RunError, match=exchange.asks.name):
            exchange.told(printed)
