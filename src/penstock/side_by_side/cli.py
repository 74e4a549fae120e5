# SPDX-License-Identifier: Apache-2.0
"""`penstock run --nodes` with several kinds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from penstock.command.answer import answer
from penstock.command.console import output, tell
from penstock.command.ending import end, interruptible
from penstock.errors import InputError
from penstock.show.output import Form


def run_side_by_side(
    scenario: Path, nodes: str, out: Path | None, others: Mapping[str, object], form: Form
) -> NoReturn:
    """Runs each kind, prints one table, writes one page, and ends; `others` are options that say nothing of it."""
    from penstock.folder import replacing
    from penstock.lab.programs import How
    from penstock.lab.run import Where
    from penstock.scenario import load
    from penstock.side_by_side import show, steps
    from penstock.side_by_side.run import kinds_of, run

    kinds = kinds_of(nodes)
    given = [option for option, value in others.items() if value is not None]
    if given:
        raise InputError("says nothing of runs side by side", allowed="one kind of nodes with it", file=given[0])
    if form is Form.CSV:
        raise InputError("says nothing of runs side by side", allowed="--json", file=form.value)
    target = out or Path("out") / f"{load(scenario, kinds[0]).name}-side-by-side"
    with interruptible(), replacing(target) as folder:
        sides = run(scenario, kinds, folder, lambda what: tell(f"penstock run: {what}"), Where(), How())
        found = steps.steps({side.nodes: side.summary for side in sides})
        told: dict[str, Any] = {"ok": all(side.summary["ok"] for side in sides), "rows": list(steps.rows(found))}
        told |= {
            "runs": {side.nodes: {"ok": side.summary["ok"], "warnings": side.summary["warnings"]} for side in sides}
        }
        (folder / "summary.json").write_text(json.dumps(told, indent=2) + "\n")
        (folder / "report.html").write_text(show.as_page(sides, found), encoding="utf-8")
    if form is Form.JSON:
        answer(told)
    else:
        show.show(sides, found, output(), str(target))
    end(told["ok"])
