# SPDX-License-Identifier: Apache-2.0
"""What is asked of values, of whatever kind they are."""

from collections.abc import Iterable

from penstock.hardware.configure.config import CLASSES, ConfigurationError, SwitchConfig


def check(value: int, low: int, high: int, what: str, where: str) -> None:
    """Raises ConfigurationError unless the value is a whole number from low to high."""
    if not isinstance(value, int) or not low <= value <= high:
        raise ConfigurationError(f"{what} is {value}", where, f"allowed are {low} to {high}")


def mask_of(members: Iterable[int], count: int, what: str, where: str) -> int:
    """One bit for each member; raises ConfigurationError for a member that there is not."""
    mask = 0
    for member in members:
        check(member, 0, count - 1, what, where)
        mask |= 1 << member
    return mask


def check_place(config: SwitchConfig, port: int, traffic_class: int, what: str) -> str:
    """How messages name an entry of an egress port and class; raises ConfigurationError if there is none such."""
    where = f"{what}[{port}, {traffic_class}]"
    check(port, 0, config.ports - 1, "port", where)
    check(traffic_class, 0, CLASSES - 1, "traffic class", where)
    return where


def check_slopes(config: SwitchConfig, most_bps: int) -> None:
    """Raises ConfigurationError for an idle slope that no port has."""
    for (port, traffic_class), slope in config.idle_slope_bps.items():
        where = check_place(config, port, traffic_class, "idle_slope_bps")
        check(slope, 8, most_bps, "idle slope in bits per second", where)


def check_gates(config: SwitchConfig) -> None:
    """Raises ConfigurationError for a gate control list that the switch cannot take."""
    least = config.size.shortest_interval_ns
    for port, gates in config.gates.items():
        where = f"gates[{port}]"
        check(port, 0, config.ports - 1, "port", where)
        check(len(gates.entries), 1, config.size.gate_entries, "number of gate entries", where)
        check(gates.cycle_time_ns, least, 2**32 - 1, "cycle time in nanoseconds", where)
        check(gates.cycle_time_extension_ns, 0, 2**32 - 1, "cycle time extension in nanoseconds", where)
        check(gates.base_time_ns, 0, 2**63 - 1, "base time in nanoseconds", where)
        check(gates.initial_states, 0, 0xFF, "initial gate states", where)
        for index, (states, interval_ns) in enumerate(gates.entries):
            check(states, 0, 0xFF, "gate states", f"{where}.entries[{index}]")
            check(interval_ns, least, 2**32 - 1, "interval in nanoseconds", f"{where}.entries[{index}]")
