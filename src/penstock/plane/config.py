# SPDX-License-Identifier: Apache-2.0
"""Files that tell a plane what it is: TOML for people, JSON for the program, which checks what they say."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

from penstock.errors import InputError

Table = dict[str, Any]


def read(file: Path) -> Table:
    """What a TOML or JSON file says, unchecked. Raises InputError where it is neither."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "is no text"
        raise InputError(f"cannot be read: {what}", allowed="a file of TOML or JSON", file=file) from None
    try:
        found = json.loads(text) if file.suffix == ".json" else tomllib.loads(text)
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(str(error), allowed="TOML, or JSON in a file that ends in .json", file=file) from None
    if not isinstance(found, dict):
        raise InputError("is no table", allowed="a table of keys; docs/plane.md has them", file=file)
    return found


def socket_of(name: str) -> Path:
    """Where a plane of this name is asked, unless somebody says otherwise."""
    folder = Path(os.environ.get("XDG_RUNTIME_DIR") or "/run")
    return folder / f"penstock-plane-{name}.sock"
