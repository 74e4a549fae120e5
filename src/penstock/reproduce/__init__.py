# SPDX-License-Identifier: Apache-2.0
"""The experiments of papers, run again: paper, theory and ours side by side."""

from penstock.reproduce.papers import PAPERS, load

__all__ = ["PAPERS", "load"]
