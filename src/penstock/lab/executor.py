# SPDX-License-Identifier: Apache-2.0
"""Keeps the hosts of a run as network namespaces, on this machine or in the guest, and does there what it is asked.

It is a program of its own that imports nothing but Python's library, so that it starts soon under emulation too.
Everything is in namespaces that have no name and live as long as this process and those it started, which die with it:
whatever ends it, nothing is left of them, and the machine's own interfaces were never in reach.

A request is a line of JSON, and so is its answer: {"error": text}, or what the operation gives.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import fcntl
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_NEW_NETWORK = 0x40000000  # CLONE_NEWNET
_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
_ETHTOOL = 0x8946  # SIOCETHTOOL
_RECEIVE_TTL = 12  # IP_RECVTTL
_UNLIMITED_BUFFER = 33  # SO_RCVBUFFORCE
_ROUTE_EVENTS = 0x40  # RTMGRP_IPV4_ROUTE
_NEW_ROUTE = 24  # RTM_NEWROUTE
_LIBRARY = ctypes.CDLL(None, use_errno=True)


class Executor:
    """Answers requests that come by a file descriptor."""

    def __init__(self, number: int) -> None:
        self._file = number
        self._unread = b""
        self._namespaces: dict[str, int] = {}
        self._connections: list[socket.socket] = []
        self._programs: list[subprocess.Popen[bytes]] = []
        self._lasting: list[subprocess.Popen[bytes]] = []
        # Memory where there is some: nothing may wait for a disk while frames are on their way.
        place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self._folder = Path(tempfile.mkdtemp(prefix="penstock-lab-executor-", dir=place))
        _call(_LIBRARY.unshare, _NEW_NETWORK)
        self._own = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)

    def serve(self) -> None:
        """Until the other side is gone."""
        while (line := self._line()) is not None:
            request = json.loads(line)
            operation: Callable[..., Any] = getattr(self, "do_" + request.pop("do"))
            try:
                answer = operation(**request)
            except (OSError, ValueError, KeyError) as error:
                answer = {"error": f"{type(error).__name__}: {error}", "errno": getattr(error, "errno", None)}
            data = json.dumps(answer).encode() + b"\n"
            while data:
                data = data[os.write(self._file, data) :]

    def close(self) -> None:
        """Ends what runs; the namespaces end with this process."""
        self._end(self._programs)
        self._end(self._lasting)
        shutil.rmtree(self._folder, ignore_errors=True)

    def do_namespace(self, host: str) -> dict[str, Any]:
        """A new host; gives a path by which `ip` finds its namespace."""
        _call(_LIBRARY.unshare, _NEW_NETWORK)
        try:
            number = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        finally:
            _call(_LIBRARY.setns, self._own, _NEW_NETWORK)
        self._namespaces[host] = number
        return {"path": f"/proc/{os.getpid()}/fd/{number}"}

    def do_forget(self) -> dict[str, Any]:
        """All hosts are gone with all that is theirs, such as the timers of their gates."""
        self._end(self._lasting)
        for connection in self._connections:
            connection.close()
        for number in self._namespaces.values():
            os.close(number)
        self._connections.clear()
        self._namespaces.clear()
        return {}

    def do_run(self, host: str | None, command: list[str], text: str = "") -> dict[str, Any]:
        """Runs a command to its end; how long that may take is the other side's business, whose clock is real."""
        entering = self._entering(host)
        done = subprocess.run(command, input=text.encode(), capture_output=True, preexec_fn=entering, check=False)
        return {"status": done.returncode, "stdout": _text(done.stdout), "stderr": _text(done.stderr)}

    def do_keep(self, host: str, name: str, command: list[str], plan: dict[str, Any]) -> dict[str, Any]:
        """Starts a program that runs as long as its host; {plan} in its command stands for a file with its plan."""
        (self._folder / name).mkdir()
        command[0] = self._in_memory(command[0])
        self._lasting.append(self._start({"host": host, "name": name, "command": command, "plan": plan}))
        return {}

    def do_up(self, host: str, interfaces: list[str], routes: int, protocol: int, within_s: float) -> dict[str, Any]:
        """Sets interfaces up, and waits until so many routes of a protocol were made, or none for `within_s`.

        Gives how many were, and the seconds from the command until then.
        """
        with self._inside(host):
            events = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
        with events:
            events.setsockopt(socket.SOL_SOCKET, _UNLIMITED_BUFFER, 1 << 23)
            events.bind((0, _ROUTE_EVENTS))
            begin = time.monotonic()
            lines = "".join(f"link set dev {name} up\n" for name in interfaces)
            self.do_run(host, ["ip", "-batch", "-"], lines)
            made, after_s = 0, 0.0
            events.settimeout(within_s)
            while made < routes:
                try:
                    message = events.recv(1 << 16)  # struct nlmsghdr, struct rtmsg
                except TimeoutError:
                    break
                if (int.from_bytes(message[4:6], sys.byteorder), message[21]) == (_NEW_ROUTE, protocol):
                    made, after_s = made + 1, time.monotonic() - begin
        return {"made": made, "seconds": after_s}

    def do_netlink(self, host: str) -> dict[str, Any]:
        """A netlink socket of a host."""
        with self._inside(host):
            opened = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
            opened.bind((0, 0))
        opened.settimeout(10)
        self._connections.append(opened)
        return {"number": len(self._connections) - 1}

    def do_option(self, number: int, level: int, name: int, value: int) -> dict[str, Any]:
        """Sets an option of a netlink socket."""
        self._connections[number].setsockopt(level, name, value)
        return {}

    def do_send(self, number: int, data: str) -> dict[str, Any]:
        """Sends by a netlink socket."""
        self._connections[number].send(base64.b64decode(data))
        return {}

    def do_receive(self, number: int, size: int) -> dict[str, Any]:
        """A message from a netlink socket."""
        return {"data": base64.b64encode(self._connections[number].recv(size)).decode()}

    def do_ethtool(self, host: str, interface: str, data: str) -> dict[str, Any]:
        """The ioctl of ethtool, with its data before and after."""
        content = ctypes.create_string_buffer(base64.b64decode(data))
        size = len(content) - 1
        request = interface.encode().ljust(16, b"\0") + ctypes.addressof(content).to_bytes(8, sys.byteorder)
        with self._inside(host), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
            fcntl.ioctl(opened.fileno(), _ETHTOOL, request.ljust(40, b"\0"))
        return {"data": base64.b64encode(content.raw[:size]).decode()}

    def do_reach(self, addresses: dict[str, str], port: int, silence_s: float) -> dict[str, Any]:
        """Each host sends a datagram to each other, until none has come for a while.

        Gives from, to, and what was left of the hop limit, of those that came.
        """
        host_of = {address: host for host, address in addresses.items()}
        found: list[tuple[str, str, int]] = []
        with selectors.DefaultSelector() as ready, contextlib.ExitStack() as opened:
            sockets: dict[str, socket.socket] = {}
            for host, address in addresses.items():
                with self._inside(host):
                    each = opened.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
                each.bind((address, port))
                each.setsockopt(socket.IPPROTO_IP, _RECEIVE_TTL, 1)
                ready.register(each, selectors.EVENT_READ, host)
                sockets[host] = each
            for host, each in sockets.items():
                for other, address in addresses.items():
                    if other != host:
                        with contextlib.suppress(OSError):  # no way is an answer, too
                            each.sendto(b"", (address, port))
            while keys := ready.select(silence_s):
                for key, _ in keys:
                    _, ancillary, _, sender = sockets[key.data].recvmsg(1, socket.CMSG_SPACE(4))
                    found.append((host_of[sender[0]], key.data, int.from_bytes(ancillary[0][2], sys.byteorder)))
        return {"came": found}

    def do_about(self) -> dict[str, Any]:
        """The kernel, and how far its TAI is from UTC."""
        about = os.uname()
        tai_ns = time.clock_gettime_ns(time.CLOCK_TAI) - time.clock_gettime_ns(time.CLOCK_REALTIME)
        return {"release": about.release, "version": about.version, "tai_minus_utc_s": round(tai_ns / 1e9)}

    def do_play(
        self,
        programs: list[dict[str, Any]],
        lead_ns: int,
        raster_ns: int,
        phase_ns: int,
        seconds: float,
        results: str,
    ) -> dict[str, Any]:
        """Runs programs together, without a word to the other side in between.

        Each has a host, a command in which {plan} and {out} stand for its files, and a plan that gets the common base
        time: the first multiple of the raster, plus the phase, that is `lead_ns` away or more. Those that listen start
        first and end by themselves, but for those that `serve` the others: they are interrupted when the others have
        ended. What they wrote goes to `results` in the end.
        """
        for program in programs:
            folder = self._folder / program["name"]
            folder.mkdir(parents=True)
            program["command"][0] = self._in_memory(program["command"][0])
        now_ns = time.clock_gettime_ns(time.CLOCK_TAI)
        base_ns = -(-(now_ns + lead_ns - phase_ns) // raster_ns) * raster_ns + phase_ns
        running = []
        for program in programs:
            if program.get("plan") is not None:
                program["plan"]["base_time_tai_ns"] = base_ns
            running.append(self._start(program))
            self._programs.append(running[-1])
        until = time.monotonic() + seconds
        states = []
        pairs = list(zip(programs, running, strict=True))
        for program, process in sorted(pairs, key=lambda pair: bool(pair[0].get("serves"))):
            if program.get("serves"):
                process.send_signal(signal.SIGINT)
            try:
                status: int | None = process.wait(timeout=max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(timeout=5)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                status = None
            folder = self._folder / program["name"]
            states.append(
                {"name": program["name"], "status": status, "stderr": _text((folder / "stderr").read_bytes())}
            )
        self._programs.clear()
        for program in programs:
            shutil.copytree(self._folder / program["name"], Path(results) / program["name"])
            shutil.rmtree(self._folder / program["name"])
        return {"base_tai_ns": base_ns, "programs": states}

    def _in_memory(self, program: str) -> str:
        """A copy of a program, of which no page has to be read from a disk while frames are on their way."""
        copy = self._folder / Path(program).name
        if not copy.exists():
            shutil.copy2(program, copy)
        return str(copy)

    @staticmethod
    def _end(programs: list[subprocess.Popen[bytes]]) -> None:
        for program in programs:
            program.kill()
            program.wait()
        programs.clear()

    def _start(self, program: dict[str, Any]) -> subprocess.Popen[bytes]:
        folder = self._folder / program["name"]
        plan = folder / "plan.json"
        if program.get("plan") is not None:
            plan.write_text(json.dumps(program["plan"]))
        command = [word.format(plan=plan, out=folder) for word in program["command"]]
        with (folder / "stdout").open("wb") as stdout, (folder / "stderr").open("wb") as stderr:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                preexec_fn=self._entering(program["host"]),
            )

    def _entering(self, host: str | None) -> Callable[[], None]:
        number = self._own if host is None else self._namespaces[host]

        def enter() -> None:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # which this process ignores, and would hand on so
            _call(_LIBRARY.setns, number, _NEW_NETWORK)
            # Not by a program such as setpriv: an emulated clock runs ahead while its files are opened.
            _call(_LIBRARY.prctl, _PARENT_DEATH_SIGNAL, signal.SIGKILL)

        return enter

    def _inside(self, host: str) -> _Inside:
        return _Inside(self._namespaces[host], self._own)

    def _line(self) -> bytes | None:
        while b"\n" not in self._unread:
            received = os.read(self._file, 1 << 16)
            if not received:
                return None
            self._unread += received
        line, _, self._unread = self._unread.partition(b"\n")
        return line


class _Inside:
    """What is opened in here belongs to another namespace."""

    def __init__(self, number: int, back: int) -> None:
        self._number = number
        self._back = back

    def __enter__(self) -> None:
        _call(_LIBRARY.setns, self._number, _NEW_NETWORK)

    def __exit__(self, *_: object) -> None:
        _call(_LIBRARY.setns, self._back, _NEW_NETWORK)


def _call(function: Any, *arguments: int) -> None:
    if function(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{function.__name__}: {os.strerror(number)}")


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def main() -> None:
    """Serves by the file descriptor, or the device, that the command line names."""
    place = sys.argv[1]
    number = int(place) if place.isdecimal() else os.open(place, os.O_RDWR)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    executor = Executor(number)
    try:
        executor.serve()
    finally:
        executor.close()


if __name__ == "__main__":
    main()
