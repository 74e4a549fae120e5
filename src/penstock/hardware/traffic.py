# SPDX-License-Identifier: Apache-2.0
"""Frames for the switch, sound or damaged in every way, and what it says became of them.

What is held against the switch differs (a scoreboard, the model); what goes in and what is read out is the same.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from penstock import _engine
from penstock.ethernet import FCS_BYTES, GAP_BYTES, MIN_FRAME_BYTES
from penstock.hardware.configure import SwitchConfig, configure
from penstock.hardware.model import build_model
from penstock.hardware.registers import RegisterMap
from penstock.hardware.registers import registers as register_map

PREAMBLE_BYTES = 7
MAX_FRAME_BYTES = 1522

PREAMBLE, DELIMITER = b"\x55", b"\xd5"
BROADCAST = b"\xff" * 6
RESERVED = b"\x01\x80\xc2\0\0"  # and a byte of 0 to 15
TYPE_EXPERIMENTAL = b"\x88\xb5"
FILLER_BYTES = 1 << 16

# Of an output: it is not exactly the frame that came in, sent as it should be.
FAULTY_OUTPUT = _engine.FLAG_DAMAGED | _engine.FLAG_TX_ER | _engine.FLAG_SHORT_GAP | _engine.FLAG_PREAMBLE


def station_address(port: int, number: int) -> bytes:
    """Address of one of the stations behind a port."""
    return bytes([0x02, 0, 0, 0, port, number])


def as_number(address: bytes) -> int:
    """An address as the tables hold it."""
    return int.from_bytes(address, "big")


def vlan_tag(vlan: int | None, pcp: int) -> bytes:
    """The tag, nothing for None; VLAN 0 makes it a priority tag."""
    return b"" if vlan is None else b"\x81\x00" + (pcp << 13 | vlan).to_bytes(2, "big")


def with_fcs(body: bytes) -> bytes:
    """The frame with its frame check sequence."""
    return body + zlib.crc32(body).to_bytes(FCS_BYTES, "little")


@cache
def _filler() -> bytes:
    return random.Random(0).randbytes(FILLER_BYTES)


@dataclass(frozen=True)
class Frame:
    """A frame for the wire into a port, told so shortly that it can be written down, and how it is wrong."""

    port: int
    head: bytes  # from the destination address on; what follows is of no meaning
    size: int  # destination address to FCS
    filler: int = 0  # which bytes of no meaning, 0 to FILLER_BYTES
    preamble: int = PREAMBLE_BYTES
    delimiter: bool = True  # without one, all of it is preamble
    late_delimiter: int | None = None  # the byte at which one comes that was missing
    rx_er_at: int | None = None  # the byte at which the PHY signals an error
    flipped: int | None = None  # the bit that is wrong
    cut: int | None = None  # the bytes that are left
    host: bytes | None = None  # what goes before it, of one from the host
    gap: int | None = None  # idle byte times before it, at least; None: as the others of its switch

    @property
    def data(self) -> bytes:
        """The bytes behind the delimiter, as they go on the wire."""
        if not self.delimiter:
            data = bytearray(PREAMBLE * self.size)
            if self.late_delimiter is not None:
                data[self.late_delimiter] = DELIMITER[0]
        else:
            room = self.size - FCS_BYTES
            rest = max(0, room - len(self.head))
            start = self.filler % (FILLER_BYTES - rest)
            data = bytearray(with_fcs(self.head[:room] + _filler()[start : start + rest]))
        if self.flipped is not None:
            data[self.flipped // 8] ^= 1 << self.flipped % 8
        return bytes(data[: self.cut])

    @property
    def carrier_cycles(self) -> int:
        """How long it keeps the wire."""
        content = self.size if self.cut is None else min(self.cut, self.size)
        return self.preamble + self.delimiter + content

    def push(self, switch: _engine.Switch, start_cycle: int, gap: int = GAP_BYTES) -> int:
        """Puts it on the wire; gives its number."""
        return switch.push(
            self.port,
            start_cycle,
            self.data,
            preamble=self.preamble,
            delimiter=self.delimiter,
            gap=self.gap or gap,
            rx_er_at=self.rx_er_at,
            host=self.host,
        )


def damage(kind: str, size: int, max_frame_bytes: int, rng: random.Random) -> dict[str, int | bool]:
    """What makes a frame of this size wrong in this way: arguments of `Frame`."""
    match kind:
        case "fcs":
            return {"flipped": rng.randrange(8 * size)}
        case "rx_er":
            return {"rx_er_at": rng.randrange(size)}
        case "runt":
            return {"cut": rng.randint(1, MIN_FRAME_BYTES - 1)}
        case "giant":
            return {"size": max_frame_bytes + rng.randint(1, 100)}
        case "preamble":
            return {"delimiter": False}
    raise ValueError(f"{kind} is no kind of damage")


library = cache(build_model)


def configured_switch(config: SwitchConfig) -> _engine.Switch:
    """A Verilated switch, reset and configured."""
    return configured(_engine.Switch(library(ports=config.ports, host=config.host)), config)


def configured(switch: _engine.Switch, config: SwitchConfig) -> _engine.Switch:
    """The same switch, configured."""
    for address, value in configure(config, register_map()):
        switch.write(address, value)
    return switch


def refusals(refused: int, reasons: int, ports: int) -> dict[int, str]:
    """Of a verdict: the egress ports whose copy was refused, and why."""
    return {port: _engine.REASONS[reasons >> 8 * port & 255] for port in range(ports) if refused >> port & 1}


def refusal_counter(reason: str) -> str:
    """The counter of copies refused for this reason, if there is one."""
    return f"refused_{reason.removesuffix('_full').removeprefix('max_')}"


def read_register(switch: _engine.Switch, registers: RegisterMap, name: str) -> int:
    """A register of one word or two."""
    return sum(switch.read(address) << 32 * i for i, address in enumerate(registers[name].words))


def read_counters(switch: _engine.Switch, registers: RegisterMap, port: int) -> dict[str, int]:
    """All counters of a port that are not zero."""
    prefix = f"counters.port[{port}]."
    names = (name for name in registers if name.startswith(prefix))
    values = {name.removeprefix(prefix): read_register(switch, registers, name) for name in names}
    return {name: value for name, value in values.items() if value}


def drops_by_reason(counters: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The frames and copies that did not come out, by reason, from the counters of all ports."""
    drops: dict[str, int] = {}
    for port in counters:
        for reason, name in enumerate(_engine.REASONS):
            count = port.get(f"dropped[{reason}]", 0)
            count += port.get(refusal_counter(name), 0)
            if reason and count:
                drops[name] = drops.get(name, 0) + count
    return drops
