# SPDX-License-Identifier: Apache-2.0
"""How a change is taken back."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.hardware.configure import SwitchConfig, Table, Write, configure, table_writes
from penstock.hardware.registers import registers as register_map


class Before:
    """What registers and tables held before the first change."""

    def __init__(self, config: SwitchConfig) -> None:
        self.registers = register_map()
        self.values = {register.address: register.pack() for register in self.registers.values()}
        self.tables: dict[tuple[int, int], int] = {}
        words = [self.registers.address(f"table_data[{n}]") for n in range(4)]
        self.index, self.commit = (self.registers.address(name) for name in ("table_index", "table_commit"))
        for address, value in configure(config, self.registers):
            self.values[address] = value
            if address == self.commit:
                data = sum(self.values[word] << 32 * n for n, word in enumerate(words))
                self.tables[value, self.values[self.index]] = data

    def of(self, writes: Sequence[Write]) -> list[Write]:
        """The writes that take these back."""
        values = dict(writes)
        if self.commit in values:
            table, index = values[self.commit], values[self.index]
            return table_writes(self.registers, Table(table), index, self.tables.get((table, index), 0))
        return [(address, self.values[address]) for address in values]
