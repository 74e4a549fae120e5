# SPDX-License-Identifier: Apache-2.0
"""The card behind Linux's driver: its slots by registers. What a guest sees of it is `penstock nic linux`."""

from __future__ import annotations

import pytest

from penstock.errors import RunError
from penstock.hardware.uart_bus import ANSWER_BYTES, UartBus, crc8
from penstock.nic import registers, slots

CYCLE_NS, GUARD_NS = 1_000_000, 0
SLOTS = {2: 900_000, 0: 50_000, 5: 20_000, 1: 20_000, 7: 10_000}
ERROR, COMMIT = 0x590, 0x58C


class FakeCard:
    """Keeps what is written; answers by the bridge's protocol."""

    def __init__(self, error: int = 0) -> None:
        self.words: dict[int, int] = {}
        self.error = error
        self.answer = b""

    def reset_input_buffer(self) -> None:
        self.answer = b""

    def write(self, data: bytes) -> int:
        assert crc8(data) == 0
        address = int.from_bytes(data[1:3], "little")
        if data[:1] == b"W":
            self.words[address] = int.from_bytes(data[3:7], "little")
        value = self.error if address == ERROR else self.words.get(address, 0)
        body = b"K" + value.to_bytes(4, "little")
        self.answer = body + bytes([crc8(body)])
        return len(data)

    def read(self, size: int) -> bytes:
        assert size == ANSWER_BYTES
        return self.answer


def test_slots_are_read_back_as_they_were_set() -> None:
    card = FakeCard()
    bus = UartBus(card, "card")
    slots.set_slots(bus, CYCLE_NS, GUARD_NS, SLOTS)
    assert slots.read_slots(bus) == (CYCLE_NS, GUARD_NS, SLOTS)
    assert list(slots.read_slots(bus)[2]) == list(SLOTS), "in their order"
    assert list(card.words)[-1] == COMMIT, "nothing acts before all of it is there"
    slots.set_slots(bus, 0, 0, {})
    assert slots.read_slots(bus) == (0, 0, {})


@pytest.mark.parametrize("error", range(1, 9))
def test_slots_that_are_refused_are_refused_with_a_sentence(error: int) -> None:
    with pytest.raises(RunError, match=r"the card refuses these slots: [a-z]"):
        slots.set_slots(UartBus(FakeCard(error), "card"), CYCLE_NS, GUARD_NS, SLOTS)


def test_registers_are_written_in_their_order(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    card = FakeCard()
    monkeypatch.setattr(registers, "RawLine", lambda _device: card)
    assert registers.main(["line", *registers.words([(0x214, 7), (0x200, 0x123456)])]) == 0
    assert list(card.words.items()) == [(0x214, 7), (0x200, 0x123456)]
    for wrong in ([], ["line", "0x200"], ["line", "x=1"]):
        assert registers.main(wrong) == 2
    assert "ADDRESS=VALUE" in capsys.readouterr().err


def test_arguments_that_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert slots.main(["/dev/null", "many"]) == 2
    assert "CYCLE_NS" in capsys.readouterr().err
