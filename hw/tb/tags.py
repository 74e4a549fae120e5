# SPDX-License-Identifier: Apache-2.0
"""What an egress port does with the tags of a frame, and how long the frame has the wire then."""

KEEP, REMOVE, INSERT, REWRITE = range(4)
R_KEEP, R_INSERT, R_REMOVE = range(3)
TAG_BYTES, R_TAG_BYTES = 4, 6
SHORTEST = 64
MOST_FAST_PORTS = 4  # of a switch with more, a frame that becomes shorter takes as long as before


def growth(tag: int, r_tag: int) -> int:
    """Bytes by which a frame becomes longer."""
    return {INSERT: TAG_BYTES, REMOVE: -TAG_BYTES}.get(tag, 0) + {R_INSERT: R_TAG_BYTES, R_REMOVE: -R_TAG_BYTES}.get(
        r_tag, 0
    )


def sent_length(length: int, tag: int, r_tag: int = R_KEEP) -> int:
    """Bytes that leave, from destination address to FCS."""
    more = growth(tag, r_tag)
    return max(SHORTEST, length + more) if more < 0 else length + more


def slot_length(length: int, tag: int, ports: int, r_tag: int = R_KEEP) -> int:
    """Bytes for which the port has the wire."""
    waits = max(0, -growth(tag, r_tag)) if ports > MOST_FAST_PORTS else 0
    return sent_length(length, tag, r_tag) + waits
