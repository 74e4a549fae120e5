# SPDX-License-Identifier: Apache-2.0
"""Qdiscs, links and routes over netlink: what `tc` and `ip` do, but with lists of any length, and read back."""
