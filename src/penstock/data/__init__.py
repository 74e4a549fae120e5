# SPDX-License-Identifier: Apache-2.0
"""Where the files are that the Python reads but that are no Python: hardware, scenarios, the engine's sources, pages.

The links beside this file lead to their folders in a checkout; in an installed package what is needed of those folders
stands in their place.
"""

from __future__ import annotations

import shutil
from importlib.resources import files
from pathlib import Path

from penstock.errors import InputError, did_you_mean

_HERE = Path(str(files(__name__)))
HARDWARE = (_HERE / "hw").resolve()
SCENARIOS = (_HERE / "scenarios").resolve()
ENGINE = (_HERE / "engine").resolve()
PAGES = (_HERE / "docs").resolve()


def checkout() -> Path | None:
    """The folder of the project, or None in an installed package, which has no tests and no pages to write."""
    folder = HARDWARE.parent
    return folder if (folder / "pyproject.toml").is_file() else None


def page(name: str) -> Path:
    """A page of the documentation, to be written. Raises `InputError` in an installed package."""
    if checkout() is None:
        raise InputError("is written in a checkout only", allowed="a checkout of the project", file=f"docs/{name}")
    return PAGES / name


def found(path: Path) -> Path:
    """A path, or where it leads among the scenarios of the package, with or without `scenarios/` before it.

    So `penstock run scenarios/hello` does the same in a checkout and away from it.
    """
    if not path.exists():
        packaged = SCENARIOS.parent / path if path.parts[:1] == (SCENARIOS.name,) else SCENARIOS / path
        if not path.is_absolute() and ".." not in path.parts and path.parts and packaged.exists():
            return packaged
    return path


def scenario_file(path: Path) -> Path:
    """The file of a scenario, of the package's too: a folder's `scenario.toml`, or itself."""
    path = found(path)
    return path / "scenario.toml" if path.is_dir() else path


def scenario_names() -> list[str]:
    """The scenarios of the package, as `penstock run` takes them: folders, and files that stand in one with others."""
    files = [
        file
        for file in SCENARIOS.rglob("*.toml")
        # What is kept below a scenario, such as a recording of it, is none.
        if not any((folder / "scenario.toml").is_file() for folder in file.parents[1:])
    ]
    return sorted(str((f.parent if f.name == "scenario.toml" else f).relative_to(SCENARIOS)) for f in files)


def copy_scenario(name: str, target: Path) -> Path:
    """Copies a scenario of the package, with its captures, to a folder or file that is not there yet.

    Raises `InputError` where there is no such scenario, or where it would be written over something.
    """
    known = scenario_names()
    name = name.removeprefix("scenarios/").rstrip("/")
    if name not in known:
        allowed = ", ".join(known)
        raise InputError(f'there is no scenario "{name}"{did_you_mean(name, known)}', allowed=allowed, file="scenarios")
    if target.exists():
        raise InputError("is there already", allowed="a name that is free", file=target)
    target.parent.mkdir(parents=True, exist_ok=True)
    source = SCENARIOS / name
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copyfile(source, target)
    return target
