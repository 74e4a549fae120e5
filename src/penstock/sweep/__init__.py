# SPDX-License-Identifier: Apache-2.0
"""Many independent runs of a scenario: all combinations of settings, each with several seeds."""

from penstock.sweep.journal import Journal
from penstock.sweep.plan import Setting, Task, combinations, parse_setting, plan, setting
from penstock.sweep.work import Sweep, run, write

__all__ = ["Journal", "Setting", "Sweep", "Task", "combinations", "parse_setting", "plan", "run", "setting", "write"]
