# SPDX-License-Identifier: Apache-2.0
"""All that the laboratory tries with hosts of a network of tiles, as a table."""

from __future__ import annotations

from dataclasses import asdict

from rich.markup import escape

from penstock.command.answer import answer
from penstock.command.console import output, say
from penstock.command.tables import new_table, print_whole
from penstock.torus.laboratory import Case, Laboratory
from penstock.torus.of_scenario import Torus

BACK_S = 0.1  # within which a link that comes up again is followed


def survey(torus: Torus, as_json: bool) -> bool:
    """Tries nothing dead, each link and each node; prints what came of it. True: all was as the tables say."""
    with Laboratory(torus) as hosts:
        cases = list(hosts.cases())
    wrong = [f"{each.dead} dead: {what}" for each in cases for what in each.wrong]
    late = [f"{each.dead} up again: routes after {_ms(each.back_s)} ms" for each in cases if _is_late(each)]
    if as_json:
        answer({"ok": not (wrong or late), "cases": [asdict(each) for each in cases]})
        return not (wrong or late)
    table = new_table(("dead",), ("reached", "of pairs", "longest way", "links more", "settled ms", "back ms"))
    for each in cases:
        numbers = (each.arrived, each.pairs, each.longest, each.more, f"{1e3 * each.settled_s:.0f}", _ms(each.back_s))
        table.add_row(each.dead, *map(str, numbers))
    print_whole(table, output())
    for what in (*wrong, *late):
        output().print(f"[red]differs[/] {escape(what)}", soft_wrap=True)
    asked = sum(each.pairs for each in cases)
    say(f"{asked - len(wrong):,} of {asked:,} ways as the tables say")
    longest_s = max((each.back_s for each in cases if each.back_s is not None), default=None)
    if longest_s is not None:
        allowed = f"{_ms(BACK_S)} allowed"
        say(f"interfaces that were set up had their routes {_ms(longest_s)} ms after that command at most, {allowed}")
    return not (wrong or late)


def _is_late(case: Case) -> bool:
    return case.back_s is not None and case.back_s > BACK_S


def _ms(seconds: float | None) -> str:
    return "" if seconds is None else f"{1e3 * seconds:.0f}"
