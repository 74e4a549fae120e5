# SPDX-License-Identifier: Apache-2.0
"""What is read as a file has to be one."""

from __future__ import annotations

import errno
import stat
from pathlib import Path


def check_ends(file: Path) -> None:
    """Raises OSError unless it is a plain file: a pipe would be waited for, and a device read, without an end."""
    try:
        mode = file.stat().st_mode
    except ValueError as error:  # a name with a NUL
        raise OSError(errno.EINVAL, str(error)) from None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is not a plain file")
