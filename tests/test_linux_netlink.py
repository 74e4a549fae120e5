# SPDX-License-Identifier: Apache-2.0
"""Qdiscs as netlink messages: against bytes put together by hand from <linux/pkt_sched.h>, and there and back."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.linux.netlink.connection import _text
from penstock.linux.netlink.messages import QdiscMessage
from penstock.linux.netlink.qdiscs import message, placed_of
from penstock.linux.qdisc import ROOT, Cbs, Entry, Etf, Mapping16, Mqprio, Placed, Qdisc, Taprio

_MAPPING = Mapping16((1, 0, 2, 3) + (0,) * 12, ((1, 0), (1, 1), (2, 2), (1, 4)))


def _attribute(kind: int, content: bytes) -> bytes:
    length = 4 + len(content)
    return struct.pack("=HH", length, kind) + content + bytes(-length % 4)


def _encoded(placed: Placed) -> bytes:
    made = message(3, placed)
    made.encode()
    return bytes(made.data)


def _there_and_back(qdisc: Qdisc) -> Qdisc:
    read = QdiscMessage(_encoded(Placed(0x1000000, ROOT, qdisc)))
    read.decode()
    assert (read["index"], read["handle"], read["parent"]) == (3, 0x1000000, ROOT)
    return placed_of(read).qdisc


def test_taprio_by_hand() -> None:
    qdisc = Taprio(_MAPPING, (Entry(0x8, 100_000), Entry(0x7, 900_000)), 5, 1_000_000, 7, 11, 1, 500, {2: 1500}, 24)
    counts, firsts = [1, 1, 2, 1, *[0] * 12], [0, 1, 2, 4, *[0] * 12]
    mapping = struct.pack("=B16sB16H16H", 4, bytes(_MAPPING.class_of_priority), 0, *counts, *firsts)
    assert len(mapping) == 82
    entry_list = b"".join(
        _attribute(
            1, _attribute(2, b"\0") + _attribute(3, struct.pack("=I", mask)) + _attribute(4, struct.pack("=I", ns))
        )
        for mask, ns in ((8, 100_000), (7, 900_000))
    )
    options = (
        _attribute(1, mapping)
        + _attribute(3, struct.pack("=q", 5))
        + _attribute(5, struct.pack("=i", 11))
        + _attribute(10, struct.pack("=I", 1))
        + _attribute(11, struct.pack("=I", 500))
        + _attribute(12 | 1 << 15, _attribute(1, struct.pack("=I", 2)) + _attribute(2, struct.pack("=I", 1500)))
        + _attribute(8, struct.pack("=q", 1_000_000))
        + _attribute(9, struct.pack("=q", 7))
        + _attribute(2, entry_list)
    )
    size_table = _attribute(8, _attribute(1, struct.pack("=BBhiIIII", 0, 0, 0, 24, 1, 0, 0, 0)))
    body = struct.pack("=BxxxiIII", 0, 3, 0x1000000, ROOT, 0)
    body += _attribute(1, b"taprio\0") + _attribute(2, options) + size_table
    assert _encoded(Placed(0x1000000, ROOT, qdisc))[16:] == body


def test_cbs_by_hand() -> None:
    encoded = _encoded(Placed(0x2010000, 0x1000002, Cbs(98688, -901312, 153, -1389, True)))
    parameters = struct.pack("=Bxxxiiii", 1, 153, -1389, 98688, -901312)
    assert _attribute(2, _attribute(1, parameters)) in encoded


@pytest.mark.parametrize("entries", [1, 8, 31, 32, 64, 256, 850])
def test_lists_of_any_length(entries: int) -> None:
    listed = tuple(Entry(index & 0xFF, 1000 + index) for index in range(entries))
    qdisc = Taprio(_MAPPING, listed, 2**62, 2**31 - 1, overhead_bytes=24)
    assert _there_and_back(qdisc) == qdisc


_NUMBERS = st.integers(-(2**31), 2**31 - 1)
_QDISCS = st.one_of(
    st.builds(Etf, st.integers(0, 2**31 - 1), st.just(11), st.booleans(), st.booleans(), st.booleans()),
    st.builds(Cbs, _NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS, st.booleans(), st.sampled_from([None, 24])),
    st.builds(Mqprio, st.just(_MAPPING), st.booleans()),
    st.builds(
        Taprio,
        mapping=st.just(_MAPPING),
        entries=st.lists(
            st.builds(Entry, st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(0, 2)), min_size=1
        ).map(tuple),
        base_time_ns=st.integers(0, 2**63 - 1),
        cycle_time_ns=st.integers(0, 2**63 - 1),
        cycle_time_extension_ns=st.integers(0, 2**63 - 1),
        clock=st.sampled_from([None, 0, 1, 7, 11]),
        flags=st.sampled_from([0, 1, 2]),
        txtime_delay_ns=st.integers(0, 2**31 - 1),
        max_sdu_bytes=st.dictionaries(st.integers(0, 15), st.integers(1, 2000)),
        overhead_bytes=st.sampled_from([None, 0, 24]),
    ),
)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(_QDISCS)
def test_there_and_back(qdisc: Qdisc) -> None:
    assert _there_and_back(qdisc) == qdisc


def test_a_list_that_waits_is_the_one_that_was_given_last() -> None:
    acting = Taprio(_MAPPING, (Entry(1, 500),), 1, 500)
    made = message(3, Placed(0x1000000, ROOT, acting))
    options = made["attrs"][1][1]["attrs"]
    entry = [("TCA_TAPRIO_SCHED_ENTRY_GATE_MASK", 6), ("TCA_TAPRIO_SCHED_ENTRY_INTERVAL", 700)]
    waiting = [
        ("TCA_TAPRIO_ATTR_SCHED_BASE_TIME", 99),
        ("TCA_TAPRIO_ATTR_SCHED_CYCLE_TIME", 700),
        ("TCA_TAPRIO_ATTR_SCHED_ENTRY_LIST", {"attrs": [("TCA_TAPRIO_SCHED_ENTRY", {"attrs": entry})]}),
    ]
    options.append(("TCA_TAPRIO_ATTR_ADMIN_SCHED", {"attrs": waiting}))
    made.encode()
    read = QdiscMessage(bytes(made.data))
    read.decode()
    found = placed_of(read).qdisc
    assert isinstance(found, Taprio)
    assert (found.entries, found.base_time_ns, found.cycle_time_ns) == ((Entry(6, 700),), 99, 700)
    assert found.max_sdu_bytes is None  # not told before the list has begun


def test_the_words_of_the_kernel() -> None:
    assert _text(_attribute(2, b"\1\0\0\0") + _attribute(1, b"Multi-queue device is required\0")) == (
        "Multi-queue device is required"
    )
    assert _text(b"") is None
