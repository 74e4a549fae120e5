# SPDX-License-Identifier: Apache-2.0
"""A finished run, shown again: `penstock show`."""
