# SPDX-License-Identifier: Apache-2.0
"""Lengths of Ethernet in bytes, as the engine has them (`engine/frame/src/lib.rs`); a test holds them equal."""

from __future__ import annotations

AHEAD_BYTES = 8  # preamble and start-of-frame delimiter
GAP_BYTES = 12  # the shortest one between two frames
WIRE_OVERHEAD_BYTES = AHEAD_BYTES + GAP_BYTES
MIN_FRAME_BYTES = 64

MAC_HEADER_BYTES = 14  # addresses and EtherType
TAG_BYTES = 4
R_TAG_BYTES = 6
IPV4_UDP_BYTES = 28
FCS_BYTES = 4
# Header and FCS around a service data unit; a tag is part of the unit, as the MAC service has it.
SDU_OVERHEAD_BYTES = MAC_HEADER_BYTES + FCS_BYTES
