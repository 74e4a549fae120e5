# SPDX-License-Identifier: Apache-2.0
"""The end station: talker and listener on Linux. `penstock-end` sends and measures, this reads and shows."""
