# SPDX-License-Identifier: Apache-2.0
"""The report: one HTML file that needs nothing else."""

from penstock.report.html import part_of, render

__all__ = ["part_of", "render"]
