# SPDX-License-Identifier: Apache-2.0
"""The command `penstock torus`: who the nodes of tiles are, their ways, and whom faults cut off."""
