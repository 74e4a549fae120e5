# SPDX-License-Identifier: Apache-2.0
"""A card that runs: its program in a network of its own, where its cable ends at an interface of Linux."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import RunError
from penstock.lab.ending import Ending, end
from penstock.lab.own_folder import OwnFolder
from penstock.nic.binary import PROGRAM

INTERFACE = "card0"
ADDRESS = "10.9.0.2"
_PREFIX = 24


@dataclass(frozen=True)
class Counts:
    """What left a queue by the wire since the card began."""

    frames: int
    wire_bytes: int
    pcp: tuple[int, ...]  # frames of each priority code point
    untagged: int


@dataclass(frozen=True)
class Counted:
    """All that left, and when the last frame began by the card's own clock."""

    last_ns: int
    damaged: int  # of a card in hardware: without a good FCS, not whole, or too close to the one before
    queues: list[Counts]


@dataclass(frozen=True)
class Sent:
    """A frame that has left whole, without its FCS."""

    at_ns: int  # when its preamble began, by the card's clock
    queue: int
    data: bytes


@dataclass(frozen=True)
class Step:
    """What a card did until its clock stood still again."""

    now_ns: int  # a little later than was asked for, where registers were accessed
    is_idle: bool  # nothing is in it
    sent: tuple[Sent, ...]


class Card(Ending):
    """A card for one virtual machine; use it with `with`, or call `close`."""

    def __init__(
        self,
        pairs: int,
        rate_bps: int,
        library: Path | None = None,
        *,
        mac: str = "02:00:00:00:00:01",
        capture: Path | None = None,
        steps: bool = False,
    ) -> None:
        """Starts it: the Verilated card of a library, else the model.

        `rate_bps` is what its line takes in a second of this machine. `mac` is the guest's address. With `capture` the
        cable ends nowhere, and the file gets what leaves the card, as pcapng, by its own clock. With `steps`, which
        takes a library, it ends with the caller, whose `step` and `receive` make the card's time.

        Raises:
            RunError: It did not start: namespaces or TAP interfaces are not allowed here.

        """
        self.pairs = pairs
        self._mac = mac
        self._folder = OwnFolder()
        self._beside: list[subprocess.Popen[bytes]] = []
        program = [str(PROGRAM.build()), "--socket", str(self._path("vhost")), "--registers", str(self._path("line"))]
        program += ["--rate", str(rate_bps)]
        program += ["--pairs", str(pairs)] if library is None else ["--rtl", str(library)]
        has_cable = capture is None and not steps
        program += ["--tap", INTERFACE] if has_cable else []
        program += [] if capture is None else ["--capture", str(capture)]
        program += ["--steps"] if steps else []
        self._process = subprocess.Popen(
            [*(["unshare", "--net"] if has_cable else []), "setpriv", "--pdeathsig", "KILL", *program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._path("said").open("wb"),
            text=True,
            start_new_session=True,
        )
        try:
            self.counts()  # it has begun
            cable = (("addr", "add", f"{ADDRESS}/{_PREFIX}", "dev", INTERFACE), ("link", "set", INTERFACE, "up"))
            for command in cable if has_cable else ():
                subprocess.run([*self._inside, "ip", *command], check=True, capture_output=True)
        except subprocess.CalledProcessError as error:
            self.close()
            raise RunError(f"the card's cable: {error.stderr.decode().strip()}") from None
        except BaseException:
            self.close()
            raise

    def _path(self, name: str) -> Path:
        return self._folder.path / name

    @property
    def _inside(self) -> list[str]:
        return ["nsenter", "--target", str(self._process.pid), "--net"]

    @property
    def devices(self) -> list[str]:
        """Arguments of QEMU: the card, and its registers as the guest's third port."""
        # Without MSI-X: some versions of QEMU end with it where a processor is emulated.
        return [
            *("-chardev", f"socket,id=card,path={self._path('vhost')}"),
            *("-netdev", f"vhost-user,id=net,chardev=card,queues={self.pairs}"),
            *("-device", f"virtio-net-pci,netdev=net,mq=on,vectors=0,mac={self._mac}"),
            *("-chardev", f"socket,id=line,path={self._path('line')}"),
            *("-device", "virtserialport,chardev=line,nr=3"),
        ]

    def beside(self, command: Sequence[str]) -> None:
        """Starts a program at the other end of the cable, which ends with the card."""
        quiet = subprocess.DEVNULL
        self._beside.append(
            subprocess.Popen([*self._inside, *command], stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
        )

    def counts(self) -> list[Counts]:
        """What left, by queue."""
        return self.counted().queues

    def counted(self) -> Counted:
        """What left since the card began.

        Raises:
            RunError: The card ended.

        """
        found = self._asked("")
        queues = [
            Counts(each["frames"], each["wire_bytes"], tuple(each["pcp"]), each["untagged"]) for each in found["queues"]
        ]
        return Counted(found["last_ns"], found["damaged"], queues)

    def step(self, until_ns: int) -> Step:
        """Lets a card that goes by steps go on until its clock shows a time. Errors as of `counted`."""
        found = self._asked(f"run {until_ns}")
        sent = tuple(Sent(at_ns, queue, bytes.fromhex(data)) for at_ns, queue, data in found["sent"])
        return Step(found["now_ns"], found["is_idle"], sent)

    def receive(self, at_ns: int, data: bytes) -> None:
        """A frame without FCS, whose preamble begins at a time of the card's clock that is not over.

        Errors as of `counted`.
        """
        self._asked(f"receive {at_ns} {data.hex()}")

    def _asked(self, what: str) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(f"{what}\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            raise RunError(f"the card ended: {self._path('said').read_text().strip() or 'no word'}")
        return json.loads(line)

    def close(self) -> None:
        """Ends it, and what runs beside it."""
        for process in self._beside:
            process.kill()
            process.wait()
        self._beside = []
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        end(self._process)
        self._folder.remove()
