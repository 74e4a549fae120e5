# SPDX-License-Identifier: Apache-2.0
import os
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # `from runner import run_module`


def pytest_configure() -> None:
    # One seed for the whole session, also for its parallel workers.
    os.environ.setdefault("COCOTB_RANDOM_SEED", str(random.SystemRandom().randrange(1, 2**31)))


def pytest_report_header() -> str:
    return f"seed: COCOTB_RANDOM_SEED={os.environ['COCOTB_RANDOM_SEED']}"
