# SPDX-License-Identifier: Apache-2.0
import os
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))  # `from runner import run_module`

DEFAULT_SEED = "2026"


def pytest_configure(config: pytest.Config) -> None:
    # One seed for the whole session, also for its parallel workers; the same each time unless asked otherwise.
    if os.environ.get("COCOTB_RANDOM_SEED", DEFAULT_SEED) == "random":
        os.environ["COCOTB_RANDOM_SEED"] = str(random.SystemRandom().randrange(1, 2**31))
    os.environ.setdefault("COCOTB_RANDOM_SEED", DEFAULT_SEED)


def pytest_report_header() -> str:
    return f"seed: COCOTB_RANDOM_SEED={os.environ['COCOTB_RANDOM_SEED']}"
