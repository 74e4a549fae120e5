# SPDX-License-Identifier: Apache-2.0
"""Penstock: one description of a time-sensitive network, run as a model or as hardware, held against proven bounds.

import penstock as ps

net = ps.load("scenarios/hello")
run = net.run(nodes="model")
run.streams  # a polars DataFrame, a row per stream
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.version import __version__

if TYPE_CHECKING:
    from penstock.api import Network, Node, Program, Report, Run, load
    from penstock.errors import EngineError, InputError, NoTraceError, RunError

__all__ = [
    "EngineError",
    "InputError",
    "Network",
    "NoTraceError",
    "Node",
    "Program",
    "Report",
    "Run",
    "RunError",
    "__version__",
    "load",
]


def __getattr__(name: str) -> Any:
    # On first use, so that a command which needs none of it starts at once.
    if name not in __all__:
        raise AttributeError(f"module 'penstock' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module("penstock.errors" if name.endswith("Error") else "penstock.api"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
