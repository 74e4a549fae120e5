# SPDX-License-Identifier: Apache-2.0
"""What an egress port does with the tag of a frame, and how long the frame has the wire then."""

KEEP, REMOVE, INSERT, REWRITE = range(4)
TAG_BYTES = 4
SHORTEST = 64
MOST_FAST_PORTS = 4  # of a switch with more, a frame that loses its tag takes as long as with it


def sent_length(length: int, tag: int) -> int:
    """Bytes that leave, from destination address to FCS."""
    if tag == INSERT:
        return length + TAG_BYTES
    return max(SHORTEST, length - TAG_BYTES) if tag == REMOVE else length


def slot_length(length: int, tag: int, ports: int) -> int:
    """Bytes for which the port has the wire."""
    waits = TAG_BYTES if tag == REMOVE and ports > MOST_FAST_PORTS else 0
    return sent_length(length, tag) + waits
