# SPDX-License-Identifier: Apache-2.0
"""What a network card has of ATS: a scheduler for each transmit queue, a group for each class of its port."""

from collections.abc import Mapping

from penstock.hardware.configure.tables import Table, Write, rate_entry, table_writes
from penstock.hardware.registers import RegisterMap

_QUEUES, _OVERHEAD = 0x690, 0x694  # where the card has them; tables are where the switch has its own


def ats_writes(
    registers: RegisterMap,
    rates: Mapping[int, tuple[int, int]],
    max_residence_ns: Mapping[int, int],
    overhead_bytes: int,
) -> list[Write]:
    """By queue its rate in b/s and burst in bytes; by class for how long a frame may be held."""
    if not rates:
        return []
    writes: list[Write] = []
    for queue, (rate_bps, burst_bytes) in rates.items():
        writes += table_writes(registers, Table.STREAM_RATE, queue, rate_entry(rate_bps, burst_bytes))
    for traffic_class, limit_ns in max_residence_ns.items():
        writes += table_writes(registers, Table.GROUP, traffic_class, limit_ns)
    return [*writes, (_OVERHEAD, overhead_bytes), (_QUEUES, sum(1 << queue for queue in rates))]
