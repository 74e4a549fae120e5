# SPDX-License-Identifier: Apache-2.0
"""A guest whose kernel drives our card: what is set by `ethtool`, `tc` and registers, and what then leaves by the wire.

All of it is functional: order, shares, queues. Times of a guest whose processor is emulated are no times of Linux.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import penstock
from penstock.errors import RunError
from penstock.hardware.model import build_card
from penstock.lab.emulation import Emulation
from penstock.lab.guest import Finished, Guest
from penstock.lab.setup import prepare
from penstock.nic.card import ADDRESS, Card, Counted
from penstock.nic.slots import words
from penstock.reproduce.row import Row

PAIRS = 4
RATE_BPS = 10_000_000  # less than an emulated guest can send, so that queues are full
_HARDWARE_BPS = 1_000_000_000  # of the Verilated card's line, by its own clock
_SLOWED_BPS = 4_000_000  # of that line in a second: hardware takes a processor's time, too
PRIORITIES = (0, 1, 2)
MAP = "0 1 2 3 0 0 0 0 0 0 0 0 0 0 0 0"
_CYCLE_BITS = 2_000_000
_SLOT_PERCENT = {2: 90, 1: 5, 0: 5}
_FRAME_BYTES = 1460 + 28 + 18 + 20  # of iperf3 on the wire
_FRAMES = 200
_SETTLE_CYCLES, _WINDOW_CYCLES = 5, 30
_LOOK_S, _CYCLES_WITHIN_S = 0.005, 120.0
_NEAR_PERCENT = 1.0
_BEGUN_FRAMES, _FLOWS_WITHIN_S = 300, 60.0
_TOS = {2: 8, 0: 0}  # as Linux makes priorities of it: bulk is 2
_FLOW_BPS = 15_000_000
_UNTIL_THE_END_S = 300.0
_SOURCES = Path(penstock.__file__).parents[1]
_SEND = """
import socket, sys
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
line.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, int(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    line.sendto(bytes(200), (sys.argv[3], 9))
"""
Tell = Callable[[str], None]


def run(tell: Tell, *, rtl: bool = False) -> list[Row]:
    """Starts card and guest, and gives a row for each thing that is seen.

    With `rtl` the card is the Verilated one, whose clock goes so slowly that its line of 1 Gb/s takes 4 Mb in a second.

    Raises:
        RunError: The card or the guest did not start, or a command failed that has to succeed.

    """
    kernel = prepare(tell)
    library = build_card(pairs=PAIRS) if rtl else None
    line_bps, rate_bps = (_HARDWARE_BPS, _SLOWED_BPS) if rtl else (RATE_BPS, RATE_BPS)
    with Card(PAIRS, rate_bps, library) as card, Guest(kernel, Emulation("tcg"), devices=card.devices) as guest:
        tell(f"the guest started in {guest.seconds_to_start:.1f} s, Linux {kernel.release}, {guest.emulation}")
        there = _Linux(guest, card, line_bps)
        there.set_up()
        return [*there.settings(), *there.queues(), *there.shares(tell)]


def _percent(name: str, what: str, seen: float, wanted: float) -> Row:
    return Row.equals(f"card.{name}", what, "%", seen, wanted, _NEAR_PERCENT).as_key()


def _count(name: str, what: str, seen: float, wanted: float) -> Row:
    return Row.equals(f"card.{name}", what, "", seen, wanted, 0).as_key()


class _Linux:
    def __init__(self, guest: Guest, card: Card, line_bps: int) -> None:
        self._guest = guest
        self._card = card
        self._line_bps = line_bps
        self._cycle_ns = _CYCLE_BITS * 10**9 // line_bps
        self._slots = {queue: self._cycle_ns * part // 100 for queue, part in _SLOT_PERCENT.items()}

    def _do(self, *command: str) -> Finished:
        done = self._guest.run(command)
        if done.status:
            raise RunError(f"in the guest: {' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
        return done

    def set_up(self) -> None:
        """Addresses, all queues, and a VLAN whose priority code points are the priorities."""
        for module in ("virtio_net", "sch_mqprio", "8021q"):
            self._do("modprobe", module)
        script = f"""
            until [ -e /sys/class/net/eth0 ]; do sleep 0.1; done
            set -e
            sysctl -qw net.ipv6.conf.all.disable_ipv6=1 || true
            ethtool -L eth0 combined {PAIRS}
            ip addr add 10.9.0.1/24 dev eth0
            ip link set eth0 up
            tc qdisc replace dev eth0 root handle 1: mqprio num_tc 4 map {MAP} queues 1@0 1@1 1@2 1@3 hw 0
            ip link add link eth0 name eth0.10 type vlan id 10 egress-qos-map 0:0 1:1 2:2 3:3
            ip addr add 10.10.0.1/24 dev eth0.10
            ip link set eth0.10 up
            ip neigh add 10.10.0.2 lladdr 02:00:00:00:00:02 dev eth0.10
        """
        self._do("sh", "-c", script)

    def settings(self) -> list[Row]:
        """What the kernel says of driver, channels and qdisc."""
        driver = self._do("ethtool", "-i", "eth0").stdout.splitlines()[0].split()[-1]
        channels = int(self._do("ethtool", "-l", "eth0").stdout.split()[-1])
        qdiscs = json.loads(self._do("tc", "-j", "qdisc", "show", "dev", "eth0").stdout)
        roots = [each["kind"] for each in qdiscs if each.get("root")]
        return [
            _count("driver", "Linux's own virtio_net drives the card, of 1", int(driver == "virtio_net"), 1),
            _count("channels", f"queue pairs by ethtool -L, of {PAIRS}", channels, PAIRS),
            _count("mqprio", "tc ... mqprio accepted, of 1", int(roots == ["mqprio"]), 1),
        ]

    def queues(self) -> list[Row]:
        """Frames of each priority, counted where they leave the card."""
        rows = []
        for priority in PRIORITIES:
            before = self._card.counts()
            self._do(sys.executable, "-I", "-S", "-c", _SEND, str(priority), str(_FRAMES), "10.10.0.2")
            time.sleep(0.5)
            after = self._card.counts()
            own = after[priority].pcp[priority] - before[priority].pcp[priority]
            grown = sum(sum(now.pcp) - sum(had.pcp) for now, had in zip(after, before, strict=True))
            what = f"frames of priority {priority} by queue {priority} with PCP {priority}"
            rows.append(_count(f"queue.{priority}", f"{what}, of {_FRAMES}", own, _FRAMES))
            rows.append(_count(f"other.{priority}", "the same by any other queue or PCP", grown - own, 0))
        return rows

    def shares(self, tell: Tell) -> list[Row]:
        """Of two iperf3: in turns, and with slots that are set while both send."""
        line = self._do("sh", "-c", "echo /dev/vport*p3").stdout.strip()
        # Ahead of all that sends, and without what only other programs of the environment need.
        program = [sys.executable, "-S", "-m", "penstock.nic.slots", line]
        registers = ["env", f"PYTHONPATH={_SOURCES}", "chrt", "--fifo", "10", *program]
        refused = self._guest.run([*registers, *words(self._cycle_ns // 2, 0, self._slots)])
        tell("two flows in turns, then slots of 90, 5 and 5 %")
        self._start(list(_TOS), _UNTIL_THE_END_S)  # they end with the guest
        self._wait_for_both()
        turns = self._measure()
        said = words(self._cycle_ns, 0, self._slots)
        read = self._do(*registers, *said).stdout.split()
        slots = self._measure()
        of = {queue: self._in_slot(ns) for queue, ns in self._slots.items()}
        part = {queue: 100 * rate / self._line_bps for queue, rate in slots.items()}
        both = turns[2] + turns[0]
        return [
            _percent("turns.high", "one of two iperf3 in turns", 100 * turns[2] / both, 50),
            _percent("turns.low", "the other", 100 * turns[0] / both, 50),
            _percent("slots.high", "the one with a slot of 90 %, of what the card gives alone", part[2], of[2]),
            _count("slots.least", "that is at least 89 %, of 1", int(part[2] >= 89), 1),
            _percent("slots.low", "the one with a slot of 5 %", part[0], of[0]),
            _count("slots.read", "slots read back equal by the guest, of 1", int(read == said), 1),
            _count(
                "slots.refused", "slots above the cycle refused with a sentence, of 1", self._is_refused(refused), 1
            ),
        ]

    @staticmethod
    def _is_refused(done: Finished) -> int:
        return int(done.status == 3 and "longer than the cycle" in done.stderr)

    def _in_slot(self, slot_ns: int) -> float:
        """What whole frames take of a slot, in percent of the cycle: one that would not end in it is not begun."""
        frame_ns = _FRAME_BYTES * 8 * 1e9 / self._line_bps
        return 100 * (slot_ns // frame_ns) * frame_ns / self._cycle_ns

    def _start(self, queues: Sequence[int], seconds: float) -> None:
        for queue in queues:
            self._card.beside(["iperf3", "-s", "-p", str(5200 + queue)])
        time.sleep(0.5)
        flow = [
            "nice",
            "-n",
            "19",
            "iperf3",
            "-u",
            "-l",
            "1460",
            "-b",
            str(_FLOW_BPS),
            "-t",
            str(round(seconds)),
            "-c",
            ADDRESS,
        ]
        for queue in queues:
            self._guest.start([*flow, "-p", str(5200 + queue), "--tos", str(_TOS[queue])], timeout_s=0)

    def _wait_for_both(self) -> None:
        """Until each flow has sent for a while, however long its program took to start."""
        before, until = self._card.counts(), time.monotonic() + _FLOWS_WITHIN_S
        while time.monotonic() < until:
            now = self._card.counts()
            if all(now[queue].frames - before[queue].frames >= _BEGUN_FRAMES for queue in _TOS):
                return
            time.sleep(0.1)
        raise RunError(f"iperf3 in the guest sent less than {_BEGUN_FRAMES} frames within {_FLOWS_WITHIN_S:g} s")

    def _measure(self) -> dict[int, float]:
        """Bits per second of the card's clock on the wire by queue, once all has settled."""
        before = self._after(_SETTLE_CYCLES)
        after = self._after(_WINDOW_CYCLES)
        took_s = (after.last_ns - before.last_ns) / 1e9
        grown = {queue: after.queues[queue].wire_bytes - before.queues[queue].wire_bytes for queue in _TOS}
        return {queue: 8 * wire_bytes / took_s for queue, wire_bytes in grown.items()}

    def _after(self, cycles: int) -> Counted:
        """What was counted when so many cycles of the schedule have passed by the card's own clock."""
        now, until = self._card.counted(), time.monotonic() + _CYCLES_WITHIN_S
        end_ns = now.last_ns + cycles * self._cycle_ns
        while now.last_ns < end_ns:
            if time.monotonic() > until:
                raise RunError(f"{cycles} cycles of the schedule did not pass within {_CYCLES_WITHIN_S:g} s")
            time.sleep(_LOOK_S)
            now = self._card.counted()
        return now
