# SPDX-License-Identifier: Apache-2.0
"""Which tests are left out unless all sizes are asked for, and which begin first."""

import os

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "PENSTOCK_ALL_SIZES" not in os.environ:
        others = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]
    # A file goes to one worker as a whole, in this order; one that takes long would keep the others waiting at the end.
    seconds: dict[object, int] = {}
    for item in items:
        marker = item.get_closest_marker("long")
        seconds[item.path] = marker.args[0] if marker else 0
    items.sort(key=lambda item: -seconds[item.path])
