# SPDX-License-Identifier: Apache-2.0
"""Sweeps: what is run, on processes and on a Dask cluster, and what happens when a worker dies."""

from __future__ import annotations

import concurrent.futures
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sweep_work
from penstock import sweep
from penstock.errors import EngineError, InputError
from penstock.sweep import Task, parse_setting

TESTS = Path(__file__).parent
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS.parent / "src"), str(TESTS)])}
LINE = """
name = "line"
nodes = "model"
duration = "DURATION"
[topology.s]
kind = "line"
bridges = 3
bridge = { ports = 4 }
[stations]
a = { at = "s0.*" }
b = { at = "s0.*" }
c = { at = "s2.*" }
[streams.chance]
from = "a"
to = ["c"]
vlan = 10
pcp = 1
source = { frames = "500B", poisson = "20us" }
[streams.regular]
from = "b"
to = ["c"]
vlan = 10
pcp = 4
source = { frames = "100B", every = "50us" }
deadline = "100us"
"""


def line(folder: Path, duration: str = "5ms") -> Path:
    file = folder / "scenario.toml"
    file.write_text(LINE.replace("DURATION", duration))
    return file


def settings(*texts: str) -> list[sweep.Setting]:
    return [parse_setting(text) for text in texts]


def tasks(count: int, **values: str) -> list[Task]:
    return [Task(number, dict(values), None, {}) for number in range(count)]


def test_values_are_toml_or_text() -> None:
    setting = parse_setting('streams."a.b".x = 10Mb/s, 3, true, "4", [1, 2]')
    assert setting.path == ("streams", "a.b", "x")
    assert setting.values == ("10Mb/s", 3, True, "4", [1, 2])


@pytest.mark.parametrize("text", ["a.b", "=1", "a=", "a=1,,2", "a=1,1", "a..b=1", "seed=1,2"])
def test_a_bad_setting_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_setting(text)


def test_all_combinations_and_seeds(tmp_path: Path) -> None:
    planned = sweep.plan(
        line(tmp_path), settings("streams.regular.deadline=20us,30us", "streams.chance.source.poisson=10us,20us"), 3
    )
    assert [task.number for task in planned] == list(range(12))
    assert len({(*task.values.values(), task.seed) for task in planned}) == 12
    assert planned[-1].network().streams["regular"].deadline_ps == 30_000_000


def test_all_that_is_wrong_is_told_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(InputError) as wrong:
        sweep.plan(
            line(tmp_path),
            settings("streams.regular.deadlin=1us", "streams.chance.source.frames=50B,100B,9000B"),
            2,
        )
    told = str(wrong.value)
    assert told.count("deadlin") >= 1
    assert "streams.chance.source.frames=50B" in told
    assert len({(e.key, e.what) for e in wrong.value.errors}) == len(wrong.value.errors)
    with pytest.raises(InputError, match="set twice"):
        sweep.plan(line(tmp_path), settings("duration=1ms", "duration=2ms"))
    with pytest.raises(InputError, match="1 or more"):
        sweep.plan(line(tmp_path), [], 0)


def test_seeds_change_chance_alone_and_are_the_same_again(tmp_path: Path) -> None:
    planned = sweep.plan(line(tmp_path), [], 3)
    found = sweep.run(planned, workers=2)
    table = found.table().sort("run")
    chance = table.filter(pl.col("stream") == "chance")["latency_mean_ns"]
    regular = table.filter(pl.col("stream") == "regular")["sent"]
    assert chance.n_unique() == 3
    assert regular.n_unique() == 1
    assert sweep.run(planned, workers=1).table().equals(found.table())


def test_a_worker_that_dies_loses_nothing(tmp_path: Path) -> None:
    found = sweep.run(tasks(40, marker=str(tmp_path / "died")), workers=2, work=sweep_work.die_once)
    assert found.complete
    assert (tmp_path / "died").exists()
    assert sorted(row["run"] for row in found.rows) == list(range(40))
    assert found.repeated >= 1


def test_a_run_that_kills_its_workers_is_named_and_the_others_are_kept() -> None:
    found = sweep.run(tasks(8), workers=2, work=sweep_work.always_die)
    assert found.error is not None
    assert found.error.startswith("run 3")
    assert 3 not in {row["run"] for row in found.rows}
    assert not found.complete


def test_a_run_that_fails_is_named() -> None:
    found = sweep.run(tasks(8), workers=1, work=sweep_work.fail)
    assert found.error == "run 3 (): out of order"
    finished = {row["run"] for row in found.rows}
    # The process may be at the next run by the time that the failure is heard of.
    assert finished - {4} == {0, 1, 2}


def test_runs_that_finish_beside_a_failure_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(running: Iterable[Future[Any]], **_: str) -> tuple[list[Future[Any]], None]:
        """All of them at once, the failure first."""
        return sorted(concurrent.futures.wait(running).done, key=lambda future: future.exception() is None), None

    monkeypatch.setattr("penstock.sweep.work.wait", wait)
    found = sweep.run(tasks(6), workers=3, work=sweep_work.fail)
    assert found.error == "run 3 (): out of order"
    assert {row["run"] for row in found.rows} == {0, 1, 2, 4, 5}


def command(folder: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "penstock", "sweep", str(folder), "--out", str(folder / "table.parquet"), *arguments]


def test_the_command_leaves_a_table(tmp_path: Path) -> None:
    line(tmp_path)
    setting = "streams.chance.source.poisson=10us,20us"
    done = subprocess.run(
        command(tmp_path, "--set", setting, "--seeds", "2", "--json"),
        env=ENVIRONMENT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    table = pl.read_parquet(tmp_path / "table.parquet")
    assert (said["runs"], said["finished"], table.height) == (4, 4, 8)
    assert table.columns[:4] == ["run", "seed", "streams.chance.source.poisson", "stream"]
    assert table["latency_max_ns"].to_list() == [row["latency_max_ns"] for row in said["rows"]]
    assert table["seed"].to_list() == [1, 1, 2, 2] * 2


def test_a_killed_process_of_the_command(tmp_path: Path) -> None:
    line(tmp_path, "200ms")
    process = subprocess.Popen(
        command(tmp_path, "--seeds", "40", "--workers", "2", "--json"),
        env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    os.kill(_busy_child(process, tmp_path), signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    said = json.loads(out)
    assert said["finished"] == 40
    assert said["repeated"] >= 1
    assert pl.read_parquet(tmp_path / "table.parquet")["run"].to_list() == [n for n in range(40) for _ in range(2)]


def _busy_child(process: subprocess.Popen[str], folder: Path) -> int:
    """A worker of a sweep that has finished a run and has more to do."""
    kept = folder / "table.partial.jsonl"
    for _ in range(6000):
        time.sleep(0.01)
        if kept.exists() and kept.stat().st_size:
            for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
                if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                    return int(child)
    raise AssertionError("no worker at work")


def test_an_interrupt_keeps_what_was_finished(tmp_path: Path) -> None:
    line(tmp_path, "1s")
    process = subprocess.Popen(
        command(tmp_path, "--seeds", "400", "--workers", "1", "--json"),
        env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    _busy_child(process, tmp_path)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    said = json.loads(out)
    assert said["partial"]
    assert 0 < said["finished"] < 400
    assert pl.read_parquet(tmp_path / "table.parquet").height == 2 * said["finished"]
    assert pl.read_parquet_metadata(tmp_path / "table.parquet")["penstock.partial"] == "true"


def test_a_sweep_that_is_killed_leaves_what_was_finished(tmp_path: Path) -> None:
    line(tmp_path, "1s")
    words = command(tmp_path, "--seeds", "400", "--workers", "1")
    process = subprocess.Popen(words, env=ENVIRONMENT, stdout=subprocess.DEVNULL, process_group=0)
    kept = tmp_path / "table.partial.jsonl"
    for _ in range(600):
        time.sleep(0.1)
        if kept.exists() and kept.stat().st_size:
            break
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(60)
    rows = pl.read_ndjson(kept)
    assert {"run", "seed", "stream", "latency_max_ns", "ok"} <= set(rows.columns)
    assert rows["run"].to_list() == [n for n in range(rows.height // 2) for _ in range(2)]
    assert not (tmp_path / "table.parquet").exists()


def _small_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))


def test_a_disk_that_fills_up_loses_nothing_that_was_written(tmp_path: Path) -> None:
    line(tmp_path)
    words = command(tmp_path, "--seeds", "9", "--workers", "1")
    done = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, check=False, preexec_fn=_small_files)
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    kept = tmp_path / "table.partial.jsonl"
    assert str(kept) in done.stderr
    whole = kept.read_bytes().splitlines()[:-1]
    assert len(whole) >= 1
    assert json.loads(whole[0])["run"] == 0


def test_nothing_of_a_sweep_that_ends_early_is_left_at_work() -> None:
    def full(rows: object) -> None:
        raise OSError(28, "No space left on device")

    before = set(threading.enumerate())
    found = sweep.run(tasks(40), workers=2, work=sweep_work.row_of, keep=full)
    assert "No space left on device" in str(found.error)
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize(("place", "status"), [("scenario.toml/x.parquet", 2), ("x.csv", 2), ("/proc/x.parquet", 3)])
def test_a_place_that_cannot_be_written_is_told_before_the_first_run(place: str, status: int, tmp_path: Path) -> None:
    line(tmp_path, "1000s")
    started = time.monotonic()
    words = [*command(tmp_path, "--json"), "--out", str(tmp_path / place)]
    done = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == status, done.stderr
    assert place in json.loads(done.stdout)["errors"][0]["file"]
    assert time.monotonic() - started < 30
    assert [path.name for path in tmp_path.iterdir()] == ["scenario.toml"]


def test_a_name_that_is_none_of_the_scenario(tmp_path: Path) -> None:
    file = line(tmp_path)
    for key, says in {
        "streams.chanse.pcp": 'there is no "chanse" in streams (did you mean "chance"?); allowed: chance, regular',
        "bridges.s7.processing_delay": 'there is no "s7" in bridges; allowed: s0, s1, s2',
        "stations.x.at": 'there is no "x" in stations; allowed: a, b, c',
    }.items():
        with pytest.raises(InputError) as error:
            sweep.plan(file, settings(f"{key}=1,2"))
        assert [str(each) for each in error.value.errors] == [f"--set: {key}: {says}"]


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A Dask scheduler and its workers, each a process of its own."""
    file = folder / "scheduler.json"
    started: list[subprocess.Popen[bytes]] = []

    def start(module: str, *arguments: str) -> None:
        line = [sys.executable, "-m", f"distributed.cli.{module}", "--scheduler-file", str(file), *arguments]
        with (folder / "dask.log").open("ab") as log:
            started.append(subprocess.Popen(line, env=ENVIRONMENT, cwd=folder, stdout=log, stderr=log))

    try:
        start("dask_scheduler", "--port", "0", "--host", "127.0.0.1", "--no-dashboard")
        for _ in range(workers):
            start("dask_worker", "--no-nanny", "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1")
        distributed: Any = import_module("dask.distributed")
        for _ in range(300):
            if file.exists() and file.stat().st_size:
                break
            time.sleep(0.1)
        address = json.loads(file.read_text())["address"]
        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=60)
        yield address, started[1:]
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


def test_a_dask_cluster_gives_the_same_even_when_a_worker_dies(tmp_path: Path) -> None:
    planned = sweep.plan(line(tmp_path, "50ms"), settings("streams.chance.source.poisson=20us,30us"), 8)
    with cluster(tmp_path, 2) as (address, workers):

        def kill(finished: int, of: int) -> None:
            if finished == 4:
                workers[0].kill()

        found = sweep.run(planned, dask=address, done=kill)
        assert workers[0].wait(timeout=30) == -signal.SIGKILL
        assert workers[1].poll() is None
    assert found.error is None
    assert found.complete
    assert found.table().equals(sweep.run(planned, workers=2).table())


def test_no_scheduler_and_no_dask_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = sweep.plan(line(tmp_path), [])
    with pytest.raises(InputError, match="no Dask scheduler answers"):
        sweep.run(planned, dask="tcp://127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "dask.distributed", None)
    with pytest.raises(EngineError, match="Dask is not installed"):
        sweep.run(planned, dask="tcp://127.0.0.1:9")


def test_rows_are_flat(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = sweep.run(sweep.plan(line(tmp_path), []), workers=1).rows
    assert all(not isinstance(value, dict) for row in rows for value in row.values())
