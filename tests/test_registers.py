# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from penstock.hardware.registers import (
    TABLES,
    documentation,
    generate_regblock,
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
    words = [word for register in registers().values() for word in register.words]
    assert len(words) == len(set(words))


def test_wrong_field_and_wrong_value() -> None:
    with pytest.raises(KeyError, match="it has mask"):
        registers().write("port_enable", ports=1)
    with pytest.raises(ValueError, match="does not fit 8 bits"):
        registers().write("port_enable", mask=256)


def test_regblock_is_left_alone_when_nothing_changed(tmp_path: Path) -> None:
    files = generate_regblock(tmp_path)
    assert [path.name for path in files] == ["pen_switch_regs.vlt", "pen_switch_regs_pkg.sv", "pen_switch_regs.sv"]
    before = [path.stat().st_mtime_ns for path in files]
    assert [path.stat().st_mtime_ns for path in generate_regblock(tmp_path)] == before
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
    for table in range(6):
        assert f"\n| {table} | " in TABLES
