# SPDX-License-Identifier: Apache-2.0
"""VLANs and static addresses."""

from penstock.hardware.configure.check import check, mask_of
from penstock.hardware.configure.config import ConfigurationError, SwitchConfig, Translation
from penstock.hardware.configure.hashing import fdb_set
from penstock.hardware.configure.tables import Table, Write, table_writes
from penstock.hardware.registers import RegisterMap


def vlans_writes(config: SwitchConfig, registers: RegisterMap) -> list[Write]:
    """The member ports of each VLAN, which of them send its frames without a tag, and what its tag becomes."""
    writes = []
    for vlan, members in config.vlans.items():
        check(vlan, 1, 4094, "VLAN id", "vlans")
        mask = mask_of(members, config.ports, "port", f"vlans[{vlan}]")
        untagged = mask_of(config.untagged.get(vlan, set()), config.ports, "port", f"untagged[{vlan}]")
        writes += table_writes(registers, Table.VLAN, vlan, _translation(config, vlan) << 16 | untagged << 8 | mask)
    for name, entries in (("untagged", config.untagged), ("translations", config.translations)):
        for vlan in entries.keys() - config.vlans.keys():
            raise ConfigurationError("the VLAN has no members", f"{name}[{vlan}]", "allowed are those of vlans")
    return writes


def _translation(config: SwitchConfig, vlan: int) -> int:
    """As the entry of a VLAN has it: whether there is a priority code point, that, and the VLAN id."""
    translation, where = config.translations.get(vlan, Translation()), f"translations[{vlan}]"
    if translation.vlan is not None:
        check(translation.vlan, 1, 4094, "VLAN id", where)
    if translation.pcp is None:
        return translation.vlan or 0
    check(translation.pcp, 0, 7, "priority code point", where)
    return 1 << 15 | translation.pcp << 12 | (translation.vlan or 0)


def address_writes(config: SwitchConfig, registers: RegisterMap) -> list[Write]:
    """Static entries of the forwarding database."""
    writes: list[Write] = []
    ways: dict[int, list[tuple[int, int]]] = {}
    for address, vlan, ports in config.static_addresses:
        where = f"static_addresses: {address_text(address)} VLAN {vlan}"
        check(address, 0, 2**48 - 1, "address", where)
        check(vlan, 1, 4094, "VLAN id", where)
        mask = mask_of(ports, config.ports, "port", where)
        taken = ways.setdefault(fdb_set(address, vlan, config.size.fdb_sets), [])
        if (address, vlan) in taken:
            raise ConfigurationError("the address is given twice", where, "an address stands once per VLAN")
        if len(taken) == 2:
            others = " and ".join(f"{address_text(a)} VLAN {v}" for a, v in taken)
            raise ConfigurationError("no room", where, f"{others} share its hash, and two entries may; leave one out")
        data = 1 << 71 | 1 << 70 | 3 << 68 | mask << 60 | vlan << 48 | address
        index = len(taken) << 15 | fdb_set(address, vlan, config.size.fdb_sets)
        taken.append((address, vlan))
        writes += table_writes(registers, Table.FDB, index, data)
    return writes


def address_text(address: int) -> str:
    """A MAC address as it is written."""
    return ":".join(f"{address >> shift & 0xFF:02x}" for shift in range(40, -8, -8))
