# SPDX-License-Identifier: Apache-2.0
"""Configurations that others wrote: scripts of tc commands, and what `tc -j qdisc show` prints."""
