# SPDX-License-Identifier: Apache-2.0
"""A soak in runs: what was done is kept, and only the same runs of the same switch are left out."""

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import InputError
from penstock.hardware import cli
from penstock.hardware.soak.campaign import campaign
from program import invoke

RUN = 200


@pytest.fixture(autouse=True)
def short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.hardware.soak.campaign.RUN_FRAMES", RUN)


def lines(record: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in record.read_text().splitlines()]


def test_an_interrupted_soak_goes_on_where_it_was(tmp_path: Path) -> None:
    record = tmp_path / "soak.jsonl"
    campaign(2 * RUN, seed=5, record=record)
    assert sorted(run["seed"] for run in lines(record)) == [5, 6]
    marked = [run | {"delivered": -1} for run in lines(record)]
    record.write_text("".join(json.dumps(run) + "\n" for run in marked))

    outcomes = campaign(3 * RUN, seed=5, record=record)
    assert sorted((outcome.seed, outcome.delivered == -1) for outcome in outcomes) == [(5, True), (6, True), (7, False)]
    assert len(lines(record)) == 3
    assert not any(outcome.faults for outcome in outcomes)


def test_a_run_of_another_switch_does_not_count(tmp_path: Path) -> None:
    record = tmp_path / "soak.jsonl"
    (first,) = campaign(RUN, record=record)
    record.write_text(json.dumps(lines(record)[0] | {"model": "switch-of-old", "delivered": -1}) + "\n")
    (again,) = campaign(RUN, record=record)
    assert again == first


def test_a_fault_that_was_kept_fails_the_soak(tmp_path: Path) -> None:
    record = tmp_path / "soak.jsonl"
    campaign(RUN, record=record)
    record.write_text(json.dumps(lines(record)[0] | {"faults": ["port 1: frame 7 was damaged"]}) + "\n")
    result = invoke(cli.app, ["soak", "--frames", str(RUN), "--record", str(record)])
    assert result.status == 1
    assert "seed 1: port 1: frame 7 was damaged" in result.output


@pytest.mark.parametrize("text", ["{", "{}", "7"])
def test_a_record_that_is_none_is_named_with_its_line(tmp_path: Path, text: str) -> None:
    record = tmp_path / "soak.jsonl"
    record.write_text(text + "\n")
    with pytest.raises(InputError, match=r"soak\.jsonl:1: not a run of a soak"):
        campaign(RUN, record=record)
    assert record.read_text() == text + "\n"
