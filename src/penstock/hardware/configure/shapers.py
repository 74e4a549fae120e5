# SPDX-License-Identifier: Apache-2.0
"""Gates, credit and longest frames of the egress ports."""

from penstock import _engine
from penstock.hardware.configure.check import check, check_gates, check_place, check_slopes, mask_of
from penstock.hardware.configure.config import CLASSES, LINE_RATE_BPS, ConfigurationError, GateControl, SwitchConfig
from penstock.hardware.configure.tables import Table, Write, table_writes
from penstock.hardware.registers import RegisterMap


def class_frames_writes(config: SwitchConfig, registers: RegisterMap) -> list[Write]:
    """QueueMaxSDU of each port and class, as the longest frame."""
    writes = []
    for (port, traffic_class), limit in config.max_class_frame_bytes.items():
        where = check_place(config, port, traffic_class, "max_class_frame_bytes")
        check(limit, 64, 2000, "longest frame in bytes", where)
        writes += table_writes(registers, Table.MAX_SDU, port << 3 | traffic_class, limit)
    return writes


def credit_writes(config: SwitchConfig, registers: RegisterMap) -> list[Write]:
    """Idle slopes of the credit-based shapers."""
    check_slopes(config, LINE_RATE_BPS)
    if not config.idle_slope_bps:
        return []
    writes = [registers.write("cbs_count_gap", enable=int(config.count_gap))]
    for (port, traffic_class), slope in config.idle_slope_bps.items():
        units = _engine.idle_slope(slope)
        writes += table_writes(registers, Table.CREDIT, port << 3 | traffic_class, 1 << 96 | units)
    return writes


def round_robin_writes(config: SwitchConfig, registers: RegisterMap) -> list[Write]:
    """Classes that take turns, of each port."""
    writes = []
    for port, level in config.round_robin.items():
        check(port, 0, config.ports - 1, "port", f"round_robin[{port}]")
        mask = mask_of(level, CLASSES, "class", f"round_robin[{port}]")
        writes.append(registers.write(f"round_robin[{port}]", mask=mask))
    return writes


def gates_writes(config: SwitchConfig, registers: RegisterMap) -> list[Write]:
    """The gate control lists of all ports."""
    check_gates(config)
    for name in ("window_without_gap", "credit_frozen_in_guard_band"):
        if getattr(config, name):
            raise ConfigurationError("only models count so", name, "False is allowed in hardware")
    if not config.gates:
        return []
    writes = [
        registers.write(f"admin_gate_states[{port}]", mask=gates.initial_states) for port, gates in config.gates.items()
    ]
    # Before the credit, whose idle slopes may only be more than a port's rate together where there are gates.
    writes.append(registers.write("gate_enable", mask=sum(1 << port for port in config.gates)))
    for port, gates in config.gates.items():
        writes += gate_list_writes(registers, port, gates)
    return writes


def gate_list_writes(registers: RegisterMap, port: int, gates: GateControl) -> list[Write]:
    """Stages a list and has a port take it over at its time."""
    writes: list[Write] = []
    for index, (states, interval_ns) in enumerate(gates.entries):
        writes += table_writes(registers, Table.GATE_ENTRY, index, states << 32 | interval_ns)
    seconds, nanoseconds = divmod(gates.base_time_ns, 10**9)
    return [
        *writes,
        registers.write("admin_base_time_seconds_low", value=seconds & 0xFFFF_FFFF),
        registers.write("admin_base_time_seconds_high", value=seconds >> 32),
        registers.write("admin_base_time_nanoseconds", ns=nanoseconds),
        registers.write("admin_cycle_time", ns=gates.cycle_time_ns),
        registers.write("admin_cycle_time_extension", ns=gates.cycle_time_extension_ns),
        registers.write("admin_control_list_length", entries=len(gates.entries)),
        registers.write("gate_commit", port=port),
    ]
