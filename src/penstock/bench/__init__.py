# SPDX-License-Identifier: Apache-2.0
"""How fast the engine and the analysis of bounds are: `penstock bench`."""
