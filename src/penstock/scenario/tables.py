# SPDX-License-Identifier: Apache-2.0
"""Whether a network fits the tables of the hardware."""

from __future__ import annotations

from penstock.scenario.draft import Draft
from penstock.scenario.limits import HARDWARE_STREAMS
from penstock.scenario.network import Bridge, Network
from penstock.scenario.positions import KeyPath


def check_tables(draft: Draft, network: Network) -> None:
    """The places in the tables of the hardware."""
    rtl = [bridge for bridge in network.bridges.values() if bridge.nodes == "rtl"]
    if not rtl or draft.report.found:
        return
    from penstock.hardware.configure import ConfigurationError, configure
    from penstock.hardware.registers import registers
    from penstock.hardware.tools import ToolError
    from penstock.plan import switch_config

    try:
        known = registers()
    except ToolError as error:
        draft.report.warn(("nodes",), f"not held against the tables of the hardware: {error}")
        return
    for bridge in rtl:
        config = switch_config(network, bridge)
        remedy = f'or nodes = "model" for "{bridge.name}"'
        if len(config.streams) > HARDWARE_STREAMS:
            last = config.streams[HARDWARE_STREAMS].name
            what = f'"{bridge.name}" shapes {len(config.streams)} streams, this is number {HARDWARE_STREAMS + 1}'
            draft.report.add(("streams", last, "ats"), what, f"{HARDWARE_STREAMS} in hardware, {remedy}")
            continue
        try:
            configure(config, known)
        except ConfigurationError as error:
            path = _configured(draft, network, bridge, error.where)
            what = f'does not fit the tables of "{bridge.name}": {error.what}'
            draft.report.add(path, what, f"{error.allowed}, {remedy}")


def _configured(draft: Draft, network: Network, bridge: Bridge, where: str) -> KeyPath:
    """What the scenario calls the place at which the hardware's configuration is refused."""
    for stream, _ in network.passing[bridge.name]:
        mac = stream.destination_mac.to_bytes(6).hex(":")
        if where == f"streams.{stream.name}" or f" {mac} " in where:
            return ("streams", stream.name)
    return draft.origin[bridge.name]
