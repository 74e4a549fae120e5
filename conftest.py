# SPDX-License-Identifier: Apache-2.0
"""Which tests are left out unless all sizes are asked for."""

import os

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "PENSTOCK_ALL_SIZES" not in os.environ:
        others = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]
