# SPDX-License-Identifier: Apache-2.0
"""A virtual machine that sees this machine's files, cannot change them, and runs commands on another kernel.

Its processes belong to it alone: it ends with `close`, with this program however that ends, and leaves no file behind.
"""

from __future__ import annotations

import select
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import RunError
from penstock.lab import image
from penstock.lab.emulation import Emulation, kvm_is_offered, remember, remembered
from penstock.lab.ending import Ending, end
from penstock.lab.kernel import Kernel
from penstock.lab.own_folder import OwnFolder

SHARE = "/run/penstock"  # in the guest
READY_WITHIN_S = 180.0
KVM_READY_WITHIN_S = 20.0
_GRACE_S = 10.0  # beyond a command's own time, which the guest itself keeps
_TIMED_OUT = 124  # as `timeout` says it


@dataclass(frozen=True)
class Finished:
    """What a command in the guest left."""

    status: int  # as the shell has it: 124 when its time was up
    stdout: str
    stderr: str


class Guest(Ending):
    """A running guest; use it with `with`, or call `close`."""

    def __init__(
        self,
        kernel: Kernel,
        emulation: Emulation | None = None,
        *,
        without_kvm: Emulation = Emulation("tcg"),  # noqa: B008 - frozen
        ready_within_s: float = READY_WITHIN_S,
        processors: int | None = None,
        memory_mib: int = 1024,
        devices: Sequence[str] = (),
    ) -> None:
        """Starts the guest and waits until it takes commands.

        Without `emulation` KVM is tried where it is offered, for a limited time; `without_kvm` is taken if it gets
        nowhere. `devices` are further arguments of QEMU; one of them may be served by another process, with which the
        guest then shares its memory.

        Raises:
            RunError: QEMU is missing, or the guest did not start.

        """
        if shutil.which("qemu-system-x86_64") is None:
            raise RunError("qemu-system-x86_64 is missing; run: sudo apt-get install qemu-system-x86")
        self.kernel = kernel
        self.memory_mib = memory_mib
        self.emulation = emulation or without_kvm
        self._wanted_processors = processors
        self._devices = tuple(devices)
        self.seconds_to_start = 0.0
        self._ready_within_s = ready_within_s
        self._jobs = 0
        self._finished: dict[int, int] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._spare: socket.socket | None = None  # the line that `connect` gives away
        self._folder: OwnFolder | None = None
        self._unread = b""
        try:
            self._choose_and_start(emulation, without_kvm)
        except BaseException:
            self.close()
            raise

    @property
    def processors(self) -> int:
        """One with icount, under which a second one does not get through the start."""
        return self._wanted_processors or (1 if self.emulation.kind == "icount" else 2)

    @property
    def share(self) -> Path:
        """A folder that the guest sees, and may write to, at SHARE."""
        assert self._folder is not None, "the guest is closed"
        return self._folder.path / "share"

    @property
    def process_id(self) -> int:
        """Of QEMU."""
        assert self._process is not None, "the guest is closed"
        return self._process.pid

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: int = 60,
        cwd: str = "/",
        environment: Mapping[str, str] | None = None,
    ) -> Finished:
        """Runs a command to its end and gives what it printed.

        Raises:
            RunError: The guest itself ended or answers no more; a command that fails is not an error here.

        """
        return self.wait(self.start(command, timeout_s=timeout_s, cwd=cwd, environment=environment), timeout_s)

    def start(
        self,
        command: Sequence[str],
        *,
        timeout_s: int = 60,
        cwd: str = "/",
        environment: Mapping[str, str] | None = None,
    ) -> int:
        """Starts a command and gives a number to wait for; several may run at once."""
        self._jobs += 1
        folder = self.share / "jobs" / str(self._jobs)
        folder.mkdir(parents=True)
        exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in (environment or {}).items())
        (folder / "command").write_text(f"{exports}cd {shlex.quote(cwd)} && exec {shlex.join(command)}\n")
        # With icount the guest's time runs ahead while it waits for a file, so that it cannot keep the limit itself.
        self._send(f"{self._jobs} {0 if self.emulation.kind == 'icount' else timeout_s}\n")
        return self._jobs

    def wait(self, number: int, timeout_s: float) -> Finished:
        """Waits for a command that was started.

        Raises:
            RunError: The guest itself ended or answers no more.

        """
        until = time.monotonic() + timeout_s + _GRACE_S
        while number not in self._finished:
            words = self._line(until).split()
            if len(words) == 3 and words[0] == "done":
                self._finished[int(words[1])] = int(words[2])
        folder = self.share / "jobs" / str(number)
        stdout, stderr = (
            (folder / name).read_text(encoding="utf-8", errors="replace") for name in ("stdout", "stderr")
        )
        return Finished(self._finished[number], stdout, stderr)

    def connect(self, program: Path) -> socket.socket:
        """Starts a Python program of this machine in the guest, with a line to it, which its argument names.

        Raises:
            RunError: There is one already.

        """
        if self._spare is None:
            raise RunError("the guest's second line is in use")
        line, self._spare = self._spare, None
        self.start([sys.executable, "-I", "-S", str(program), "/dev/penstock"], timeout_s=0)
        return line

    def close(self) -> None:
        """Ends the guest and removes its files; a second call does nothing."""
        for line in (self._channel, self._spare):
            if line is not None:
                line.close()
        self._channel = self._spare = None
        end(self._process)
        self._process = None
        if self._folder is not None:
            self._folder.remove()
            self._folder = None

    def _choose_and_start(self, emulation: Emulation | None, without_kvm: Emulation) -> None:
        release = self.kernel.release
        if emulation is None and kvm_is_offered() and remembered(release) is not False:
            self.emulation = Emulation("kvm")
            try:
                self._start(KVM_READY_WITHIN_S)
            except RunError:
                remember(release, False)
                self.close()
                self.emulation = without_kvm
            else:
                remember(release, True)
                return
        self._start(self._ready_within_s)

    def _start(self, within_s: float) -> None:
        started = time.monotonic()
        self._folder = OwnFolder()
        folder = self._folder.path
        (folder / "share" / "jobs").mkdir(parents=True)
        agent = folder / "share" / "agent"
        agent.write_bytes(image.guest_file("agent"))
        agent.chmod(0o755)
        with _listening(folder / "channel") as channel, _listening(folder / "spare") as spare:
            with (folder / "console").open("wb") as console:
                # A session of its own keeps Ctrl-C from it; it dies with this program even when that is killed.
                self._process = subprocess.Popen(
                    ["setpriv", "--pdeathsig", "KILL", *self._command(folder)],
                    stdin=subprocess.DEVNULL,
                    stdout=console,
                    stderr=console,
                    start_new_session=True,
                )
            self._channel = self._accept(channel, started + within_s)
            self._spare = self._accept(spare, started + within_s)
        if not self._line(started + within_s).startswith("ready"):
            raise RunError(f"the guest did not start: {self._said()}")
        self.seconds_to_start = time.monotonic() - started

    def _accept(self, listening: socket.socket, until: float) -> socket.socket:
        while time.monotonic() < until:
            if select.select([listening], [], [], 0.1)[0]:
                return listening.accept()[0]
            if self._process is not None and self._process.poll() is not None:
                break
        raise RunError(f"QEMU did not start: {self._said()}")

    def _command(self, folder: Path) -> list[str]:
        settings = [
            *("console=ttyS0", "8250.nr_uarts=1", "quiet", "panic=-1"),
            # Read without leaving the guest, where the chipset's timer costs microseconds of emulation.
            *("tsc=reliable", "clocksource=tsc", "no_timer_check"),
            # None of it has to be defended here, and all of it takes time to start.
            *("mitigations=off", "nokaslr", "audit=0", "apparmor=0", "cryptomgr.notests", "nowatchdog"),
            f"penstock.modules={self.kernel.modules}",
        ]
        shared = "local,security_model=none,multidevs=remap"
        return [
            "qemu-system-x86_64",
            *("-machine", "q35,vmport=off,memory-backend=memory", "-m", str(self.memory_mib)),
            *("-object", f"memory-backend-memfd,id=memory,size={self.memory_mib}M,share=on"),
            *self.emulation.arguments(self.processors),
            *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-rtc", "base=utc"),
            *("-serial", "stdio"),
            *("-kernel", str(self.kernel.vmlinux), "-initrd", str(image.initramfs(self.kernel))),
            *("-append", " ".join(settings)),
            *("-fsdev", f"{shared},readonly=on,id=host,path=/"),
            *("-device", "virtio-9p-pci,fsdev=host,mount_tag=host"),
            *("-fsdev", f"{shared},id=share,path={folder / 'share'}"),
            *("-device", "virtio-9p-pci,fsdev=share,mount_tag=share"),
            *("-device", "virtio-serial-pci,max_ports=4"),
            *("-chardev", f"socket,id=channel,path={folder / 'channel'}"),
            *("-device", "virtserialport,chardev=channel,nr=1"),
            *("-chardev", f"socket,id=spare,path={folder / 'spare'}"),
            *("-device", "virtserialport,chardev=spare,nr=2"),
            *self._devices,
        ]

    def _send(self, line: str) -> None:
        if self._channel is None:
            raise RunError("the guest is closed")
        try:
            self._channel.sendall(line.encode())
        except OSError:
            raise RunError(f"the guest ended: {self._said()}") from None

    def _line(self, until: float) -> str:
        assert self._channel is not None
        while b"\n" not in self._unread:
            left = until - time.monotonic()
            if left <= 0:
                raise RunError(f"the guest does not answer: {self._said()}")
            if not select.select([self._channel], [], [], left)[0]:
                continue
            received = self._channel.recv(4096)
            if not received:
                raise RunError(f"the guest ended: {self._said()}")
            self._unread += received
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode()

    def _said(self) -> str:
        """The last lines of its console."""
        if self._folder is None:
            return "no word"
        text = (self._folder.path / "console").read_text(errors="replace")
        return " | ".join(line.strip() for line in text.splitlines()[-4:]) or "no word"


def _listening(path: Path) -> socket.socket:
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    opened.bind(str(path))
    opened.listen(1)
    return opened
