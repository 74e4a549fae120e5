# SPDX-License-Identifier: Apache-2.0
"""Two runs held against each other: `penstock compare`."""
