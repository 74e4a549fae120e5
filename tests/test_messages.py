# SPDX-License-Identifier: Apache-2.0
"""Messages between nodes of tiles, from Python and from C, on the loopback network."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from penstock.lab.machine import Machine
from penstock.messages import MessageError, Node, Schedule, get_conf, set_conf
from penstock.tiles.identity import Identity
from rights import needs_any_namespaces

pytestmark = pytest.mark.long(60)

ENGINE = Path(__file__).parents[1] / "engine"
PAGE = Path(__file__).parents[1] / "docs" / "messages.md"
C = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{ENGINE / 'msg' / 'include'}"]
LOOPBACK = (127, 0)
A, B = "0,0,0,0", "0,1,1,0"


def test_messages_are_whole_and_in_order() -> None:
    with Node(A, network=LOOPBACK, port=21001) as a, Node(B, network=LOOPBACK, port=21001, timeout_s=20) as b:
        sent = [bytes([n]) * size for n, size in enumerate((1, 100, 200_000, 3))]

        def send() -> None:
            for each in sent:
                a.send(each, B)

        sender = threading.Thread(target=send)
        sender.start()
        assert [b.receive(Identity(0, 0, 0, 0)) for _ in sent] == sent
        sender.join()
        b.send(b"back", 0)
        assert a.receive(0x00010100) == b"back"


def test_what_goes_wrong_has_a_code_and_a_sentence() -> None:
    with Node(A, network=LOOPBACK, port=21002, timeout_s=0.05) as a:
        for message, to, code, why in (
            (b"", B, -2, "1 to 4294967295"),
            (b"x", "0,0,0,2", -1, "outside of a tile of 2 x 2"),
            (b"x", B, -6, "cannot be reached: Connection refused"),
        ):
            with pytest.raises(MessageError) as error:
                a.send(message, to)
            assert (error.value.args[0], why in error.value.args[1]) == (code, True), error.value
        with pytest.raises(TimeoutError, match="nothing came from 0,1,1,0, or went to it, in time"):
            a.receive(B)
        with pytest.raises(ValueError, match="four numbers"):
            a.receive("0,0")
    with pytest.raises(MessageError, match="not open"):
        a.send(b"x", B)
    Node(A, network=LOOPBACK, port=21002).close()


def test_who_waits_hears_of_the_end() -> None:
    node = Node(A, network=LOOPBACK, port=21003)
    heard: list[object] = []

    def wait() -> None:
        try:
            node.receive(B)
        except MessageError as error:
            heard.append(error.args[0])

    waiting = threading.Thread(target=wait)
    waiting.start()
    waiting.join(0.1)
    node.close()
    waiting.join(10)
    assert heard == [-8]


def test_control_c_ends_who_waits() -> None:
    code = f"""
import os, signal, threading
from penstock.messages import Node
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background ignores it
threading.Timer(0.3, os.kill, (os.getpid(), signal.{signal.SIGINT.name})).start()
Node("{A}", network={LOOPBACK}, port=21004).receive("{B}")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert "KeyboardInterrupt" in done.stderr


@pytest.fixture(scope="session")
def library() -> Path:
    """The library for C; cargo builds it once."""
    build = [
        "cargo",
        "build",
        "-q",
        "--locked",
        "-p",
        "penstock-msg",
        "--profile",
        "end",
        "--lib",
        "--example",
        "motor",
    ]
    subprocess.run(build, cwd=ENGINE, check=True, timeout=600)
    return ENGINE / "target" / "end"


@pytest.mark.parametrize("kind", ["shared", "static"])
def test_the_example_in_c_greets_itself_and_python(library: Path, tmp_path: Path, kind: str) -> None:
    program = tmp_path / "hello"
    source = ENGINE / "msg" / "examples" / "hello.c"
    link = (
        [f"-L{library}", "-lpenstock_msg"]
        if kind == "shared"
        else [library / "libpenstock_msg.a", "-lpthread", "-lm", "-ldl"]
    )
    subprocess.run([*C, "-o", program, source, *link], check=True, timeout=60)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library)}
    port = {"shared": 21005, "static": 21006}[kind]
    words: list[str | Path] = [program, "0x00010100", "0", "127", str(port)]
    with (
        subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as there,
        Node(A, network=LOOPBACK, port=port, timeout_s=20) as here,
    ):
        for _ in range(200):
            try:
                here.send(b"hello", B)
                break
            except MessageError:
                threading.Event().wait(0.02)
        assert here.receive(B) == b"and back"
        assert there.communicate(timeout=20)[0] == "0x00000000: hello\n"
        assert there.returncode == 0
    nobody = subprocess.run(
        [program, "0", "1", "127", str(port)], env=environment, capture_output=True, text=True, check=False
    )
    assert (nobody.returncode, "send: 0,0,0,1 cannot be reached" in nobody.stderr) == (1, True), nobody.stderr


def test_messages_of_no_length_and_of_too_much_are_refused_in_c(library: Path) -> None:
    c = ctypes.CDLL(str(library / "libpenstock_msg.so"))
    c.penstock_msg_error.restype = ctypes.c_char_p
    place = ctypes.create_string_buffer(8)
    for call in (c.send_msg, c.recv_msg):
        call.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32]
        assert call(place, 4, 1) == -8
        assert call(place, 1 << 32, 1) == -2
        assert c.penstock_msg_error() == b"a message of 4294967296 bytes; 1 to 4294967295 are allowed"
    assert c.set_conf(None) == -10


def snippets(language: str) -> list[str]:
    """Of the page about messages."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@needs_any_namespaces
@pytest.mark.parametrize("language", ["c", "rust"])
def test_the_examples_of_the_page_talk_between_two_hosts(library: Path, tmp_path: Path, language: str) -> None:
    sensor, motor = tmp_path / "sensor.py", tmp_path / "motor"
    sensor.write_text(snippets("python")[0])
    if language == "c":
        motor.with_suffix(".c").write_text(snippets("c")[0])
        link: list[str | Path] = [library / "libpenstock_msg.a", "-lpthread", "-lm", "-ldl"]
        subprocess.run([*C, "-o", motor, motor.with_suffix(".c"), *link], check=True, timeout=60)
    else:
        licence, _, text = (ENGINE / "msg" / "examples" / "motor.rs").read_text().partition("\n")
        assert (text, "Apache-2.0" in licence) == (snippets("rust")[0], True)
        motor = library / "examples" / "motor"
    with Machine() as machine:
        paths = [machine.ask("namespace", host=name)["path"] for name in ("sensor", "motor")]
        joined = f"link add one type veth peer name two\nlink set one netns {paths[0]}\nlink set two netns {paths[1]}\n"
        machine.run(None, ["ip", "-batch", "-"], joined)
        for host, interface, address in (("sensor", "one", "10.0.1.1"), ("motor", "two", "10.0.1.2")):
            lines = f"address add {address}/16 dev {interface}\nlink set {interface} up\n"
            machine.run(host, ["ip", "-batch", "-"], lines)
        listens = "until (exec 3<>/dev/tcp/10.0.1.2/5080) 2>/dev/null; do sleep 0.05; done"
        commands = {
            "motor": ["/usr/bin/env", str(motor)],
            "sensor": ["/usr/bin/env", "bash", "-c", f"{listens}; exec {sys.executable} {sensor}"],
        }
        programs = [{"name": name, "host": name, "command": command} for name, command in commands.items()]
        played = machine.play(programs, lead_ns=0, raster_ns=1, phase_ns=0, seconds=30)
        assert [(each["status"], each["stderr"]) for each in played["programs"]] == [(0, "")] * 2
        said = {name: (machine.results / name / "stdout").read_text() for name in commands}
    assert said == {"motor": "turn\n", "sensor": "done\n"}


def test_schedules_that_cannot_be_are_refused(tmp_path: Path) -> None:
    slots = Schedule((900_000, 100_001), (0, 1), 1_000_000)
    for interface, schedule, code, why in (
        ("lo", slots, -11, "the slots take 1000001 ns, more than the cycle of 1000000 ns"),
        ("lo", Schedule((0, 5), (0,), 10), -11, "slot 0 is of queue 0, which has no time"),
        ("lo", Schedule((5,), (3,), 10), -11, "slot 0 is of queue 3, which is not there; 0 to 0 are allowed"),
        ("lo", Schedule((0, 0)), -11, "lo has 1 transmission queues and the schedule is for 2; up to 1 are allowed"),
        ("none", Schedule((0,)), -12, "none: "),
        ("a name that is too long", Schedule((0,)), -12, "No such device"),
        ("", Schedule((0,)), -10, "no card with time slots in hardware"),
    ):
        with pytest.raises(MessageError) as error:
            set_conf(interface, schedule)
        assert (error.value.args[0], why in error.value.args[1]) == (code, True), error.value
    with pytest.raises(MessageError, match="lo has no schedule: its qdisc is noqueue"):
        get_conf("lo")
    # What the page says of C is a program, too.
    (tmp_path / "ninety.c").write_text(snippets("c")[1])
    subprocess.run([*C, "-c", "-o", tmp_path / "ninety.o", tmp_path / "ninety.c"], check=True, timeout=60)
