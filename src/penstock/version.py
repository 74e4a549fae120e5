# SPDX-License-Identifier: Apache-2.0
"""The version, where the modules of this package find it without a circle through the package's own root."""

__version__ = "0.1.0"
