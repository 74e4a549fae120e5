# SPDX-License-Identifier: Apache-2.0
"""Our switch, set as the real one was, and the frames that it knows."""

from __future__ import annotations

import zlib
from typing import Any, Literal, Protocol

from penstock.errors import EngineError, InputError
from penstock.ethernet import FCS_BYTES
from penstock.hardware.configure import ConfigurationError, StreamEntry, SwitchConfig
from penstock.replay.recording import CLASSES, Recording

Nodes = Literal["model", "rtl"]
VLAN = 10
LISTENER_MAC = 0x02_0000_00FF01
TALKER_MAC = 0x02_0000_000100  # and the number of the flow
ETHERTYPE = b"\x88\xb5"


class Switch(Protocol):
    """The Verilated switch or its model: both are fed and watched in the same way."""

    @property
    def cycle(self) -> int: ...
    @property
    def inside(self) -> int: ...
    @property
    def waiting(self) -> int: ...
    def write(self, address: int, value: int) -> None: ...
    def push(self, port: int, start_cycle: int, frame: bytes, *, gap: int) -> int: ...
    def run(self, until_cycle: int) -> None: ...
    def events(self) -> Any: ...


def switch_config(recording: Recording) -> SwitchConfig:
    """Our switch, set as the real one was.

    A flow is known by its source address, so that its forwarding needs one entry and its name no place in the frame.
    """
    ats = [(index, flow) for index, flow in enumerate(recording.flows) if flow.shaper == "ats"]
    first = ats[0][1] if ats else None
    config = SwitchConfig(
        ports=recording.ports,
        class_of_pcp=range(CLASSES),
        ats_classes={flow.traffic_class for _, flow in ats},
        max_frame_bytes=max(1522, *(flow.frame_bytes for flow in recording.flows)),
        learning=False,
        vlans={VLAN: set(range(recording.ports))},
        static_addresses=[(LISTENER_MAC, VLAN, {recording.run.received_port})],
        streams=[
            StreamEntry(
                name=flow.name,
                port=flow.sent_port,
                identify="source",
                mac=TALKER_MAC + index,
                vlan=VLAN,
                rate_bps=round(flow.committed_information_rate_bps or 0),
                burst_bytes=flow.committed_burst_size_bytes or 0,
            )
            for index, flow in ats
        ],
        max_residence_ns={
            (flow.sent_port, flow.traffic_class): flow.max_residence_time_ns
            for _, flow in ats
            if flow.max_residence_time_ns is not None
        },
        processing_delay_max_ns=first.processing_delay_max_ns if first else None,
    )
    # How much the real switch can hold is not recorded, so that ours holds what it can.
    config.queue_limit_cells = config.class_limit_cells = dict.fromkeys(range(CLASSES), config.size.cells)
    if first is not None:
        config.overhead_bytes = first.wire_bytes - first.frame_bytes
    return config


def our_switch(recording: Recording, nodes: Nodes) -> Switch:
    """Our switch, after its register writes."""
    from penstock import _engine
    from penstock.hardware.configure import configure
    from penstock.hardware.registers import registers

    try:
        writes = configure(switch_config(recording), registers())
    except ConfigurationError as error:
        raise InputError(
            f"our switch cannot do this: {error.what}", allowed=error.allowed, file=recording.folder / "run.toml",
            key=error.where,
        ) from None  # fmt: skip
    switch: Switch
    if nodes == "model":
        switch = _engine.Switch.model(recording.ports)
    else:
        from penstock.hardware.model import build_model
        from penstock.hardware.tools import ToolError

        try:
            switch = _engine.Switch(build_model(ports=recording.ports))
        except ToolError as error:
            raise EngineError(str(error)) from error
    for address, value in writes:
        switch.write(address, value)
    return switch


def frame_bytes_of(recording: Recording, index: int) -> bytes:
    """A frame of the record, with its place there and its FCS."""
    frame = recording.frames[index]
    flow = recording.flows[frame.flow]
    tag = b"\x81\x00" + (flow.traffic_class << 13 | VLAN).to_bytes(2)
    head = LISTENER_MAC.to_bytes(6) + (TALKER_MAC + frame.flow).to_bytes(6) + tag + ETHERTYPE + index.to_bytes(8)
    body = head.ljust(frame.bytes - FCS_BYTES, b"\0")
    return body + zlib.crc32(body).to_bytes(FCS_BYTES, "little")
