# SPDX-License-Identifier: Apache-2.0
"""A scenario whose card is driven by Linux: a guest's own `virtio_net` on the Verilated card, and what is behind.

What the guest sends leaves the card in hardware, which stamps it by its own clock. The scenario's network then carries
these very frames at these times. So all is timed from the card's wire on; what the guest does before is functional.
"""

from __future__ import annotations

import copy
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import penstock
from penstock.captures import Capture, CapturedFrame, header_of, read_capture, write_pcapng
from penstock.errors import InputError, RunError
from penstock.ethernet import WIRE_OVERHEAD_BYTES
from penstock.hardware.model import build_card
from penstock.lab.emulation import Emulation
from penstock.lab.guest import Guest
from penstock.lab.kernel import Tell
from penstock.lab.setup import prepare
from penstock.nic.card import Card, Counted
from penstock.nic.registers import words as register_words
from penstock.nic.slots import words
from penstock.plan import card_writes, show_mac
from penstock.run import Result, run
from penstock.scenario import load
from penstock.scenario.checked_stream import Stream
from penstock.scenario.file import parse_toml
from penstock.scenario.network import Network, Station

# Of the card's line in a second: its clock goes so much more slowly, so that an emulated guest keeps its queues full.
_SLOWED_BPS = 1_000_000
_SETTLE_CYCLES, _SETTLE_NS = 3, 1_000_000
_LOOK_S, _MOST_S, _GUEST_S = 0.02, 300.0, 3600
MODULES = ("virtio_net", "sch_mqprio", "8021q")
_MOST_FRAME_BYTES = 1522
_PREAMBLE_NS = 64  # from what a capture has to the first bit that a stamp is of
HEADERS_BYTES = 18 + 20 + 8 + 4  # Ethernet with its tag, IPv4, UDP or ICMP, FCS
_SOURCES = Path(penstock.__file__).parents[1]
_SEND = """
import socket, sys
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
line.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, int(sys.argv[1]))
while True:
    line.sendto(bytes(int(sys.argv[2])), (sys.argv[3], 9))
"""


@dataclass(frozen=True)
class _Flow:
    stream: Stream
    address: str  # of its listener in the guest's network
    payload_bytes: int


def written_values(network: Network) -> dict[str, Any]:
    """The scenario as it was written, to be changed."""
    written = network.written or ""
    return copy.deepcopy(dict(parse_toml(network.file, written)[0] if isinstance(written, str) else written))


def run_with_guest(network: Network, out: Path, tell: Tell) -> Result:
    """Runs it with a guest for the one station that has a card, and writes the folder of results of any other run.

    Raises:
        InputError: The scenario has what a guest cannot do.
        RunError: The card or the guest did not start, or its kernel refused what has to succeed.

    """
    station = _station(network)
    flows = _flows(network, station)
    with tempfile.TemporaryDirectory(prefix="penstock-nic-") as name:
        folder = Path(name)
        release, begin_ns = _send(network, station, flows, folder, tell)
        values = _replayed(network, station, flows, folder, begin_ns)
        result = run(load(values), out, notes=_notes(release))
    _check_credit(network, station, result.summary["cards"])
    for flow in flows:
        waited = result.summary["streams"][flow.stream.name]["talker_wait_ns"]["max"]
        if waited > _PREAMBLE_NS:
            early_ns = waited - _PREAMBLE_NS
            raise RunError(
                f'a frame of "{flow.stream.name}" left the card {early_ns:g} ns before its gate or line let it'
            )
    return result


def _notes(release: str) -> list[str]:
    return [
        f"functional: the driver is virtio_net of Linux {release} in an emulated guest, which gave each frame its"
        " queue, its place and its priority code point",
        "timed: the card is hardware, Verilated, by whose clock frames left it, and all behind its wire; no latency of"
        " Linux is told",
    ]


def refuse(network: Network, key: str, what: str, allowed: str) -> InputError:
    """Of a scenario with what guests cannot do."""
    return InputError(what, allowed=allowed, file=network.file, key=key)


def _station(network: Network) -> Station:
    (station,) = (station for station in network.stations.values() if station.card is not None)
    if station.round_robin or (station.credit and station.gates):
        what = "the guest sets time slots or credit of its card, and no turns"
        raise refuse(network, f"stations.{station.name}", what, "gates.slots, classes by credit, or neither")
    if station.ats_classes:
        what = "the guest sets no ATS of its card"
        allowed = 'selection = "strict" or "cbs", or ./penstock run'
        raise refuse(network, f"stations.{station.name}.classes", what, allowed)
    if any(gates.slots is None for gates in station.gates.values()):
        what = "the guest sets the time slots of its card, and no gate list"
        raise refuse(network, f"stations.{station.name}.gates", what, "slots")
    return station


def _flows(network: Network, station: Station) -> list[_Flow]:
    flows = []
    for number, stream in enumerate(network.streams_from.get(station.name, ())):
        key = f"streams.{stream.name}"
        if not stream.source.back_to_back or stream.source.frames is None:
            what = f'"{stream.name}" has times, which a guest beside slowed hardware does not keep'
            raise refuse(network, f"{key}.source", what, 'back_to_back = true, with one length of "frames"')
        if not stream.vlan or len(stream.listeners) != 1:
            raise refuse(network, key, f'"{stream.name}" is not what a guest sends here', "a tag, and one listener")
        if network.class_at_talker(stream) != stream.pcp:
            what = f'priority {stream.pcp} of "{stream.name}" is class {network.class_at_talker(stream)}'
            raise refuse(network, key, what, 'class_of_priority = "identity": mqprio has priority k in queue k')
        payload = stream.max_frame_bytes - HEADERS_BYTES
        if payload < 1:
            what = f'frames of {stream.max_frame_bytes} B of "{stream.name}"'
            raise refuse(network, f"{key}.source", what, f"{HEADERS_BYTES + 1} B or more, for the headers of UDP")
        flows.append(_Flow(stream, f"10.10.{number}.2", payload))
    if not flows:
        raise refuse(network, "streams", f'"{station.name}" sends nothing', "a stream of the card")
    return flows


def queue_commands(queues: int) -> list[str]:
    """Commands of a guest: all queues of its card, and mqprio, by which priority k leaves by queue k."""
    numbers = " ".join(str(k if k < queues else 0) for k in range(16))
    return [
        "until [ -e /sys/class/net/eth0 ]; do sleep 0.1; done",
        "set -e",
        "sysctl -qw net.ipv6.conf.all.disable_ipv6=1 || true",
        f"ethtool -L eth0 combined {queues}",
        "ip link set eth0 up",
        f"tc qdisc replace dev eth0 root handle 1: mqprio num_tc {queues} map {numbers}"
        f" queues {' '.join(f'1@{k}' for k in range(queues))} hw 0",
    ]


def vlan_commands(vlan: int) -> list[str]:
    """Commands of a guest: a VLAN interface whose priority code points are the priorities."""
    pcps = " ".join(f"{k}:{k}" for k in range(8))
    name = f"eth0.{vlan}"
    return [f"ip link add link eth0 name {name} type vlan id {vlan} egress-qos-map {pcps}", f"ip link set {name} up"]


def _set_up(network: Network, station: Station, flows: list[_Flow]) -> str:
    """Commands of the guest: all queues, VLAN interfaces, addresses."""
    assert station.card is not None
    lines = queue_commands(station.card.queues)
    for vlan in dict.fromkeys(flow.stream.vlan or 0 for flow in flows):
        lines += vlan_commands(vlan)
    for flow in flows:
        listener = network.stations[flow.stream.listeners[0]]
        name = f"eth0.{flow.stream.vlan}"
        lines.append(f"ip addr add {flow.address[:-1]}1/24 dev {name}")
        lines.append(f"ip neigh add {flow.address} lladdr {show_mac(listener.mac)} dev {name}")
    return "\n".join(lines)


def _send(network: Network, station: Station, flows: list[_Flow], folder: Path, tell: Tell) -> tuple[str, int]:
    """The guest sends until the scenario's time is over by the card's clock; the kernel, and when that time began."""
    assert station.card is not None
    kernel = prepare(tell)
    library = build_card(pairs=station.card.queues)
    capture = folder / "wire.pcapng"
    with (
        Card(station.card.queues, _SLOWED_BPS, library, mac=show_mac(station.mac), capture=capture) as card,
        Guest(kernel, Emulation("tcg"), devices=card.devices) as guest,
    ):
        tell(f"the guest started in {guest.seconds_to_start:.1f} s, Linux {kernel.release}, {guest.emulation}")
        for module in MODULES:
            do(guest, "modprobe", module)
        do(guest, "sh", "-c", _set_up(network, station, flows))
        cycle_ns = _set_slots(guest, station)
        if station.credit:
            _run_own(guest, "registers", *register_words(card_writes(network, station)[0]))
        for flow in flows:
            sender = [sys.executable, "-I", "-S", "-c", _SEND, str(flow.stream.pcp), str(flow.payload_bytes)]
            guest.start(["nice", "-n", "19", *sender, flow.address], timeout_s=_GUEST_S)
        tell(
            f"{network.duration_ps / 1e9:g} ms by the card's clock, which goes {10**9 // _SLOWED_BPS} times more slowly"
        )
        begin_ns = _wait(card, flows, cycle_ns, network.duration_ps // 1000)
        for number, queue in enumerate(card.counts()):
            others = sum(queue.pcp) - queue.pcp[number]
            if others:
                raise RunError(f"queue {number} of the card sent {others} frames of other priorities than {number}")
    return kernel.release, begin_ns


def do(guest: Guest, *command: str) -> str:
    """What a command printed that has to succeed.

    Raises:
        RunError: It failed.

    """
    done = guest.run(command)
    if done.status:
        raise RunError(f"in the guest: {command[0]}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def _run_own(guest: Guest, module: str, *arguments: str) -> str:
    """A program of ours in the guest, by the line to the card's registers."""
    line = do(guest, "sh", "-c", "echo /dev/vport*p3").strip()
    program = [sys.executable, "-S", "-m", f"penstock.nic.{module}", line]
    return do(guest, "env", f"PYTHONPATH={_SOURCES}", *program, *arguments)


def _set_slots(guest: Guest, station: Station) -> int:
    """By the card's registers, from within the guest; gives the cycle, and 1 ms of one without slots."""
    gates = station.gates.get(0)
    if gates is None or gates.slots is None:
        return _SETTLE_NS
    said = words(gates.cycle_time_ns, gates.slots.guard_ns, {k: gates.slots.slot_ns[k] for k in gates.slots.order})
    read = _run_own(guest, "slots", *said).split()
    if read != said:
        raise RunError(f"the card's slots are read back as {' '.join(read)}, not {' '.join(said)}")
    return gates.cycle_time_ns


def _check_credit(network: Network, station: Station, shares: list[dict[str, Any]]) -> None:
    """Each queue with credit, which is never empty, has got what its idleSlope is of the line, within two frames."""
    for number, slope_bps in ((k, shaper.idle_slope_bps) for (_, k), shaper in station.credit.items()):
        share = next((row["share"] for row in shares if row["queue"] == number), 0.0)
        wanted = slope_bps / station.link_rate_bps
        frame = 8 * (_MOST_FRAME_BYTES + WIRE_OVERHEAD_BYTES) * 10**12 / (station.link_rate_bps * network.duration_ps)
        if abs(share - wanted) > 2 * frame:
            raise RunError(f"queue {number} got {100 * share:.2f} % of the line by credit, not {100 * wanted:.2f} %")


def _wait(card: Card, flows: list[_Flow], cycle_ns: int, duration_ns: int) -> int:
    """Until all flows have begun, and then for so long by the card's clock; gives when that began: with a cycle."""
    until = time.monotonic() + _MOST_S

    def counted() -> Counted:
        if time.monotonic() > until:
            raise RunError(f"the guest did not send all of it within {_MOST_S:g} s")
        time.sleep(_LOOK_S)
        return card.counted()

    queues = {flow.stream.pcp for flow in flows}
    while not all((now := counted()).queues[queue].frames for queue in queues):
        pass
    begin_ns = (now.last_ns // cycle_ns + 1 + _SETTLE_CYCLES) * cycle_ns
    while counted().last_ns < begin_ns + duration_ns:
        pass
    return begin_ns


def _replayed(network: Network, station: Station, flows: list[_Flow], folder: Path, begin_ns: int) -> Mapping[str, Any]:
    """The scenario, in which each stream of the card has the frames that left by its wire."""
    whole = read_capture(folder / "wire.pcapng")
    values = written_values(network)
    values["duration"] = f"{network.duration_ps}ps"
    values["stations"][station.name]["nodes"] = "model"
    # Credit that was saved while another queue sent is not there again when frames come as they left.
    values["stations"][station.name].pop("classes", None)
    for flow in flows:
        name = flow.stream.name
        frames = list(_of_flow(whole, network, station, flow, begin_ns))
        if not frames:
            raise RunError(f'nothing of "{name}" left the card within {network.duration_ps / 1e9:g} ms of its clock')
        file = folder / f"{name}.pcapng"
        write_pcapng(file, frames, interface=station.name)
        values["streams"][name]["source"] = {"capture": str(file), "start": f"{frames[0].time_ps // 1000}ns"}
    return values


def _of_flow(whole: Capture, network: Network, station: Station, flow: _Flow, begin_ns: int) -> list[CapturedFrame]:
    wanted = (network.stations[flow.stream.listeners[0]].mac, station.mac, flow.stream.vlan, flow.stream.pcp)
    found = []
    for frame in whole.frames:
        header = header_of(frame.data)
        time_ps = frame.time_ps - begin_ns * 1000
        is_own = (header.destination, header.source, header.vlan, header.pcp) == wanted
        if is_own and 0 <= time_ps < network.duration_ps:
            found.append(CapturedFrame(time_ps, frame.data, frame.original_bytes))
    return found
