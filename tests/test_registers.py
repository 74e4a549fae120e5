# SPDX-License-Identifier: Apache-2.0
import re
from pathlib import Path
from typing import Any

import pytest

from penstock.hardware.configure import GateControl, SwitchConfig, configure
from penstock.hardware.configure.tables import Table, table_writes
from penstock.hardware.registers import (
    TABLES,
    documentation,
    generate_regblock,
    mailbox_registers,
    registers,
    switch_files,
    write_c_header,
)
from penstock.hardware.tools import hardware_folder


def test_addresses_and_fields() -> None:
    found = registers()
    assert found.address("id") == 0
    assert found["id"].fields["value"].reset == 0x50454E53
    assert found.address("port_vlan[3]") == 0x14C
    assert found.address("counters.port[2].received[5]") == 0x1000 + 2 * 0x100 + 0x40 + 4 * 5
    assert found["counters.port[7].sent_bytes"].words == (0x17C8, 0x17CC)
    assert found.write("class_of_pcp", pcp3=6) == (0x108, 0x54326601)
    assert found["class_of_pcp"].fields["pcp7"].extract(0x54327601) == 5


def test_every_word_has_one_register() -> None:
    words = [word for one in (registers(), mailbox_registers()) for register in one.values() for word in register.words]
    assert len(words) == len(set(words))


def test_wrong_field_and_wrong_value() -> None:
    with pytest.raises(KeyError, match="it has mask"):
        registers().write("port_enable", ports=1)
    with pytest.raises(ValueError, match="does not fit 8 bits"):
        registers().write("port_enable", mask=256)


def test_regblock_is_left_alone_when_nothing_changed(tmp_path: Path) -> None:
    files = [*generate_regblock(tmp_path), *generate_regblock(tmp_path, "pen_nic")]
    assert [path.name for path in files] == ["pen_switch_map_pkg.sv", "pen_nic_map_pkg.sv"]
    before = [path.stat().st_mtime_ns for path in files]
    again = [*generate_regblock(tmp_path), *generate_regblock(tmp_path, "pen_nic")]
    assert [path.stat().st_mtime_ns for path in again] == before
    assert sorted(tmp_path.iterdir()) == sorted(files)


def test_the_register_block_is_generated_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    first = switch_files()
    monkeypatch.setattr("penstock.hardware.registers.generate_regblock", pytest.fail)
    assert switch_files() == first
    assert all(path.exists() for path in first)


def test_documentation_and_header_are_up_to_date(tmp_path: Path) -> None:
    hint = "run `penstock hw docs`"
    assert (hardware_folder().parent / "docs" / "registers.md").read_text() == documentation(), hint
    write_c_header(tmp_path / "pen_switch.h")
    assert (hardware_folder() / "regs" / "pen_switch.h").read_text() == (tmp_path / "pen_switch.h").read_text(), hint


def layout(table: Table) -> dict[str, tuple[int, int]]:
    """The fields that the page gives a table's entry: highest and lowest bit of each."""
    (row,) = re.findall(rf"^\| {table.value} \| .*$", TABLES, re.MULTILINE)
    return {name: (int(high), int(low or high)) for high, low, name in re.findall(r"(\d+)(?::(\d+))? `(\w+)`", row)}


@pytest.mark.parametrize("table", Table)
def test_the_page_has_each_table_once(table: Table) -> None:
    layout(table)


@pytest.mark.parametrize(
    ("table", "written", "index", "fields"),
    [
        (
            Table.GATE_ENTRY,
            {"gates": {1: GateControl([(0x81, 100), (0x7E, 250)], cycle_time_ns=350)}},
            1,
            {"states": 0x7E, "interval_ns": 250},
        ),
        (Table.CREDIT, {"idle_slope_bps": {(2, 5): 125_000_000}}, 2 << 3 | 5, {"enable": 1, "idle_slope": 2**24}),
        (Table.MAX_SDU, {"max_class_frame_bytes": {(3, 4): 1018}}, 3 << 3 | 4, {"bytes": 1018}),
    ],
)
def test_the_page_has_the_layout_that_is_written(
    table: Table, written: dict[str, Any], index: int, fields: dict[str, int]
) -> None:
    stated = layout(table)
    data = sum(value << stated[name][1] for name, value in fields.items())
    entry = table_writes(registers(), table, index, data)
    writes = configure(SwitchConfig(**written), registers())
    assert any(writes[n : n + len(entry)] == entry for n in range(len(writes)))


def test_the_page_has_the_bits_of_the_hardware() -> None:
    package = (hardware_folder() / "rtl" / "pen_pkg.sv").read_text()
    for table in (Table.GATE_ENTRY, Table.CREDIT, Table.MAX_SDU):
        (said,) = re.findall(rf"TABLE_{table.name} *= 4'd{table.value}.*data {{(.*?)}}", package)
        bits = {
            name: (int(high), int(low or high)) for name, high, low in re.findall(r"(\w+)\[(\d+)(?::(\d+))?\]", said)
        }
        assert bits == layout(table)
