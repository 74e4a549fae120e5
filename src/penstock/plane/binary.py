# SPDX-License-Identifier: Apache-2.0
"""Where the program `penstock-plane` is."""

from __future__ import annotations

from penstock.static_program import StaticProgram

PROGRAM = StaticProgram("penstock-plane", ("plane", "sys", "shaper", "frame"))
