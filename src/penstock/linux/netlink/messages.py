# SPDX-License-Identifier: Apache-2.0
"""The attributes of qdiscs, by the kernel's <linux/pkt_sched.h>, for pyroute2 to encode and decode."""

from __future__ import annotations

from typing import Any

from pyroute2.netlink import NLA_F_NESTED, nla, nlmsg


class TaprioEntry(nla):
    """TCA_TAPRIO_SCHED_ENTRY."""

    nla_map = (
        ("TCA_TAPRIO_SCHED_ENTRY_UNSPEC", "none"),
        ("TCA_TAPRIO_SCHED_ENTRY_INDEX", "uint32"),
        ("TCA_TAPRIO_SCHED_ENTRY_CMD", "uint8"),
        ("TCA_TAPRIO_SCHED_ENTRY_GATE_MASK", "uint32"),
        ("TCA_TAPRIO_SCHED_ENTRY_INTERVAL", "uint32"),
    )


class TaprioList(nla):
    """TCA_TAPRIO_ATTR_SCHED_ENTRY_LIST."""

    nla_map = (("TCA_TAPRIO_SCHED_UNSPEC", "none"), ("TCA_TAPRIO_SCHED_ENTRY", "entry"))
    entry = TaprioEntry


class TaprioClass(nla):
    """TCA_TAPRIO_ATTR_TC_ENTRY; the kernel parses it strictly and so wants it marked as nested."""

    nla_flags = NLA_F_NESTED
    nla_map = (
        ("TCA_TAPRIO_TC_ENTRY_UNSPEC", "none"),
        ("TCA_TAPRIO_TC_ENTRY_INDEX", "uint32"),
        ("TCA_TAPRIO_TC_ENTRY_MAX_SDU", "uint32"),
        ("TCA_TAPRIO_TC_ENTRY_FP", "uint32"),
    )


_TAPRIO = (
    ("TCA_TAPRIO_ATTR_UNSPEC", "none"),
    ("TCA_TAPRIO_ATTR_PRIOMAP", "cdata"),
    ("TCA_TAPRIO_ATTR_SCHED_ENTRY_LIST", "entry_list"),
    ("TCA_TAPRIO_ATTR_SCHED_BASE_TIME", "int64"),
    ("TCA_TAPRIO_ATTR_SCHED_SINGLE_ENTRY", "hex"),
    ("TCA_TAPRIO_ATTR_SCHED_CLOCKID", "int32"),
    ("TCA_TAPRIO_PAD", "hex"),
    ("TCA_TAPRIO_ATTR_ADMIN_SCHED", "admin"),
    ("TCA_TAPRIO_ATTR_SCHED_CYCLE_TIME", "int64"),
    ("TCA_TAPRIO_ATTR_SCHED_CYCLE_TIME_EXTENSION", "int64"),
    ("TCA_TAPRIO_ATTR_FLAGS", "uint32"),
    ("TCA_TAPRIO_ATTR_TXTIME_DELAY", "uint32"),
    ("TCA_TAPRIO_ATTR_TC_ENTRY", "tc_entry"),
)


class TaprioAdmin(nla):
    """TCA_TAPRIO_ATTR_ADMIN_SCHED: a list that has not begun."""

    nla_map = _TAPRIO
    entry_list = TaprioList
    tc_entry = TaprioClass
    admin = nla.hex


class Taprio(nla):
    """TCA_OPTIONS of taprio."""

    nla_map = _TAPRIO
    entry_list = TaprioList
    tc_entry = TaprioClass
    admin = TaprioAdmin


class Etf(nla):
    """TCA_OPTIONS of etf."""

    nla_map = (("TCA_ETF_UNSPEC", "none"), ("TCA_ETF_PARMS", "parms"))

    class parms(nla):  # noqa: N801  (pyroute2 finds it by the name in the map)
        """struct tc_etf_qopt."""

        fields = (("delta", "i"), ("clockid", "i"), ("flags", "I"))


class Cbs(nla):
    """TCA_OPTIONS of cbs."""

    nla_map = (("TCA_CBS_UNSPEC", "none"), ("TCA_CBS_PARMS", "parms"))

    class parms(nla):  # noqa: N801
        """struct tc_cbs_qopt."""

        fields = (
            ("offload", "B"),
            ("pad0", "B"),
            ("pad1", "H"),
            ("hicredit", "i"),
            ("locredit", "i"),
            ("idleslope", "i"),
            ("sendslope", "i"),
        )


class SizeTable(nla):
    """TCA_STAB: what is counted beside the bytes of a frame."""

    nla_map = (("TCA_STAB_UNSPEC", "none"), ("TCA_STAB_BASE", "base"), ("TCA_STAB_DATA", "hex"))

    class base(nla):  # noqa: N801
        """struct tc_sizespec."""

        fields = (
            ("cell_log", "B"),
            ("size_log", "B"),
            ("cell_align", "h"),
            ("overhead", "i"),
            ("linklayer", "I"),
            ("mpu", "I"),
            ("mtu", "I"),
            ("tsize", "I"),
        )


_OPTIONS: dict[str, Any] = {"taprio": Taprio, "etf": Etf, "cbs": Cbs, "mqprio": nla.cdata}


class QdiscMessage(nlmsg):
    """struct tcmsg and what follows it."""

    prefix = "TCA_"
    fields = (
        ("family", "B"),
        ("pad1", "B"),
        ("pad2", "H"),
        ("index", "i"),
        ("handle", "I"),
        ("parent", "I"),
        ("info", "I"),
    )
    nla_map = (
        ("TCA_UNSPEC", "none"),
        ("TCA_KIND", "asciiz"),
        ("TCA_OPTIONS", "get_options"),
        ("TCA_STATS", "hex"),
        ("TCA_XSTATS", "hex"),
        ("TCA_RATE", "hex"),
        ("TCA_FCNT", "hex"),
        ("TCA_STATS2", "hex"),
        ("TCA_STAB", "stab"),
    )
    stab = SizeTable

    @staticmethod
    def get_options(message: Any, *_: Any, **__: Any) -> Any:
        """How the options are laid out, by the kind."""
        return _OPTIONS.get(message.get_attr("TCA_KIND"), nla.hex)
