# SPDX-License-Identifier: Apache-2.0
"""A design as one module of the ECP5's cells, as nextpnr places it."""

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from penstock.hardware.netlist import Netlist, copy_wide_drivers, open_carry_ends
from penstock.hardware.pins import put_between_pins
from penstock.hardware.synth import SUMS_STEP, TARGETS, map_sums, yosys

# Mapped by itself: ABC saves LUTs wherever a way is not the longest of a design, and this one's wires are long.
ALONE = "pen_selection"


def synthesize_flat(
    folder: Path,
    top: str,
    files: Iterable[Path],
    parameters: Mapping[str, int] | None = None,
    *,
    between_pins: bool = False,
) -> Netlist:
    """The netlist of a top module, as it is or between two pins, in the form that Yosys writes as JSON.

    Yosys works in this folder. Raises ToolError with what it said.
    """
    family, files = TARGETS["ecp5"], list(files)
    for path in files:
        shutil.copyfile(path, folder / path.name)
    settings = "".join(f" -G {key}={value}" for key, value in (parameters or {}).items())
    yosys(
        folder,
        f"read_slang --threads 1 --top {top}{settings} -D SYNTHESIS {' '.join(path.name for path in files)}",
        f"hierarchy -check -top {top}",
        f"setattr -mod -set keep_hierarchy 1 {ALONE}*",
        *family.mapping,
        *map_sums(family, folder, top, "begin"),
        f"{family.command} -top {top} -run {SUMS_STEP}:",
        "setattr -mod -unset keep_hierarchy *",
        "flatten",
        "clean",
        "write_json flat.json",
    )
    netlist: Netlist = json.loads((folder / "flat.json").read_text())
    module = netlist["modules"][top]
    open_carry_ends(module)
    if between_pins:
        put_between_pins(module)
    copy_wide_drivers(module)
    return netlist
