# SPDX-License-Identifier: Apache-2.0
"""What `penstock reproduce` does: runs, and writes its folder, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from penstock.errors import InputError
from penstock.folder import check_target, replacing
from penstock.lab.run import Where
from penstock.reproduce import laboratory as on_linux
from penstock.reproduce import page, papers, work
from penstock.reproduce.experiment import Options
from penstock.reproduce.result import BOTH, Reproduction, reproduce


def run(
    name: str,
    nodes: str,
    only: list[str] | None,
    out: Path,
    *,
    options: Options,
    frames: int | None = None,
    workers: int | None = None,
    done: work.Done | None = None,
    laboratory: Where | None = None,
    tell: Callable[[str], None] = lambda _what: None,
) -> Reproduction:
    """Runs a paper's experiments on "model", "rtl" or "both"; leaves `summary.json`, `runs.json` and `report.html`.

    With `laboratory` they run on real Linux too, before the rest, so that what is missing there is said soon.
    """
    paper = papers.load(name)
    kinds = BOTH if nodes == "both" else (nodes,)
    experiments = papers.sized(paper, papers.chosen(paper, only), kinds, frames)
    check_target(out)
    seen = None
    if laboratory is not None:
        if paper.laboratory is None:
            raise InputError(f"{paper.name} has no part on real Linux", allowed=_known(), file="--laboratory")
        seen = on_linux.run(paper, experiments, laboratory, tell, done)
    result = reproduce(paper, experiments, kinds, options=options, workers=workers, done=done)
    if seen is not None:
        result.add(seen)
    with replacing(out) as folder:
        (folder / "summary.json").write_text(json.dumps(result.as_json(), indent=2) + "\n")
        (folder / "runs.json").write_text(json.dumps(result.runs, indent=1) + "\n")
        (folder / "report.html").write_text(page.render(result), encoding="utf-8")
    return result


def _known() -> str:
    names = [name for name in papers.PAPERS if papers.load(name).laboratory is not None]
    return f"of {', '.join(names)}"
