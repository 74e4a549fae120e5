# SPDX-License-Identifier: Apache-2.0
"""The folder of a run: it appears whole or not at all, whatever happens to the program."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.errors import InputError

Owned = Callable[[Path], bool]  # whether a folder may be replaced


def is_results(folder: Path) -> bool:
    """Whether a run, or another command with results, wrote the folder."""
    return (folder / "summary.json").exists()


def check_target(out: Path, owned: Owned = is_results, what: str = "run") -> None:
    """Refuses to replace what no command wrote."""
    if out.exists() and not (out.is_dir() and (not any(out.iterdir()) or owned(out))):
        raise InputError(
            f"is there already and is not a {what}'s folder", allowed=f"a new folder, or one that a {what} wrote",
            file=out,
        )  # fmt: skip
    check_folder(out.parent)


def check_folder(folder: Path, said: str = "") -> None:
    """Raises OSError, or InputError, where no file could be written into a folder, which may still have to be made.

    It is asked before the work starts whose results would be lost; `said` is the option that names the folder.
    """
    _check_place(folder, f"{said} {folder}".strip())


def _check_place(folder: Path, place: str) -> None:
    there = Path(os.path.abspath(folder))
    while not os.path.lexists(there):
        there = there.parent
    if not there.is_dir():
        raise InputError(f"{there} is not a folder", allowed="a folder to write to", file=place)
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise OSError(error.errno, error.strerror, place) from None


def check_file(file: Path, said: str = "") -> None:
    """The same for one file, which may be there already."""
    place = f"{said} {file}".strip()
    if file.is_dir():
        raise InputError("is a folder", allowed="a file to write", file=place)
    if file.exists() and not os.access(file, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), place)
    _check_place(file.parent, place)


@contextmanager
def replacing(out: Path, owned: Owned = is_results, what: str = "run") -> Iterator[Path]:
    """A hidden folder beside `out` that takes its place once it is complete, and never before."""
    out = Path(os.path.abspath(out))
    check_target(out, owned, what)
    out.parent.mkdir(parents=True, exist_ok=True)
    remove_left_over(out)
    partial = Path(tempfile.mkdtemp(prefix=f".{out.name}.new-", dir=out.parent))
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
