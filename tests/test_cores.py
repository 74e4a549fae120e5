# SPDX-License-Identifier: Apache-2.0
"""A run on several cores is that of one, as its user sees it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock import Network
from penstock.trace import read_trace

SCENARIO = {
    "name": "cores",
    "nodes": "model",
    "duration": "2ms",
    "topology": {"b": {"kind": "ring", "bridges": 6, "bridge": {"ports": 4}}},
    "stations": {f"st{n}": {"at": f"b{n % 6}.*"} for n in range(8)},
    "streams": {
        f"s{n}": {
            "from": f"st{n}",
            "to": [f"st{(n + 3) % 8}", f"st{(n + 5) % 8}"] if n % 2 else [f"st{(n + 3) % 8}"],
            "vlan": 10,
            "pcp": n % 6,
            "source": {"frames": f"{100 * n + 80}B", "poisson": "9us", "seed": n},
        }
        for n in range(8)
    },
}


def run(folder: Path, cores: int) -> dict[str, object]:
    out = folder / f"on{cores}"
    assert Network(SCENARIO).run(out=out, cores=cores).ok
    summary: dict[str, object] = json.loads((out / "summary.json").read_text())
    return summary


@pytest.mark.parametrize("cores", [2, 3])
def test_results_are_those_of_one_core(tmp_path: Path, cores: int) -> None:
    one, several = run(tmp_path, 1), run(tmp_path, cores)
    assert one["streams"] == several["streams"]
    trace = read_trace(tmp_path / "on1" / "trace.parquet")
    assert trace.height > 10_000
    assert trace.equals(read_trace(tmp_path / f"on{cores}" / "trace.parquet"))
    captures = sorted((tmp_path / "on1").glob("*.pcapng"))
    assert len(captures) == 8
    for capture in captures:
        assert capture.read_bytes() == (tmp_path / f"on{cores}" / capture.name).read_bytes()
