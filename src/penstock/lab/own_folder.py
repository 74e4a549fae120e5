# SPDX-License-Identifier: Apache-2.0
"""A temporary folder that is removed with its program, or by the next one if that was killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

_PREFIX = "penstock-lab-"
_YOUNG_S = 60.0  # one this young may not have its lock yet


class OwnFolder:
    """Holds a lock that ends with this program, so that a folder without one has been left over."""

    def __init__(self) -> None:
        """Makes a new folder, and removes those that killed programs of this user left."""
        remove_left_over()
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._lock = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Removes it with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def remove_left_over() -> None:
    """Removes the folders of programs that are gone."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            found = folder.stat()
            if found.st_uid != os.geteuid() or time.time() - found.st_mtime < _YOUNG_S:
                continue
            number = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            continue  # its program is at work
        finally:
            os.close(number)
