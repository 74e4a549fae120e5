# SPDX-License-Identifier: Apache-2.0
"""The network card behind Linux's own driver: docs/nic.md."""
