# SPDX-License-Identifier: Apache-2.0
"""The card's model against its hardware: what the host sees, and to the cycle when frames leave."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from penstock.errors import RunError
from penstock.hardware.model import build_card
from penstock.nic.binary import PROGRAM

_DIFFERENT = 1


def differ(seed: int, count: int) -> dict[str, Any]:
    """So many scenarios from a seed on: `scenarios`, the seeds that are `differing`, and what was `compared`.

    Raises:
        RunError: The program failed.

    """
    command = [str(PROGRAM.build()), "differ", str(build_card()), "--seed", str(seed), "--count", str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, _DIFFERENT):
        raise RunError(f"the comparison of cards: {done.stderr.strip() or 'no word'}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found | {"said": done.stderr.splitlines()}
