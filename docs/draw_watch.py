# SPDX-License-Identifier: Apache-2.0
"""Draws what `penstock plane watch` shows while scenarios/plane runs on real frames. FILE is the SVG."""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from penstock.lab.machine import Machine
from penstock.lab.programs import How
from penstock.lab.run import play
from penstock.scenario import load

VIEWS = 4


def main() -> None:
    """Its last view is in the middle of the traffic."""
    file = Path(sys.argv[1]).resolve()
    network = replace(load("scenarios/plane"), duration_ps=6 * 10**12)
    words = ["plane", "watch", "sw", "--socket", "{out}/../plane-sw.sock", "--every", "1000"]
    command = [sys.executable, "-m", "penstock", *words, "--views", str(VIEWS), "--picture", str(file)]
    begin = 'until [ -S $0 ]; do sleep 0.05; done; exec "$@"'
    watch = {"name": "watch", "host": "sw", "command": ["/bin/sh", "-c", begin, "{out}/../plane-sw.sock", *command]}
    with Machine() as machine, tempfile.TemporaryDirectory() as folder:
        played = play(machine, network, How(), Path(folder) / "ends", beside=[watch])
    assert played.programs["watch"]["status"] == 0, played.programs["watch"]


main()
