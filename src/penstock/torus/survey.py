# SPDX-License-Identifier: Apache-2.0
"""All that the laboratory tries with hosts of a network of tiles, as a table."""

from __future__ import annotations

from dataclasses import asdict

from rich.markup import escape

from penstock.command.answer import answer
from penstock.command.console import output, say
from penstock.command.tables import new_table, print_whole
from penstock.torus.laboratory import Laboratory
from penstock.torus.of_scenario import Torus


def survey(torus: Torus, as_json: bool) -> bool:
    """Tries nothing dead, each link and each node; prints what came of it. True: all was as the tables say."""
    with Laboratory(torus) as hosts:
        cases = list(hosts.cases())
    wrong = [f"{each.dead} dead: {what}" for each in cases for what in each.wrong]
    if as_json:
        answer({"ok": not wrong, "cases": [asdict(each) for each in cases]})
        return not wrong
    table = new_table(("dead",), ("reached", "of pairs", "longest way", "links more", "settled ms"))
    for each in cases:
        numbers = (each.arrived, each.pairs, each.longest, each.more, f"{1e3 * each.settled_s:.0f}")
        table.add_row(each.dead, *map(str, numbers))
    print_whole(table, output())
    for what in wrong:
        output().print(f"[red]differs[/] {escape(what)}", soft_wrap=True)
    asked = sum(each.pairs for each in cases)
    say(f"{asked - len(wrong):,} of {asked:,} ways as the tables say")
    return not wrong
