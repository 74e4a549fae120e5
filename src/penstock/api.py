# SPDX-License-Identifier: Apache-2.0
"""What Python programs and notebooks use: `load` a scenario, `run` it, read its tables.

All names carry their unit: `_ns` nanoseconds, `_ps` picoseconds, `_bps` bits per second on the wire, `_bytes` bytes.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import polars as pl

from penstock import run as runner
from penstock.bound.analysis import analyse
from penstock.bound.tables import by_hop, by_listener
from penstock.own import Node as Node
from penstock.own import Own, with_own
from penstock.own import Program as Program
from penstock.passing import hop_table, port_table
from penstock.scenario import load as _load
from penstock.scenario.network import Network as _Network
from penstock.summary import stream_table
from penstock.words import count

Nodes = Literal["model", "rtl"]


def load(scenario: str | PathLike[str] | Mapping[str, Any]) -> Network:
    """Reads and checks a scenario: a folder with `scenario.toml`, one file, or what such a file says as a dict.

    Raises:
        InputError: Something is wrong; its `errors` are all that is, each with file, line, key and what is allowed.

    """
    return Network(scenario)


class Network:
    """A checked scenario, to be run as often as one likes."""

    def __init__(self, scenario: str | PathLike[str] | Mapping[str, Any]) -> None:
        self._scenario = dict(scenario) if isinstance(scenario, Mapping) else Path(scenario)
        self._network = self._with(None)

    def _with(self, nodes: Nodes | None) -> _Network:
        return _load(self._scenario, nodes)

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self._network.name

    @property
    def duration_ns(self) -> float:
        """For how long the sources create frames, in ns of network time."""
        return self._network.duration_ps / 1000

    @property
    def warnings(self) -> list[str]:
        """What people usually do not mean."""
        return list(self._network.warnings)

    def run(
        self,
        nodes: Nodes | Own | None = None,
        *,
        out: str | PathLike[str] | None = None,
        trace: runner.TraceMode | None = None,
        seed: int | None = None,
        captures: bool = True,
        figures: bool = False,
        cores: int = 1,
    ) -> Run:
        """Runs the network.

        Args:
            nodes: What the bridges are: "model", or "rtl" for the Verilated hardware. What the scenario says if None.
                Or objects by the names of nodes: a `Node` in place of a bridge, a `Program` at a station.
            out: The folder for trace, captures, summary and report; a temporary one that lives as long as the result
                if None.
            trace: "full" or "none". What the scenario says if None.
            seed: Gives each source of chance another seed, which follows from its own and this.
            captures: Whether what each listener heard is written as pcapng.
            figures: Of ports, hops and shaping without a whole trace too, which has them anyway; the run takes longer.
            cores: Of this machine, for a network of models; the results are those of one.

        An interrupt (Ctrl-C, or the stop button of a notebook) ends the run early: what it had done by then is given,
        with `partial` set.

        Raises:
            InputError: The network cannot be run with such nodes, or `out` is not a run's folder.
            EngineError: The engine is not built, or the hardware's model cannot be.
            RunError: A frame was lost, doubled or damaged.

        """
        own: Own = nodes if isinstance(nodes, Mapping) else {}
        network = self._with(nodes) if isinstance(nodes, str) else with_own(self._network, own)
        keep = tempfile.TemporaryDirectory(prefix="penstock-") if out is None else None
        folder = Path(out) if out is not None else Path(keep.name if keep else ".") / network.name
        engine = runner.CompiledEngine(own, cores)
        result = runner.run(network, folder, engine, trace=trace, seed=seed, captures=captures, figures=figures)
        return Run(result, keep)

    def bounds(self, by: Literal["listener", "hop"] = "listener") -> pl.DataFrame:
        """The worst case of each stream, without a run, as long as all talkers keep to rate and burst.

        Args:
            by: "listener": a row per stream and listener, with `reason` where there is no bound. "hop": a row per
                bridge on those ways that have one, with the numbers of equation (1).

        Times are in ns, rates in b/s and lengths in bytes, both counted on the wire.

        Raises:
            ValueError: `by` is something else.

        """
        if by not in ("listener", "hop"):
            raise ValueError(f'by = {by!r} is not known; allowed: "listener", "hop"')
        analysis = analyse(self._network)
        return by_listener(analysis) if by == "listener" else by_hop(analysis)

    def __repr__(self) -> str:
        network = self._network
        parts = ((network.bridges, "bridge"), (network.stations, "station"), (network.streams, "stream"))
        return f"<Network {self.name!r}: {', '.join(count(len(things), what) for things, what in parts)}>"


class Run:
    """What a run left."""

    def __init__(self, result: runner.Result, keep: tempfile.TemporaryDirectory[str] | None = None) -> None:
        self._result = result
        self._keep = keep  # the temporary folder is removed with it

    @property
    def ok(self) -> bool:
        """Whether every requirement was met: deadlines, bounds, and that no frame is lost."""
        return bool(self.summary["ok"])

    @property
    def partial(self) -> bool:
        """Whether the run was interrupted."""
        return self._result.partial

    @property
    def folder(self) -> Path:
        """Where trace, captures, summary and report are."""
        return self._result.folder

    @property
    def summary(self) -> dict[str, Any]:
        """What `summary.json` holds."""
        return self._result.summary

    @cached_property
    def streams(self) -> pl.DataFrame:
        """A row per stream: counts, latency, jitter, intervals, bound and deadline. Times in ns, rates in b/s.

        `sent` counts frames; `delivered`, `dropped` and `inside` count copies, one for each listener.
        """
        return stream_table(self.summary)

    @cached_property
    def ports(self) -> pl.DataFrame:
        """A row per bridge and egress port that streams pass; empty without a whole trace and without `figures`.

        `passing_…_ns`: from a frame's last bit in to its first bit out, below zero where a bridge cuts through.
        `utilisation`: the part of the time in which frames were on its wire, with preamble and gap.
        `queued_bytes_max`: the most that waited there.
        """
        return port_table(self.summary)

    @cached_property
    def hops(self) -> pl.DataFrame:
        """A row per stream and egress port on its way, in the order of the way; columns as those of `ports`.

        Empty without a whole trace and without `figures`, and of networks with more than 5,000 of them.
        """
        return hop_table(self.summary)

    @cached_property
    def trace(self) -> pl.DataFrame:
        """A row per frame event, in the order of time.

        `time_ps` is of the first bit after the start-of-frame delimiter; `bytes` is from destination address to FCS.

        Raises:
            NoTraceError: The run was made without a trace.

        """
        return self._result.trace

    def report(self, path: str | PathLike[str] | None = None) -> Report:
        """The report, one HTML file that needs nothing else; a notebook shows it. `path` is where to put a copy."""
        file = self.folder / "report.html"
        return Report(file if path is None else Path(shutil.copyfile(file, path)), self)

    def __repr__(self) -> str:
        said = "interrupted" if self.partial else "ok" if self.ok else "a requirement was not met"
        return f"<Run of {self.summary['name']!r} on {self.summary['nodes']} nodes: {said}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.streams._repr_html_()}"


class Report:
    """A report; its path wherever a path is taken, its content in a notebook."""

    def __init__(self, path: Path, run: Run | None = None) -> None:
        self.path = path
        self._run = run  # so that a temporary folder stays

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"<Report {self.path}>"

    def _repr_html_(self) -> str:
        # A frame of its own keeps the report's style and scripts from those of the notebook.
        content = escape(self.path.read_text(encoding="utf-8"), quote=True)
        return f'<iframe srcdoc="{content}" style="width: 100%; height: 900px; border: 1px solid #dfe5ea"></iframe>'
