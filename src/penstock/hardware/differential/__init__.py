# SPDX-License-Identifier: Apache-2.0
"""The Verilated switch and its model on the same random input: equal in every frame, to the clock cycle."""
