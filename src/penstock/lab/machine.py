# SPDX-License-Identifier: Apache-2.0
"""Where hosts are: this machine's kernel, or a guest's. The rest of the laboratory does not see the difference."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import RunError
from penstock.lab import executor
from penstock.lab.ending import Ending, end
from penstock.lab.guest import SHARE, Guest
from penstock.lab.own_folder import OwnFolder

_PROGRAM = Path(executor.__file__)
_ANSWER_WITHIN_S = 120.0
_END_WITHIN_S = 10.0


class ExecutorError(RunError):
    """The executor could not do what was asked."""

    def __init__(self, text: str, number: int | None = None) -> None:
        self.number = number  # of the operating system, where it is that
        super().__init__(text)


@dataclass(frozen=True)
class About:
    """The kernel and what it runs on, for the report."""

    release: str
    version: str
    emulation: str  # empty: none
    tai_minus_utc_s: int

    @property
    def is_real_time(self) -> bool:
        """Whether it is a PREEMPT_RT kernel."""
        return "PREEMPT_RT" in self.version


class Machine(Ending):
    """An executor and the line to it; all hosts end with `close`."""

    def __init__(self, guest: Guest | None = None) -> None:
        """On the guest, which stays the caller's, or on this machine.

        Raises:
            RunError: It could not be started, on this machine mostly because namespaces are not allowed.

        """
        self._guest = guest
        self._unread = b""
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = OwnFolder() if guest is None else None
        try:
            self._socket = self._on_this_machine() if guest is None else guest.connect(_PROGRAM)
            self._socket.settimeout(_ANSWER_WITHIN_S)
            self.about = self._about()
        except BaseException:
            self.close()
            raise

    @property
    def results(self) -> Path:
        """A folder of this machine, into which `play` puts what programs wrote."""
        if self._guest is not None:
            return self._guest.share / "results"
        assert self._folder is not None
        return self._folder.path / "results"

    def ask(self, what: str, **details: Any) -> dict[str, Any]:
        """An operation of the executor; see `Executor.do_WHAT`.

        Raises:
            ExecutorError: It failed.

        """
        seconds = float(details.get("seconds", 0)) + _ANSWER_WITHIN_S
        try:
            self._socket.settimeout(seconds)
            self._socket.sendall(json.dumps({"do": what, **details}).encode() + b"\n")
            answer: dict[str, Any] = json.loads(self._line())
        except TimeoutError:
            raise RunError(f"the executor gave no answer to {what} within {seconds:g} s") from None
        except OSError as error:
            raise RunError(f"the executor ended: {error.strerror}") from None
        if "error" in answer:
            raise ExecutorError(answer["error"], answer.get("errno"))
        return answer

    def run(self, host: str | None, command: Sequence[str], text: str = "") -> str:
        """What a command printed that has to succeed.

        Raises:
            RunError: It failed; with its words.

        """
        done = self.ask("run", host=host, command=list(command), text=text)
        if done["status"] != 0:
            said = done["stderr"].strip() or done["stdout"].strip()
            raise RunError(f"{' '.join(command)}: {said}" + (f" (of:\n{text})" if text else ""))
        return str(done["stdout"])

    def play(
        self, programs: Sequence[dict[str, Any]], *, lead_ns: int, raster_ns: int, phase_ns: int, seconds: float
    ) -> dict[str, Any]:
        """Runs programs together; see `Executor.do_play`."""
        shutil.rmtree(self.results, ignore_errors=True)
        self.results.mkdir()
        return self.ask(
            "play",
            programs=list(programs),
            lead_ns=lead_ns,
            raster_ns=raster_ns,
            phase_ns=phase_ns,
            seconds=seconds,
            results=f"{SHARE}/results" if self._guest is not None else str(self.results),
        )

    def close(self) -> None:
        """Ends all that runs; the hosts are gone with it."""
        if hasattr(self, "_socket"):
            self._socket.close()
        end(self._process, _END_WITHIN_S)
        self._process = None
        if self._folder is not None:
            self._folder.remove()
            self._folder = None

    def _on_this_machine(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            # A user who is not root is root in a user namespace of its own, which is enough where it is allowed.
            as_root = [] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user"]
            program = [sys.executable, "-I", str(_PROGRAM), str(theirs.fileno())]
            # In this order, as a new user namespace forgets the signal.
            self._process = subprocess.Popen(
                [*as_root, "setpriv", "--pdeathsig", "TERM", *program],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        return ours

    def _about(self) -> About:
        found = self.ask("about")
        emulation = str(self._guest.emulation) if self._guest is not None else ""
        return About(found["release"], found["version"], emulation, found["tai_minus_utc_s"])

    def _line(self) -> bytes:
        while b"\n" not in self._unread:
            received = self._socket.recv(1 << 16)
            if not received:
                raise RunError("the executor ended; are network namespaces allowed here?")
            self._unread += received
        line, _, self._unread = self._unread.partition(b"\n")
        return line
