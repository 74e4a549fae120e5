# SPDX-License-Identifier: Apache-2.0
"""Does the runs of a sweep, on this machine's cores or on a Dask cluster, and keeps what is done whatever happens."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl

from penstock.errors import EngineError, InputError, MachineError
from penstock.run import statistics
from penstock.summary import stream_rows
from penstock.sweep.plan import Task, show

Rows = list[dict[str, Any]]
Done = Callable[[int, int], None]  # how many runs of how many

_MOST_DEATHS = 3  # of workers, with the same run
_ANSWER_WITHIN_S = 10


class SweepStoppedError(Exception):
    """A sweep that cannot go on; what it had done is in its table."""


@dataclass
class Sweep:
    """What a sweep left."""

    runs: int
    rows: Rows = field(default_factory=list)
    finished: int = 0
    repeated: int = 0  # runs that were done again, since a worker died
    error: str | None = None
    interrupted: bool = False

    @property
    def complete(self) -> bool:
        """Whether all was run."""
        return self.finished == self.runs

    @property
    def ok(self) -> bool:
        """Whether all was run and each met its requirements."""
        return self.complete and all(row["ok"] for row in self.rows)

    def table(self) -> pl.DataFrame:
        """A row per run and stream, in the order of the runs."""
        rows = sorted(self.rows, key=lambda row: row["run"])
        return pl.DataFrame(rows, infer_schema_length=None)


def run_task(task: Task) -> Rows:
    """One run; a row per stream."""
    summary = statistics(task.network(), seed=task.seed)
    front = {"run": task.number, "seed": task.seed, **{key: _cell(value) for key, value in task.values.items()}}
    return [{**front, **row} for row in stream_rows(summary)]


def _cell(value: Any) -> Any:
    return value if isinstance(value, int | float | str) else show(value)


def run(
    tasks: Sequence[Task],
    *,
    workers: int | None = None,
    dask: str | None = None,
    done: Done | None = None,
    work: Callable[[Task], Rows] = run_task,
    keep: Callable[[Rows], None] = lambda _rows: None,
) -> Sweep:
    """Does all runs, by processes of this machine or by a Dask cluster at an address.

    An interrupt, or a run that cannot be done, ends the sweep with what it had finished. `keep` gets the rows of each
    run as it is finished; where it raises OSError, the sweep ends too.
    """
    sweep = Sweep(len(tasks))
    tell = done or (lambda _done, _of: None)
    tell(0, len(tasks))
    results = _by_dask(tasks, dask, sweep, work) if dask else _by_processes(tasks, workers, sweep, work)
    try:
        for rows in results:
            sweep.rows += rows
            sweep.finished += 1
            try:
                keep(rows)
            except OSError as error:
                raise SweepStoppedError(f"the rows cannot be kept: {error.strerror}") from error
            tell(sweep.finished, len(tasks))
    except SweepStoppedError as error:
        sweep.error = str(error)
    except KeyboardInterrupt:
        sweep.interrupted = True
    finally:
        results.close()
    return sweep


# -- this machine ------------------------------------------------------------------------------------------------------


def _start_worker() -> None:
    # Ctrl-C reaches the whole group; the parent decides what happens.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _by_processes(
    tasks: Sequence[Task], workers: int | None, sweep: Sweep, work: Callable[[Task], Rows]
) -> Generator[Rows, None, None]:
    workers = min(workers or len(os.sched_getaffinity(0)), len(tasks)) or 1
    todo = deque(tasks)
    deaths: Counter[int] = Counter()
    suspects: deque[Task] = deque()
    while todo:
        lost = yield from _pool(todo, workers, work)
        for task in lost:
            deaths[task.number] += 1
            sweep.repeated += 1
            (suspects if deaths[task.number] > 1 else todo).appendleft(task)
        # Those that were twice beside a death are tried alone, so that a run is known by its own deaths.
        while suspects:
            alone = deque([suspects.popleft()])
            task = alone[0]
            lost = yield from _pool(alone, 1, work)
            if lost:
                deaths[task.number] += 1
                if deaths[task.number] >= _MOST_DEATHS:
                    raise SweepStoppedError(f"{task} ended its process {deaths[task.number]} times; is memory short?")
                sweep.repeated += 1
                suspects.append(task)


def _pool(todo: deque[Task], workers: int, work: Callable[[Task], Rows]) -> Generator[Rows, None, list[Task]]:
    """Works until nothing is left, or a worker dies; then gives those tasks whose results are lost."""
    # Forking would copy the state of threads that the libraries have started.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker)
    running: dict[Future[Rows], Task] = {}
    lost: list[Task] = []
    try:
        while (todo and not lost) or running:
            while todo and not lost and len(running) < 2 * workers:
                task = todo.popleft()
                try:
                    running[pool.submit(work, task)] = task
                except BrokenProcessPool:
                    lost.append(task)
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            stopped: SweepStoppedError | None = None
            # In the order of the runs, as a set has none.
            for future in sorted(finished, key=lambda each: running[each].number):
                task = running.pop(future)
                try:
                    rows = future.result()
                except BrokenProcessPool:
                    lost.append(task)
                except Exception as error:
                    stopped = SweepStoppedError(f"{task}: {error}")
                    stopped.__cause__ = error
                else:
                    yield rows
            # Only now: what finished beside the failure is kept.
            if stopped:
                raise stopped
    finally:
        processes = list((pool._processes or {}).values())
        manager: Any = pool._executor_manager_thread
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        # The interpreter's end wakes a manager that is still there, and fails where that has just closed its pipe.
        if manager is not None:
            manager.join(_ANSWER_WITHIN_S)
    return lost


# -- a Dask cluster ----------------------------------------------------------------------------------------------------


def _by_dask(
    tasks: Sequence[Task], address: str, sweep: Sweep, work: Callable[[Task], Rows]
) -> Generator[Rows, None, None]:
    try:
        distributed: Any = import_module("dask.distributed")
    except ImportError:
        raise EngineError(
            "Dask is not installed; ./penstock installs it when it sees --dask, else: pip install penstock[dask]"
        ) from None
    try:
        client = distributed.Client(address, timeout=_ANSWER_WITHIN_S)
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(
            f"no Dask scheduler answers ({type(error).__name__})",
            allowed="the address of a scheduler, such as tcp://localhost:8786",
            file=f"--dask {address}",
        ) from None
    with client:
        # Not pure: a result is never taken from an earlier sweep. The scheduler does again what a dead worker had.
        futures = client.map(work, tasks, pure=False, retries=0)
        task_of = dict(zip((future.key for future in futures), tasks, strict=True))
        try:
            for future in distributed.as_completed(futures):
                failure = future.exception()
                if failure is not None:
                    raise SweepStoppedError(f"{task_of[future.key]}: {failure}")
                yield future.result()
                future.release()
        finally:
            client.cancel(futures)


def write(sweep: Sweep, file: Path) -> None:
    """Writes the table, whole or not at all; a partial one says so in its metadata.

    Raises:
        MachineError: It cannot be written.

    """
    new = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        metadata = {} if sweep.complete else {"penstock.partial": "true"}
        sweep.table().write_parquet(new, metadata=metadata)
        new.replace(file)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise MachineError(f"{file} cannot be written: {error}") from error
    finally:
        new.unlink(missing_ok=True)
