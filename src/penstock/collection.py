# SPDX-License-Identifier: Apache-2.0
"""Python's looking for garbage, while many objects are made of which none is any."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_MANY = 100_000


@contextmanager
def without_collection() -> Iterator[None]:
    """Meanwhile objects in circles are not freed: each look for some would pass over all that there is, in vain."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if gc.get_count()[0] > _MANY and not gc.get_freeze_count():
                # As old as what lasts: else the first look afterwards would pass over all of it.
                gc.freeze()
                gc.unfreeze()
            gc.enable()
