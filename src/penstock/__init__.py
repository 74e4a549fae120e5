# SPDX-License-Identifier: Apache-2.0
"""Penstock: one description of a time-sensitive network, run as hardware and held against its proven bounds."""

__version__ = "0.1.0"
