# SPDX-License-Identifier: Apache-2.0
"""What `penstock reproduce` does: runs, and writes its folder, whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

from penstock.folder import check_target, replacing
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
) -> Reproduction:
    """Runs a paper's experiments on "model", "rtl" or "both"; leaves `summary.json`, `runs.json` and `report.html`."""
    paper = papers.load(name)
    kinds = BOTH if nodes == "both" else (nodes,)
    experiments = papers.sized(paper, papers.chosen(paper, only), kinds, frames)
    check_target(out)
    result = reproduce(paper, experiments, kinds, options=options, workers=workers, done=done)
    with replacing(out) as folder:
        (folder / "summary.json").write_text(json.dumps(result.as_json(), indent=2) + "\n")
        (folder / "runs.json").write_text(json.dumps(result.runs, indent=1) + "\n")
        (folder / "report.html").write_text(page.render(result), encoding="utf-8")
    return result
