# SPDX-License-Identifier: Apache-2.0
"""The register writes that make a switch do what it should."""

from penstock.hardware.configure.check import check, mask_of
from penstock.hardware.configure.config import MAX_PORTS, SwitchConfig
from penstock.hardware.configure.forwarding import address_writes, vlans_writes
from penstock.hardware.configure.settings import limits_writes, settings_writes
from penstock.hardware.configure.shapers import class_frames_writes, credit_writes, gates_writes, round_robin_writes
from penstock.hardware.configure.streams import groups_writes, streams_writes
from penstock.hardware.configure.tables import Write
from penstock.hardware.registers import RegisterMap


def configure(config: SwitchConfig, registers: RegisterMap) -> list[Write]:
    """The writes that bring a switch from reset to this configuration, in order.

    The ports are disabled first and enabled last, so no frame meets half a configuration.
    """
    check(config.ports, 2, MAX_PORTS, "number of ports", "ports")
    enabled = set(range(config.ports)) if config.enabled_ports is None else config.enabled_ports
    mask = mask_of(enabled, config.ports, "port", "enabled_ports")
    return [
        registers.write("port_enable", mask=0),
        *settings_writes(config, registers),
        *limits_writes(config, registers),
        *vlans_writes(config, registers),
        *address_writes(config, registers),
        *groups_writes(config, registers),
        *streams_writes(config, registers),
        *class_frames_writes(config, registers),
        *gates_writes(config, registers),
        *credit_writes(config, registers),
        *round_robin_writes(config, registers),
        registers.write("port_enable", mask=mask),
    ]
