# SPDX-License-Identifier: Apache-2.0
"""Turns what a switch should do into the register writes that make it so, and into what the model takes."""

from penstock.hardware.configure.config import (
    CLASSES,
    IDENTIFY,
    IPV4_FIELDS,
    RESERVED_ADDRESSES,
    TRANSIT_CELLS_PER_PORT,
    ConfigurationError,
    GateControl,
    HardwareSize,
    Identify,
    StreamEntry,
    SwitchConfig,
    Translation,
)
from penstock.hardware.configure.hashing import fdb_set, place, slots_of_key, stream_key
from penstock.hardware.configure.model import model_config, model_shapers
from penstock.hardware.configure.shapers import gate_list_writes
from penstock.hardware.configure.switch import configure
from penstock.hardware.configure.tables import Table, Write, rate_entry, table_writes

__all__ = [
    "CLASSES",
    "IDENTIFY",
    "IPV4_FIELDS",
    "RESERVED_ADDRESSES",
    "TRANSIT_CELLS_PER_PORT",
    "ConfigurationError",
    "GateControl",
    "HardwareSize",
    "Identify",
    "StreamEntry",
    "SwitchConfig",
    "Table",
    "Translation",
    "Write",
    "configure",
    "fdb_set",
    "gate_list_writes",
    "model_config",
    "model_shapers",
    "place",
    "rate_entry",
    "slots_of_key",
    "stream_key",
    "table_writes",
]
