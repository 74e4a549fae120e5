# SPDX-License-Identifier: Apache-2.0
"""What a scenario comes to before it runs: each stream's way and classes, its bound, and what is probably not meant."""
