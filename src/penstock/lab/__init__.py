# SPDX-License-Identifier: Apache-2.0
"""The laboratory: a scenario on real Linux, on this machine's kernel or on a real-time kernel in a virtual machine."""
