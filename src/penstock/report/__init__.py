# SPDX-License-Identifier: Apache-2.0
"""The report: one HTML file that needs nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.report.html import part_of, render

__all__ = ["part_of", "render"]


def __getattr__(name: str) -> Any:
    # On first use, so that the command line starts at once.
    if name not in __all__:
        raise AttributeError(f"module 'penstock.report' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module("penstock.report.html"), name)
