# SPDX-License-Identifier: Apache-2.0
"""What the user who runs the tests may do. Who has the right gets a failure, not a test left out."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

_CAP_NET_ADMIN, _CAP_SYS_ADMIN = 12, 21


def _may_make_hosts() -> bool:
    match = re.search(r"^CapEff:\s*([0-9a-f]+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    return match is not None and all(int(match[1], 16) >> bit & 1 for bit in (_CAP_NET_ADMIN, _CAP_SYS_ADMIN))


def _may_be_another_user() -> bool:
    unshare = ["unshare", "--user", "--map-root-user", "--net", "true"]
    return subprocess.run(unshare, capture_output=True, check=False).returncode == 0


needs_namespaces = pytest.mark.skipif(
    not _may_make_hosts(), reason="network namespaces take CAP_SYS_ADMIN and CAP_NET_ADMIN, which this user has not"
)
needs_any_namespaces = pytest.mark.skipif(
    not _may_make_hosts() and not _may_be_another_user(), reason="this user may make no namespaces, user's or network's"
)
