# SPDX-License-Identifier: Apache-2.0
"""Messages between nodes of tiles, from Python and from C, on the loopback network."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from penstock.messages import MessageError, Node
from penstock.tiles.identity import Identity

ENGINE = Path(__file__).parents[1] / "engine"
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
        with pytest.raises(TimeoutError, match="no message from 0,1,1,0 in time"):
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
threading.Timer(0.3, os.kill, (os.getpid(), signal.{signal.SIGINT.name})).start()
Node("{A}", network={LOOPBACK}, port=21004).receive("{B}")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert "KeyboardInterrupt" in done.stderr


@pytest.fixture(scope="session")
def library() -> Path:
    """The library for C; cargo builds it once."""
    build = ["cargo", "build", "-q", "--locked", "-p", "penstock-msg", "--profile", "end"]
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
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{ENGINE / 'msg' / 'include'}"]
    subprocess.run(["cc", *flags, "-o", program, source, *link], check=True, timeout=60)
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
