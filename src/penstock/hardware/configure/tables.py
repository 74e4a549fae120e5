# SPDX-License-Identifier: Apache-2.0
"""Register writes that set an entry of a table."""

from enum import IntEnum

from penstock import _engine
from penstock.hardware.configure.config import StreamEntry
from penstock.hardware.registers import RegisterMap

Write = tuple[int, int]  # address, value


class Table(IntEnum):
    """What a commit writes to; `table_e` of the hardware, and the mask of the IPv4 identification."""

    STREAM_KEY = 0
    STREAM_RATE = 1
    GROUP = 2
    VLAN = 3
    FDB = 4
    IDENTIFY_MASK = 5
    GATE_ENTRY = 6
    CREDIT = 7
    MAX_SDU = 8
    NUMBERING = 10


def rate_entry(rate_bps: int, burst_bytes: int) -> int:
    """The table entry of a rate and burst; the integers are those of the engine's ATS scheduler."""
    return registers_of(*_engine.ats_rate(rate_bps, burst_bytes))


def registers_of(ns_per_byte: int, empty_to_full: int) -> int:
    """The same of what the registers hold."""
    return empty_to_full << 44 | ns_per_byte


def rate_of(entry: StreamEntry) -> tuple[int, int]:
    """What the scheduler of a stream has in its registers: time of a byte, and of the burst."""
    ns_per_byte, empty_to_full = _engine.ats_rate(entry.rate_bps, entry.burst_bytes)
    return ns_per_byte if entry.holds else 1, empty_to_full


def table_writes(registers: RegisterMap, table: Table, index: int, data: int) -> list[Write]:
    """Stages and commits one table entry."""
    words = [registers.write(f"table_data[{w}]", value=data >> 32 * w & 0xFFFF_FFFF) for w in range(4)]
    return [*words, registers.write("table_index", value=index), registers.write("table_commit", which=table)]
