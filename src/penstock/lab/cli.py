# SPDX-License-Identifier: Apache-2.0
"""`penstock lab` and `penstock doctor`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from penstock.errors import InputError
from penstock.lab.emulation import MOST_ICOUNT_SHIFT, Emulation

EmulationOption = Enum("EmulationOption", {"AUTO": "auto", "KVM": "kvm", "TCG": "tcg", "ICOUNT": "icount"})


def lab(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="SCENARIO", help="A folder or file; with --shell a command.")
    ] = None,
    shell: Annotated[bool, typer.Option("--shell", help="Run a command in the guest: --shell -- COMMAND...")] = False,
    prepare: Annotated[
        bool, typer.Option("--prepare", help="Get and unpack the newest real-time kernel; installs what is missing.")
    ] = False,
    emulation: Annotated[
        EmulationOption, typer.Option(help="How the guest's processor is made; auto tries KVM.")
    ] = EmulationOption.AUTO,
    icount_shift: Annotated[
        int, typer.Option(min=0, max=MOST_ICOUNT_SHIFT, help="With icount: an instruction takes 2^N ns.")
    ] = 0,
    timeout: Annotated[int, typer.Option(min=1, metavar="SECONDS", help="The most a command may take.")] = 60,
) -> None:
    """Run a scenario on real Linux, or a command on the laboratory's real-time kernel."""
    from penstock.lab.setup import prepare as get_ready

    chosen = None if emulation.value == "auto" else Emulation(emulation.value, icount_shift)
    if not (prepare or shell or words):
        raise InputError("nothing to do", allowed="SCENARIO, --prepare, or --shell -- COMMAND...", file="penstock lab")
    if shell and not words:
        raise InputError("no command", allowed="--shell -- COMMAND...", file="penstock lab")
    with interruptible():
        if prepare or shell:
            kernel = get_ready(_tell, renew=prepare)
            _tell(f"kernel {kernel.release} {kernel.version} in {kernel.folder}")
        if shell:
            raise typer.Exit(_run_command(words or [], chosen, timeout))


def _run_command(command: list[str], emulation: Emulation | None, timeout_s: int) -> int:
    from penstock.lab.guest import Guest
    from penstock.lab.setup import prepare as get_ready

    with Guest(get_ready(_tell), emulation) as guest:
        _tell(f"the guest started in {guest.seconds_to_start:.1f} s ({guest.emulation})")
        finished = guest.run(command, timeout_s=timeout_s, cwd=str(Path.cwd()))
    sys.stdout.write(finished.stdout)
    sys.stderr.write(finished.stderr)
    return finished.status


@contextmanager
def interruptible() -> Iterator[None]:
    """A polite kill ends the program as Ctrl-C does, so that everything is undone."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _tell(what: str) -> None:
    print(f"penstock lab: {what}", file=sys.stderr, flush=True)
