# SPDX-License-Identifier: Apache-2.0
"""Where the scenarios are."""

from penstock.reproduce.experiment import SCENARIOS

FOLDER = SCENARIOS / "ats-switch"
