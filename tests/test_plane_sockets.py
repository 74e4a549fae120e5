# SPDX-License-Identifier: Apache-2.0
"""How frames come to a plane and leave it: by AF_XDP where it works, else by packet sockets."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.plane.binary import PROGRAM
from plane_bench import PORTS, Bench, between, config, frame, inside, numbers
from rights import needs_namespaces

SOCKETS = ("auto", "generic", "packet")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with between(tmp_path) as made:
        yield made


def by(sockets: str) -> list[str]:
    return [f"--port={name}={sockets}" for name in "ab"]


@needs_namespaces
def test_what_a_port_uses_is_told_and_said(bench: Bench) -> None:
    with bench.plane(config(), "--port", "a=packet", "--port", "b=generic") as control:
        told = control.ask("counters")["ports"]
        assert [(port["sockets"], port["why_not_faster"]) for port in told.values()] == [
            ("packet", None),
            ("generic", None),
        ]
        bench.outside["p0"].send(frame(3, 1))
        assert numbers(bench.outside["p1"], 1) == [1]
    with bench.plane(config()) as control:
        told = control.ask("counters")["ports"]["a"]
        assert told["sockets"] in ("native", "packet"), "this kernel may have no word of tags that stand apart"
        assert "zero_copy: " in told["why_not_faster"]


@needs_namespaces
def test_what_cannot_be_used_is_refused(bench: Bench) -> None:
    file = bench.folder / "plane.json"
    file.write_text(json.dumps(config()))
    for option, status, said in (
        ("c=packet", 2, '"c" is no port; allowed: a, b'),
        ("a=fast", 2, "allowed: auto, zero_copy, native, generic or packet"),
        ("a=zero_copy", 3, "interface p0: Operation not supported"),
    ):
        command = bench.command(str(PROGRAM.build()), "--config", str(file), "--port", option)
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
        assert (done.returncode, said in done.stderr) == (status, True), done.stderr


@needs_namespaces
@pytest.mark.parametrize("sockets", ["auto", "packet"])
def test_a_tag_that_stands_in_no_frame_stays(bench: Bench, sockets: str) -> None:
    # A bridge of the kernel takes a tag out of a frame and hands it on apart.
    lines = [
        "link add source type veth peer name apart",
        "link add sw0 type bridge mcast_snooping 0",
        "link set apart master sw0",
        "link set out-p0 master sw0",
        *(f"link set {name} up" for name in ("source", "apart", "sw0")),
    ]
    subprocess.run(bench.command("ip", "-batch", "-"), input="\n".join(lines), text=True, check=True)
    with inside(bench.path):
        source = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        source.bind(("source", 0))
    with source, bench.plane(config(), *by(sockets)) as control:
        source.send(frame(5, 99, vlan=7))
        data = b""
        while data[14:18] != (99).to_bytes(4, "big"):  # the bridge speaks, too
            data, ancillary, *_ = bench.outside["p1"].recvmsg(2048, 256)
        assert int.from_bytes(ancillary[0][2][16:18], "little") == 5 << 13 | 7
        assert control.ask("counters")["ports"]["b"]["sent_of_class"][5]["bytes"] == 1000


@needs_namespaces
@pytest.mark.parametrize("sockets", SOCKETS)
def test_a_checksum_that_was_left_to_the_device_is_made(bench: Bench, sockets: str) -> None:
    bench.run("ip", "address", "add", "10.1.1.1/24", "dev", "out-p0")
    bench.run("ip", "neigh", "add", "10.1.1.2", "lladdr", "02:00:00:00:00:02", "dev", "out-p0")
    with inside(bench.path):
        talker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with talker, bench.plane(config(), *by(sockets)):
        talker.sendto(b"whole", ("10.1.1.2", 5000))
        data = b""
        while not data.endswith(b"whole"):
            data = bench.outside["p1"].recv(2048)
    datagram = data[34:]
    pseudo = data[26:34] + bytes([0, 17]) + len(datagram).to_bytes(2, "big") + datagram + b"\0"
    total = sum(int.from_bytes(pseudo[at : at + 2], "big") for at in range(0, len(pseudo) - 1, 2))
    assert total % 0xFFFF == 0, "the words of a right one add up to all ones"


@needs_namespaces
@pytest.mark.parametrize("sockets", ["native", "packet"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_promiscuous_mode_and_programs_end_with_the_plane(bench: Bench, sockets: str, number: int) -> None:
    def taken() -> list[tuple[bool, bool]]:
        shown = [json.loads(bench.run("ip", "-j", "-d", "link", "show", name))[0] for name in PORTS]
        return [(link["promiscuity"] > 0, "xdp" in link) for link in shown]

    assert taken() == [(False, False)] * 2
    with bench.plane(config(), *by(sockets)):
        assert taken() == [(True, sockets == "native")] * 2
        assert bench.process is not None
        bench.process.send_signal(number)
        bench.process.wait(timeout=10)
        _until_not_taken(taken)


def _until_not_taken(taken: Callable[[], list[tuple[bool, bool]]]) -> None:
    give_up = time.monotonic() + 2
    while taken() != [(False, False)] * 2:
        assert time.monotonic() < give_up, taken()
        time.sleep(0.02)


@needs_namespaces
@pytest.mark.parametrize("sockets", SOCKETS)
def test_a_flood_is_passed_in_order_or_counted(bench: Bench, sockets: str) -> None:
    told = config()
    told["ports"][1] |= {"rate": "10Gb/s", "classes": {"3": {"limit": 4000}}}
    with bench.plane(told, *by(sockets)) as control:
        for number in range(3000):
            bench.outside["p0"].send(frame(3, number, 64))
        came = numbers(bench.outside["p1"], 3000)
        found = control.ask("counters")["ports"]
    lost = found["a"]["overruns"] + sum(found["b"]["dropped"].values())
    assert (came == sorted(came), len(came) + lost) == (True, 3000)
