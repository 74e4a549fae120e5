# SPDX-License-Identifier: Apache-2.0
"""What a kernel has, found out by trying it in a namespace that is thrown away."""

from __future__ import annotations

from penstock.lab.machine import Machine

_MAP = "0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0"
_TWO = f"num_tc 2 map {_MAP} queues 1@0 1@1"

# Each tried on a veth of two queues that is new for it.
_TRIES = {
    "bridge": "ip link add trybr type bridge vlan_filtering 1",
    "8021q": "ip link add link DEV name tryvlan type vlan id 10",
    "clsact": "tc qdisc add dev DEV clsact",
    "flower": "tc qdisc add dev DEV clsact && tc filter add dev DEV ingress protocol 802.1Q flower vlan_prio 1"
    " action skbedit priority 1",
    "mqprio": f"tc qdisc add dev DEV root handle 100: mqprio {_TWO} hw 0",
    "taprio": f"tc qdisc add dev DEV root handle 100: taprio {_TWO} base-time 0 sched-entry S 3 1000000"
    " flags 0x0 clockid CLOCK_TAI",
    "etf": f"tc qdisc add dev DEV root handle 100: mqprio {_TWO} hw 0 &&"
    " tc qdisc replace dev DEV parent 100:1 etf clockid CLOCK_TAI delta 300000",
    "cbs": f"tc qdisc add dev DEV root handle 100: mqprio {_TWO} hw 0 &&"
    " tc qdisc replace dev DEV parent 100:1 cbs idleslope 98688 sendslope -901312 hicredit 153 locredit -1389",
    "netem": "tc qdisc add dev DEV root netem delay 1ms",
    "prio": "tc qdisc add dev DEV root prio",
}
WHAT = tuple(_TRIES)


def probe(machine: Machine) -> dict[str, str]:
    """What is missing, with what the kernel or the tools said; nothing of what is there."""
    missing: dict[str, str] = {}
    for name, command in _TRIES.items():
        made = "ip link add trya numtxqueues 2 numrxqueues 2 type veth peer name tryb numtxqueues 2 numrxqueues 2"
        undone = "ip link delete trya; ip link delete trybr 2>/dev/null"
        script = f"{made} || exit 1; {command.replace('DEV', 'trya')}; status=$?; {undone}; exit $status"
        done = machine.ask("run", host=None, command=["sh", "-c", script])
        if done["status"] != 0:
            missing[name] = " ".join(done["stderr"].split()) or "refused"
    return missing
