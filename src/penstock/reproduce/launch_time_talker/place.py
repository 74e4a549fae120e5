# SPDX-License-Identifier: Apache-2.0
"""Where the scenarios are, and how long they run."""

from dataclasses import replace

from penstock.reproduce.experiment import SCENARIOS, Case, Length

FOLDER = SCENARIOS / "launch-time-talker"
PERIOD_PS = 10**9


def _lengthen(case: Case, frames: int) -> Case:
    return replace(case, values={**case.values, "duration": f"{frames}ms"})


# The paper's eight minutes on models; hardware in simulation takes its time.
LENGTH = Length({"model": 480_000, "rtl": 200}, _lengthen)
