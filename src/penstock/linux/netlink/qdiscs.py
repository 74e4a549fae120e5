# SPDX-License-Identifier: Apache-2.0
"""Qdiscs to netlink messages and back."""

from __future__ import annotations

import struct
from typing import Any

from penstock.linux.netlink.connection import CREATE, REPLACE, Connection
from penstock.linux.netlink.messages import QdiscMessage
from penstock.linux.qdisc import ROOT, Cbs, Entry, Etf, Mapping16, Mqprio, Other, Placed, Qdisc, Taprio

_NEW, _DELETE, _GET = 36, 37, 38  # RTM_*QDISC
_MAPPING = struct.Struct("=B16sB16H16H")  # struct tc_mqprio_qopt
_MAPPING_BYTES = 84  # with what aligns what may follow
_DEADLINE, _OFFLOAD, _SKIP = 1, 2, 4  # TC_ETF_*
_PREFIX = "TCA_TAPRIO_ATTR_"


def replace_qdisc(connection: Connection, index: int, placed: Placed) -> None:
    """Puts a qdisc at its place, instead of what is there."""
    connection.request(message(index, placed), _NEW, CREATE | REPLACE)


def delete_root(connection: Connection, index: int) -> None:
    """Removes the root qdisc with all below it; the kernel puts its default there."""
    request = QdiscMessage()
    request["index"], request["parent"] = index, ROOT
    connection.request(request, _DELETE)


def qdiscs_of(connection: Connection, index: int) -> tuple[Placed, ...]:
    """The qdiscs of an interface as the kernel has them."""
    found = connection.dump(QdiscMessage(), _GET)
    return tuple(placed_of(each) for each in found if each["index"] == index)


def message(index: int, placed: Placed) -> Any:
    """The request that makes a qdisc, or as the kernel lists it."""
    made = QdiscMessage()
    made["index"], made["handle"], made["parent"] = index, placed.handle, placed.parent
    attributes: list[Any] = [("TCA_KIND", placed.qdisc.kind)]
    options = _options(placed.qdisc)
    if options is not None:
        attributes.append(("TCA_OPTIONS", options))
    overhead = getattr(placed.qdisc, "overhead_bytes", None)
    if overhead is not None:
        # Without a table of sizes the kernel adds the overhead exactly; tc sends a table, which rounds up to 4 bytes.
        base = {"overhead": overhead, "linklayer": 1}
        attributes.append(("TCA_STAB", {"attrs": [("TCA_STAB_BASE", base)]}))
    made["attrs"] = attributes
    return made


def placed_of(message: Any) -> Placed:
    """What a message of the kernel says."""
    return Placed(message["handle"], message["parent"], _qdisc(message))


def _options(qdisc: Qdisc) -> Any:
    if isinstance(qdisc, Mqprio):
        return _mapping_bytes(qdisc.mapping, qdisc.hardware).ljust(_MAPPING_BYTES, b"\0")
    if isinstance(qdisc, Taprio):
        return {"attrs": _taprio_attributes(qdisc)}
    if isinstance(qdisc, Etf):
        flags = _DEADLINE * qdisc.deadline_mode | _OFFLOAD * qdisc.offload | _SKIP * qdisc.skip_sock_check
        return {"attrs": [("TCA_ETF_PARMS", {"delta": qdisc.delta_ns, "clockid": qdisc.clock, "flags": flags})]}
    if isinstance(qdisc, Cbs):
        parameters = {
            "offload": int(qdisc.offload),
            "hicredit": qdisc.hi_credit_bytes,
            "locredit": qdisc.lo_credit_bytes,
            "idleslope": qdisc.idle_slope_kbps,
            "sendslope": qdisc.send_slope_kbps,
        }
        return {"attrs": [("TCA_CBS_PARMS", parameters)]}
    return None


def _taprio_attributes(qdisc: Taprio) -> list[Any]:
    found: list[Any] = []
    if qdisc.mapping is not None:
        found.append((_PREFIX + "PRIOMAP", _mapping_bytes(qdisc.mapping, False)))
    found.append((_PREFIX + "SCHED_BASE_TIME", qdisc.base_time_ns))
    if qdisc.clock is not None:
        found.append((_PREFIX + "SCHED_CLOCKID", qdisc.clock))
    if qdisc.flags:
        found.append((_PREFIX + "FLAGS", qdisc.flags))
    if qdisc.txtime_delay_ns:
        found.append((_PREFIX + "TXTIME_DELAY", qdisc.txtime_delay_ns))
    for number, size in sorted((qdisc.max_sdu_bytes or {}).items()):
        limit = [("TCA_TAPRIO_TC_ENTRY_INDEX", number), ("TCA_TAPRIO_TC_ENTRY_MAX_SDU", size)]
        found.append((_PREFIX + "TC_ENTRY", {"attrs": limit}))
    found.append((_PREFIX + "SCHED_CYCLE_TIME", qdisc.cycle_time_ns))
    if qdisc.cycle_time_extension_ns:
        found.append((_PREFIX + "SCHED_CYCLE_TIME_EXTENSION", qdisc.cycle_time_extension_ns))
    entries = [
        (
            "TCA_TAPRIO_SCHED_ENTRY",
            {
                "attrs": [
                    ("TCA_TAPRIO_SCHED_ENTRY_CMD", entry.command),
                    ("TCA_TAPRIO_SCHED_ENTRY_GATE_MASK", entry.mask),
                    ("TCA_TAPRIO_SCHED_ENTRY_INTERVAL", entry.interval_ns),
                ]
            },
        )
        for entry in qdisc.entries
    ]
    found.append((_PREFIX + "SCHED_ENTRY_LIST", {"attrs": entries}))
    return found


def _mapping_bytes(mapping: Mapping16, hardware: bool) -> bytes:
    unused = [0] * (16 - len(mapping.queues))
    counts = [count for count, _ in mapping.queues] + unused
    firsts = [first for _, first in mapping.queues] + unused
    classes = bytes(mapping.class_of_priority)
    return _MAPPING.pack(len(mapping.queues), classes, int(hardware), *counts, *firsts)


def _mapping_of(data: bytes) -> tuple[Mapping16, bool]:
    number, classes, hardware, *rest = _MAPPING.unpack_from(data)
    return Mapping16(tuple(classes), tuple(zip(rest[:number], rest[16 : 16 + number], strict=True))), bool(hardware)


def _qdisc(message: Any) -> Qdisc:
    kind = message.get_attr("TCA_KIND")
    options = message.get_attr("TCA_OPTIONS")
    if options is None:
        return Other(kind)
    if kind == "mqprio":
        mapping, hardware = _mapping_of(options)
        return Mqprio(mapping, hardware)
    if kind == "taprio":
        return _taprio(options, _overhead(message))
    if kind == "etf":
        found = options.get_attr("TCA_ETF_PARMS")
        flags = found["flags"]
        return Etf(
            found["delta"], found["clockid"], bool(flags & _DEADLINE), bool(flags & _OFFLOAD), bool(flags & _SKIP)
        )
    if kind == "cbs":
        found = options.get_attr("TCA_CBS_PARMS")
        return Cbs(
            found["idleslope"],
            found["sendslope"],
            found["hicredit"],
            found["locredit"],
            bool(found["offload"]),
            _overhead(message),
        )
    return Other(kind)


def _overhead(message: Any) -> int | None:
    table = message.get_attr("TCA_STAB")
    return None if table is None else int(table.get_attr("TCA_STAB_BASE")["overhead"])


def _taprio(options: Any, overhead: int | None) -> Taprio:
    """The list that was given last: the one that waits for its base time if there is one, else the one that acts."""
    waits = options.get_attr(_PREFIX + "ADMIN_SCHED")
    schedule = options if waits is None else waits
    mapping = options.get_attr(_PREFIX + "PRIOMAP")
    entries = schedule.get_attr(_PREFIX + "SCHED_ENTRY_LIST")
    classes = options.get_attrs(_PREFIX + "TC_ENTRY")
    limits: dict[int, int] | None = {} if classes or waits is None else None
    for each in classes:
        size = each.get_attr("TCA_TAPRIO_TC_ENTRY_MAX_SDU")
        if size and limits is not None:
            limits[each.get_attr("TCA_TAPRIO_TC_ENTRY_INDEX")] = size
    return Taprio(
        mapping=None if mapping is None else _mapping_of(mapping)[0],
        entries=tuple(
            Entry(
                entry.get_attr("TCA_TAPRIO_SCHED_ENTRY_GATE_MASK", 0),
                entry.get_attr("TCA_TAPRIO_SCHED_ENTRY_INTERVAL", 0),
                entry.get_attr("TCA_TAPRIO_SCHED_ENTRY_CMD", 0),
            )
            for entry in (entries.get_attrs("TCA_TAPRIO_SCHED_ENTRY") if entries is not None else ())
        ),
        base_time_ns=schedule.get_attr(_PREFIX + "SCHED_BASE_TIME", 0),
        cycle_time_ns=schedule.get_attr(_PREFIX + "SCHED_CYCLE_TIME", 0),
        cycle_time_extension_ns=schedule.get_attr(_PREFIX + "SCHED_CYCLE_TIME_EXTENSION", 0),
        clock=options.get_attr(_PREFIX + "SCHED_CLOCKID"),
        flags=options.get_attr(_PREFIX + "FLAGS", 0),
        txtime_delay_ns=options.get_attr(_PREFIX + "TXTIME_DELAY", 0),
        max_sdu_bytes=limits,
        overhead_bytes=overhead,
    )
