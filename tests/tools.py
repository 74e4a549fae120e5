# SPDX-License-Identifier: Apache-2.0
"""Programs of others that a test asks. CI has them all, and counts a skipped test as failed."""

from __future__ import annotations

import shutil

import pytest

needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
needs_tcpreplay = pytest.mark.skipif(shutil.which("tcpreplay") is None, reason="tcpreplay is not installed")
