# SPDX-License-Identifier: Apache-2.0
"""The modules of the package know each other in one direction."""

from __future__ import annotations

import ast
import graphlib
import subprocess
import sys
from pathlib import Path

import pytest

import penstock

PACKAGE = Path(penstock.__file__).parent
Graph = dict[str, set[str]]


def modules(package: Path) -> dict[str, Path]:
    """Every module of a package by its full name."""
    found = {}
    for file in [*package.rglob("*.py"), *package.glob("*.pyi")]:
        parts = file.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def graph(package: Path) -> Graph:
    """Which modules each one imports: at its top, in a function, or for its types only."""
    known = modules(package)
    found: Graph = {}
    for name, file in known.items():
        found[name] = set()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found[name] |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{file}:{node.lineno}: imports are absolute"
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    found[name].add(whole if whole in known else str(node.module))
        found[name] &= known.keys() - {name}
    return found


def check(imports: Graph) -> None:
    """Raises CycleError with the modules of a circle."""
    graphlib.TopologicalSorter(imports).prepare()


def test_no_modules_import_each_other_in_a_circle() -> None:
    found = graph(PACKAGE)
    assert len(found) > 150
    assert "penstock.errors" in found["penstock.cli"]
    check(found)


@pytest.mark.parametrize(
    "how", ["import p.a", "from p import a", "from p.a import x", "def f():\n    from p.a import x"]
)
def test_a_circle_is_found(tmp_path: Path, how: str) -> None:
    package = tmp_path / "p"
    package.mkdir()
    for name, text in {"__init__": "", "a": "import p.b", "b": how}.items():
        (package / f"{name}.py").write_text(text + "\n")
    with pytest.raises(graphlib.CycleError):
        check(graph(package))


def test_what_others_start_from_can_be_imported_first() -> None:
    for name in ("captures", "data", "errors", "plain_file"):
        subprocess.run([sys.executable, "-c", f"import penstock.{name}"], check=True)
