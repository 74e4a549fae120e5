# SPDX-License-Identifier: Apache-2.0
"""How fast the engine is: `penstock bench engine`."""
