# SPDX-License-Identifier: Apache-2.0
"""The switch as hardware: its registers, and the tools that check, test, prove and synthesize it."""
