# SPDX-License-Identifier: Apache-2.0
"""The boards of hw/board: what each is made of."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import InputError
from penstock.hardware.registers import switch_files
from penstock.hardware.tools import hardware_folder


@dataclass(frozen=True)
class Board:
    """A board and its FPGA, as its board.toml has it."""

    name: str
    title: str
    top: str
    device: str  # as nextpnr-ecp5 calls it
    package: str
    speed: int

    @property
    def folder(self) -> Path:
        return boards_folder() / self.name

    @property
    def constraints(self) -> Path:
        """Pins and clocks."""
        return self.folder / f"{self.top}.lpf"

    def files(self) -> list[Path]:
        """The switch and the board around it, in the order of compilation."""
        lines = (line.split("//")[0].strip() for line in (self.folder / "files.f").read_text().splitlines())
        return [*switch_files(), *(boards_folder() / line for line in lines if line)]


def boards_folder() -> Path:
    return hardware_folder() / "board"


def primitive_models() -> Path:
    """What the primitives of the FPGA do, for simulation and lint."""
    return hardware_folder() / "tb" / "models" / "ecp5.sv"


def board_names() -> list[str]:
    return sorted(path.parent.name for path in boards_folder().glob("*/board.toml"))


def board(name: str) -> Board:
    """The board of this name; InputError names those that there are."""
    if name not in board_names():
        raise InputError("there is no such board", allowed=", ".join(board_names()), file=name)
    values = tomllib.loads((boards_folder() / name / "board.toml").read_text())
    return Board(name, **values)
