# SPDX-License-Identifier: Apache-2.0
"""`penstock check`."""

from __future__ import annotations

from penstock.command.answer import answer
from penstock.command.console import output
from penstock.command.options import JsonOption, ScenarioArgument


def check(scenario: ScenarioArgument, as_json: JsonOption = False) -> None:
    """Validate a scenario: each stream's way, classes and bound, and what people usually get wrong."""
    from penstock.check.checked import check as looked_at
    from penstock.check.show import show
    from penstock.scenario import load

    checked = looked_at(load(scenario))
    if as_json:
        answer(checked.as_json())
    else:
        show(checked, output(width=None))
