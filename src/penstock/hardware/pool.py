# SPDX-License-Identifier: Apache-2.0
"""The same work on many inputs, on all cores."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from penstock.hardware.tools import ToolError

Result = TypeVar("Result")


def each(work: Callable[..., Result], inputs: Sequence[tuple[Any, ...]], jobs: int) -> Iterator[Result]:
    """What `work` gives for each tuple of arguments, as it is done, in processes of their own.

    Raises ToolError if a process ends by itself.
    """
    context = multiprocessing.get_context("spawn")  # a fork would copy threads of this process half
    with ProcessPoolExecutor(max_workers=jobs, mp_context=context) as pool:
        waiting = [pool.submit(work, *arguments) for arguments in inputs]
        try:
            for done in as_completed(waiting):
                yield done.result()
        except BrokenProcessPool:
            raise ToolError(f"a process ended by itself in {work.__module__}.{work.__name__}") from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
