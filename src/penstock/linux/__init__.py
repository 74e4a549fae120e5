# SPDX-License-Identifier: Apache-2.0
"""Gates, credit and priorities of a port as queueing disciplines of a Linux host."""
