# SPDX-License-Identifier: Apache-2.0
"""A run from the engine's answer to the files, with a stand-in for the engine."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import polars as pl
import pytest

from penstock import cli
from penstock import run as runner
from penstock.captures import read_capture
from penstock.errors import EngineError
from penstock.folder import replacing
from penstock.run import run
from penstock.scenario import Network, load
from stand_in import SMALL, StandIn

HELLO = Path(__file__).parents[1] / "scenarios" / "hello"


@pytest.fixture
def small(tmp_path: Path) -> Network:
    (tmp_path / "scenario.toml").write_text(SMALL)
    return load(tmp_path)


def test_a_run_leaves_everything(small: Network, tmp_path: Path) -> None:
    result = run(small, tmp_path / "results", StandIn())
    assert result.summary["ok"]
    names = {p.name for p in (tmp_path / "results").iterdir()}
    assert names == {"summary.json", "trace.parquet", "report.html", "scenario", "c.pcapng", "d.pcapng"}
    assert json.loads((tmp_path / "results" / "summary.json").read_text()) == result.summary
    fast = result.summary["streams"]["fast"]
    assert (fast["sent"], fast["copies"], fast["delivered"], fast["inside"], fast["dropped"]) == (100, 200, 200, 0, {})
    assert fast["conforms"] is True
    assert fast["latency_ns"]["min"] == 800 + 2 * 50 + 380
    assert fast["latency_ns"]["max"] <= fast["bound_ns"]
    assert fast["interval_ns"]["mean"] == pytest.approx(50_000, rel=0.01)
    trace = pl.read_parquet(tmp_path / "results" / "trace.parquet")
    assert trace["time_ps"].is_sorted()
    assert set(trace["event"].cast(pl.String)) == {"created", "sent", "received", "queued", "eligible", "delivered"}
    assert len(read_capture(tmp_path / "results" / "c.pcapng").frames) == 200
    report = (tmp_path / "results" / "report.html").read_text()
    assert "Every requirement met" in report
    assert "src=" not in report.split("</style>")[1].split("<script>")[0]


def test_drops_are_counted_and_miss_the_deadline(small: Network, tmp_path: Path) -> None:
    summary = run(small, tmp_path / "results", StandIn(drop_every=10)).summary
    fast = summary["streams"]["fast"]
    assert fast["dropped"] == {"queue_full": 20}
    assert fast["deadline_ok"] is False
    assert fast["bound_ok"] is False, "a conforming frame that is dropped has no latency within the bound"
    assert summary["conservation"]["ok"]
    assert not summary["ok"]


def test_a_lost_frame_fails_the_run(small: Network, tmp_path: Path) -> None:
    summary = run(small, tmp_path / "results", StandIn(lose_every=10)).summary
    assert summary["conservation"]["lost"] > 0
    assert not summary["conservation"]["ok"]
    assert not summary["ok"]


class Doubling(StandIn):
    """Delivers a frame where nobody listens, and one twice."""

    def changed(self, rows: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        last = next(row for row in reversed(rows) if row[4] == 5)
        return [*rows, last, (*last[:2], 1, *last[3:])]


def test_a_copy_at_a_wrong_place_fails_the_run(small: Network, tmp_path: Path) -> None:
    summary = run(small, tmp_path / "results", Doubling()).summary
    assert summary["conservation"]["stray"] == 2
    assert not summary["ok"]


def test_a_source_above_its_rate_has_no_bound(tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(SMALL.replace('every = "50us"', 'every = "5us"'))
    fast = run(load(tmp_path), tmp_path / "results", StandIn()).summary["streams"]["fast"]
    assert fast["bound_ns"] is None
    assert "does not conform" in fast["bound"]["reason"]
    assert "a bound holds for conforming sources only" in (tmp_path / "results" / "report.html").read_text()


def test_a_failing_engine_leaves_nothing(small: Network, tmp_path: Path) -> None:
    before = set(tmp_path.iterdir())
    with pytest.raises(RuntimeError):
        run(small, tmp_path / "results", StandIn(fail=RuntimeError("broken")))
    assert set(tmp_path.iterdir()) == before


def test_a_panic_of_the_engine_is_a_fault_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """pyo3 raises what is no `Exception`, which would go past whatever ends a command."""

    class PanicException(BaseException):
        pass

    def fail(*_: object) -> None:
        raise PanicException("attempt to add with overflow")

    class Engine:
        HardwareError = ConservationError = InputError = ZeroDivisionError
        run = staticmethod(fail)

    monkeypatch.setattr(runner, "_engine", lambda: Engine)
    with pytest.raises(
        EngineError, match="the engine failed: attempt to add with overflow; this is a fault of Penstock"
    ):
        runner.CompiledEngine().run("{}", None, lambda _part: True)


def test_results_are_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    out = tmp_path / "results"
    for text in ("one", "two"):
        with replacing(out) as folder:
            (folder / "summary.json").write_text(text)
        assert (out / "summary.json").read_text() == text

    def fail() -> None:
        with replacing(out) as folder:
            (folder / "summary.json").write_text("three")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert (out / "summary.json").read_text() == "two"
    assert list(tmp_path.iterdir()) == [out]


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["penstock", *arguments])
    with pytest.raises(SystemExit) as end:
        cli.main()
    return int(end.value.code or 0)


@pytest.mark.parametrize(("drop_every", "status"), [(0, 0), (50, 1)])
def test_json_is_one_object_and_the_status_says_whether_all_was_met(
    drop_every: int, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "_stand_in", lambda: StandIn(drop_every=drop_every))
    assert call(monkeypatch, "run", str(HELLO), "--out", str(tmp_path / "r"), "--json") == status
    out, err = capfd.readouterr()
    assert err == ""
    summary = json.loads(out)
    assert summary["ok"] is (status == 0)
    for stream in summary["streams"].values():
        assert {
            "sent",
            "delivered",
            "inside",
            "dropped",
            "latency_ns",
            "bound_ns",
            "deadline_ns",
            "ok",
        } <= stream.keys()
        assert list(stream["latency_ns"]) == ["min", "mean", "p50", "p99", "max"]


def test_the_table_is_whole_in_a_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "_stand_in", StandIn)
    assert call(monkeypatch, "run", str(HELLO), "--out", str(tmp_path / "r"), "--wide") == 0
    out, _ = capfd.readouterr()
    assert "equation (1): (429 - 94 + 1542) B / (1000 - 0) Mb/s" in out
    assert "conserved: created 4500 = delivered 4500 + dropped 0 + inside 0" in out
    assert "…" not in out


class Slow(StandIn):
    """A switch that takes longer than it promises."""

    idle_ps = 480_000


def test_a_slow_switch_is_told_and_counted(small: Network, tmp_path: Path) -> None:
    summary = run(small, tmp_path / "results", Slow()).summary
    assert summary["bridges"]["sw"]["processing_ns"]["fast"] == 480
    assert "sw: frames of fast take 480 ns or more" in summary["warnings"][0]
    terms = {term["name"]: term["ns"] for term in summary["streams"]["fast"]["bound"]["terms"]}
    assert terms["processing"] + terms["preamble"] == 480
