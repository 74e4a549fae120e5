# SPDX-License-Identifier: Apache-2.0
"""The scenario that a run's folder holds, with the files that it names, as it was when it ran."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path

from penstock.errors import InputError
from penstock.scenario.network import Network
from penstock.scenario.positions import parse
from penstock.scenario.references import references
from penstock.scenario.writing import toml_of

NAME = "scenario"


def keep(network: Network, folder: Path) -> None:
    """Writes the scenario of a network beside what its run left: its text, and copies of its files.

    Files from beside or outside the scenario's own folder are kept too, and named anew.
    """
    written = network.written
    if written is None:
        return
    kept = folder / NAME
    kept.mkdir()
    is_text = isinstance(written, str)
    values = parse(written)[0] if isinstance(written, str) else copy.deepcopy(dict(written))
    for number, (table, key) in enumerate(references(values)):
        named = Path(table[key])
        file = network.file.parent / named
        if not file.is_file():
            continue
        if named.is_absolute() or ".." in named.parts:
            named = Path("files", f"{number}-{named.name}")
            table[key] = str(named)
            is_text = False
        (kept / named).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, kept / named)
    text = written if is_text and isinstance(written, str) else toml_of(values)
    (kept / "scenario.toml").write_text(text, encoding="utf-8", newline="")


def kept_in(folder: Path) -> Path:
    """The scenario that a run's folder holds; raises `InputError` where it holds none."""
    file = folder / NAME / "scenario.toml"
    if not file.is_file():
        raise InputError("holds no scenario", allowed="the scenario of the run beside it", file=folder)
    return file
