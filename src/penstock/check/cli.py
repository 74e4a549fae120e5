# SPDX-License-Identifier: Apache-2.0
"""`penstock check`."""

from __future__ import annotations

from penstock.command.answer import Format, answer
from penstock.command.console import output
from penstock.command.ending import end
from penstock.command.options import FormatOption, JsonOption, ScenarioArgument
from penstock.errors import located


def check(scenario: ScenarioArgument, form: FormatOption = Format.TEXT, as_json: JsonOption = False) -> None:
    """Validate a scenario: each stream's way, classes and bound, and what people usually get wrong."""
    from penstock.check.checked import check as looked_at
    from penstock.check.show import show
    from penstock.scenario import load

    form = Format.chosen(form, as_json)
    checked = looked_at(load(scenario))
    if form is Format.JSON:
        answer(checked.as_json())
    elif form is not Format.TEXT:
        from penstock.command.ci import Case, print_cases

        warnings = [located(**each.as_json()) for each in checked.warnings]
        failures = [located(**each.as_json()) for each in checked.impossible]
        print_cases(form, "check", [Case(str(checked.network.file), "well-formed", failures, warnings)])
    else:
        show(checked, output(width=None))
    if checked.impossible:
        end(False)
