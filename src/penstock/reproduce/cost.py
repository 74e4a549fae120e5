# SPDX-License-Identifier: Apache-2.0
"""What our hardware costs, for the tables of papers that print what theirs does."""

from __future__ import annotations

from functools import cache

from penstock.errors import EngineError
from penstock.hardware.lint import TOP
from penstock.hardware.synth import documented, mark, synthesize
from penstock.hardware.tools import ToolError

PORTS = 4  # as the papers' have
FAMILY = "xc7"  # the papers' FPGAs have the same LUTs, flip-flops and block RAMs
QUANTITIES = {"LUTs": "lut", "FFs": "ff", "LUTRAMs": "lutram", "BRAMs": "bram36"}


@cache
def cost(synthesized: bool, top: str = TOP) -> dict[str, dict[str, float]]:
    """Of each block, by quantity: synthesized now, or as docs/synthesis.md has it. EngineError if nobody can say."""
    try:
        if synthesized:
            return {block.name: dict(block.used) for block in synthesize(FAMILY, top, PORTS).blocks}
        return documented(mark(FAMILY, top, PORTS))
    except ToolError as error:
        raise EngineError(str(error)) from error


def origin(synthesized: bool) -> str:
    """Where the figures come from."""
    return "synthesized now" if synthesized else "those of docs/synthesis.md"
