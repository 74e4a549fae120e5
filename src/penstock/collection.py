# SPDX-License-Identifier: Apache-2.0
"""Python's looking for garbage, while many objects are made of which none is any."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Meanwhile objects in circles are not freed: each look for some would pass over all that there is, in vain."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
