# SPDX-License-Identifier: Apache-2.0
"""Where the program `penstock-host` is."""

from __future__ import annotations

from penstock.static_program import StaticProgram

PROGRAM = StaticProgram("penstock-host", ("host", "sys", "rtl", "net", "shaper", "frame"), loads=True)
