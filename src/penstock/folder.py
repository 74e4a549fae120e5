# SPDX-License-Identifier: Apache-2.0
"""The folder of a run: it appears whole or not at all, whatever happens to the program."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.errors import InputError


def check_target(out: Path) -> None:
    """Refuses to replace what no run wrote."""
    if out.exists() and not (out.is_dir() and (not any(out.iterdir()) or (out / "summary.json").exists())):
        raise InputError(
            "is there already and is not a run's folder", allowed="a new folder, or one that a run wrote", file=out
        )


@contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """A hidden folder beside `out` that takes its place once it is complete, and never before."""
    out = Path(os.path.abspath(out))
    check_target(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        remove_left_over(out)
        partial = Path(tempfile.mkdtemp(prefix=f".{out.name}.new-", dir=out.parent))
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror}", allowed="a folder to write to", file=out) from None
    try:
        with _locked(partial):
            partial.chmod(0o777 & ~_umask())
            yield partial
            _swap(partial, out)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _swap(partial: Path, out: Path) -> None:
    if not out.exists():
        partial.rename(out)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{out.name}.old-", dir=out.parent))
    with _locked(old):
        out.rename(old / out.name)
        partial.rename(out)
        shutil.rmtree(old)


def remove_left_over(out: Path) -> None:
    """Removes what killed runs with this target left, and puts back results that one had just set aside."""
    mine = re.compile(rf"\.{re.escape(out.name)}\.(new|old)-[a-z0-9_]{{8}}")
    for folder in out.parent.iterdir():
        match = mine.fullmatch(folder.name)
        if match is None or not folder.is_dir():
            continue
        try:
            with _locked(folder):
                if match[1] == "old" and (folder / out.name).exists() and not out.exists():
                    (folder / out.name).rename(out)
                shutil.rmtree(folder, ignore_errors=True)
        except (BlockingIOError, FileNotFoundError):
            continue  # another run is at work


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """The lock ends with the program, however it ends, so that a folder without one has been left over."""
    number = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(number)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
