# SPDX-License-Identifier: Apache-2.0
"""The example notebook: kept without outputs, and each of its cells gives what it says."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
nbformat: Any = import_module("nbformat")  # which says little of its types
NOTEBOOK = ROOT / "notebooks" / "network.ipynb"


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("notebook")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
        patch.setenv("IPYTHONDIR", str(folder))
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


def test_it_is_kept_without_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        assert not cell.get("outputs")
        assert not cell.get("execution_count")


def shown(cell: Any, kind: str) -> str:
    (output,) = (o for o in cell.outputs if o.output_type == "execute_result")
    return "".join(output.data[kind])


def test_each_cell_shows_something(executed: Any) -> None:
    cells = [cell for cell in executed.cells if cell.cell_type == "code"]
    assert len(cells) == 7
    for cell in cells:
        assert not [o for o in cell.outputs if o.output_type in ("error", "stream")]
        assert shown(cell, "text/plain")


def test_tables_and_report_are_shown(executed: Any) -> None:
    cells = [cell for cell in executed.cells if cell.cell_type == "code"]
    streams = shown(cells[1], "text/html")
    assert all(name in streams for name in ("control", "video", "bulk", "bound_ns"))
    assert "delivered" in shown(cells[2], "text/html")
    assert "queued_bytes_max" in shown(cells[3], "text/html")
    assert "latency_p99_ns" in shown(cells[5], "text/html")
    assert "iframe" in shown(cells[6], "text/html")
