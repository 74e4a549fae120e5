# SPDX-License-Identifier: Apache-2.0
"""The card's model against its hardware, to the cycle; and both against guests that mean harm."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from penstock.errors import RunError
from penstock.hardware.model import build_card
from penstock.nic.binary import PROGRAM

_DIFFERENT = 1


def differ(seed: int, count: int, pairs: int = 4, ports: int = 1) -> dict[str, Any]:
    """So many scenarios from a seed on, of a card with so many ports, each with so many queue pairs.

    Gives `scenarios`, the seeds that are `differing`, and what was `compared`.

    Raises:
        RunError: The program failed.

    """
    return _found(["differ", str(build_card(ports=ports, pairs=pairs))], seed, count)


def hostile(seed: int, count: int, *, rtl: bool = False) -> dict[str, Any]:
    """So many guests that mean harm, at the model or the hardware: those that `harmed`, and what was `survived`.

    Raises:
        RunError: The program failed.

    """
    return _found(["hostile", *([str(build_card())] if rtl else [])], seed, count)


def _found(words: list[str], seed: int, count: int) -> dict[str, Any]:
    command = [str(PROGRAM.build()), *words, "--seed", str(seed), "--count", str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, _DIFFERENT):
        raise RunError(f"{words[0]}: {done.stderr.strip() or 'no word'}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found | {"said": done.stderr.splitlines()}
