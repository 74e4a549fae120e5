# SPDX-License-Identifier: Apache-2.0
"""The command line; `penstock.command.ending` says with which status it ends."""

from __future__ import annotations

import os
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from penstock.bench.cli import app as bench
from penstock.check.cli import check
from penstock.command import ending
from penstock.command.answer import Format, answer
from penstock.command.console import of_runs, output, progress, say
from penstock.command.console import tell as tell_of
from penstock.command.ending import end, interruptible
from penstock.command.options import FormatOption, JsonOption, ScenarioArgument, WorkersOption, YesOption
from penstock.compare.cli import compare
from penstock.data.cli import app as scenarios
from penstock.end.cli import listen, talk
from penstock.errors import InputError, MachineError, RunError, check_known
from penstock.lab.cli import Asked, doctor, lab
from penstock.linux.cli import app as linux
from penstock.nic.cli import app as nic
from penstock.plane.cli import app as plane
from penstock.report.cli import report
from penstock.schema.cli import schema
from penstock.show.cli import show
from penstock.show.output import CsvOption, Form, WideOption, print_summary
from penstock.torus.cli import app as torus
from penstock.version import __version__
from penstock.words import count

app = typer.Typer(
    pretty_exceptions_enable=False,
    help="Time-sensitive networks: one description, run as a model or as hardware, held against its proven bounds.",
)


ReplayNodes = Enum("ReplayNodes", {"MODEL": "model", "RTL": "rtl"})
ReproduceNodes = Enum("ReproduceNodes", {"MODEL": "model", "RTL": "rtl", "BOTH": "both"})


def _version(value: bool) -> None:
    if value:
        say(f"penstock {__version__}")
        raise typer.Exit


_FIRST = """\
Time-sensitive networks: one description, run as a model or as hardware,
held against its proven bounds.

  penstock run scenarios/hello    run a network: a table, and report.html
  penstock check SCENARIO         what is wrong with a scenario, or not meant
  penstock bound SCENARIO         the proven worst case, without a run

penstock --help for all commands, penstock COMMAND --help for one."""


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    if context.invoked_subcommand is None:
        say(_FIRST)


@app.command()
def run(
    scenario: ScenarioArgument,
    nodes: Annotated[
        str | None,
        typer.Option(
            metavar="model|rtl|linux|plane",
            help="What the nodes are; the scenario's own if not given. Several, as model,plane, run side by side.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the results go; out/NAME if not given.")
    ] = None,
    trace: Annotated[
        str | None, typer.Option(metavar="full|none", help="What is traced; what the scenario says if not given.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Gives each source of chance another seed, as run N of a sweep."),
    ] = None,
    captures: Annotated[bool, typer.Option("--captures/--no-captures", help="Write what the listeners heard.")] = True,
    figures: Annotated[
        bool, typer.Option("--figures", help="Figures of ports, hops and shaping without a trace too; takes longer.")
    ] = False,
    cores: Annotated[
        int, typer.Option(min=1, max=64, metavar="N", help="Of this machine, for a network of models; same results.")
    ] = 1,
    record: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Make a recording of what leaves a bridge, for penstock replay.")
    ] = None,
    record_at: Annotated[
        str | None, typer.Option(metavar="BRIDGE.PORT", help="Where; may be left out where frames leave by one port.")
    ] = None,
    signals: Annotated[
        str | None,
        typer.Option("--wave", metavar="FRAME|TIME", help="Write the hardware's signals around it, as FST files."),
    ] = None,
    margin: Annotated[str, typer.Option("--wave-margin", metavar="TIME", help="How long before and after it.")] = "2us",
    wide: WideOption = False,
    as_csv: CsvOption = False,
    as_json: JsonOption = False,
    yes: YesOption = False,
) -> None:
    """Run a scenario: print a table, write trace, captures and report."""
    from penstock import run as runner
    from penstock.replay.recorder import recorder as prepare_recording
    from penstock.scenario import NODES, load
    from penstock.wave import Wanted

    form = Form.of(wide=wide, as_csv=as_csv, as_json=as_json)

    if nodes is not None and "," in nodes:
        from penstock.side_by_side.cli import run_side_by_side

        alone = {"--trace": trace, "--seed": seed, "--record": record, "--record-at": record_at, "--wave": signals}
        alone |= {"--no-captures": None if captures else True, "--figures": figures or None}
        alone |= {"--cores": cores if cores > 1 else None, "--wide": wide or None}
        run_side_by_side(scenario, nodes, out, alone, form)
    if nodes is not None:
        check_known(nodes, NODES, "--nodes")
    if trace is not None:
        check_known(trace, runner.TRACE_MODES, "--trace")
    mode = next((mode for mode in runner.TRACE_MODES if mode == trace), None)
    network = load(scenario, nodes)
    if network.is_real:
        _run_on_linux(
            Asked(scenario, out, nodes=nodes),
            {
                "--trace": mode,
                "--seed": seed,
                "--record": record,
                "--wave": signals,
                "--figures": figures or None,
            },
            form,
        )
    target = out or Path("out") / network.name
    if record is None and record_at is not None:
        raise InputError("nothing is recorded", allowed="--record DIR with it", file="--record-at")
    recorder = None if record is None else prepare_recording(network, record, record_at, mode, target)
    wanted = None if signals is None else Wanted.read(network, signals, margin, mode)
    with progress(quiet=form.for_programs) as tell:
        result = runner.run(
            network,
            target,
            engine=_stand_in() or runner.CompiledEngine(cores=cores),
            progress=tell,
            trace=mode,
            seed=seed,
            captures=captures,
            figures=figures,
        )
    if wanted is not None and not result.partial:
        with progress(quiet=form.for_programs) as tell:
            files = runner.write_waves(network, wanted, result, progress=tell, seed=seed)
        tell_of(f"signals: {', '.join(map(str, files))}")
    print_summary(result.summary, result.folder, form)
    if result.partial:
        ending.interrupted()
    if recorder is not None:
        recorder.write(result.folder / "trace.parquet")
    end(result.summary["ok"])


def _run_on_linux(asked: Asked, others: dict[str, Any], form: Form) -> NoReturn:
    from penstock.lab.cli import run_scenario

    given = [option for option, value in others.items() if value is not None]
    if given:
        raise InputError("says nothing of real Linux", allowed="model or rtl nodes with it", file=given[0])
    with interruptible():
        end(run_scenario(asked, form))


app.command()(check)


@app.command()
def bound(
    scenario: Annotated[
        Path | None, typer.Argument(metavar="SCENARIO", help="A folder with scenario.toml, or one file.")
    ] = None,
    campaign: Annotated[
        int | None,
        typer.Option(metavar="N", help="N random networks are run instead, and each stream held against its bound."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the first random network.")] = 1,
    nodes: Annotated[ReplayNodes, typer.Option(help="What the bridges of a campaign are.")] = ReplayNodes.MODEL,
    tightness: Annotated[
        int | None,
        typer.Option(metavar="N", help="In N random networks of each kind, the worst case is searched for."),
    ] = None,
    steps: Annotated[int, typer.Option(min=1, help="Of the search, for each queue.")] = 150,
    store: Annotated[bool, typer.Option("--store", help="What each queue holds at most, against its limit.")] = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Also a page of what comes to queues and what they are served."),
    ] = None,
    saihu: Annotated[
        Path | None,
        typer.Option("--saihu", metavar="FILE", help="Also the network as Saihu has it, for other tools to judge."),
    ] = None,
    update_docs: Annotated[
        bool, typer.Option("--update-docs", help="Put the table of a search for worst cases into docs/bound.md.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """The worst case of each stream, per hop and end to end, term by term; runs nothing."""
    if campaign is not None:
        from penstock.bound.campaign import Campaign, run_campaign

        end(run_campaign(Campaign(campaign, seed, nodes.value), as_json))
    if tightness is not None:
        from penstock.bound.tightness import run_tightness

        end(run_tightness(tightness, seed, steps, as_json, update_docs))
    if scenario is None:
        raise InputError("there is no scenario", allowed="SCENARIO, or --campaign N", file="")
    if store:
        from penstock.bound.store import run_store
        from penstock.scenario import load as loaded

        end(run_store(loaded(scenario), as_json))
    from penstock.bound.analysis import analyse
    from penstock.bound.show import show
    from penstock.bound.tables import as_json as described
    from penstock.folder import check_file
    from penstock.scenario import load

    for file in (html, saihu):
        if file is not None:
            check_file(file)
    if scenario.suffix == ".json":
        from penstock.bound.saihu_command import run_judge

        end(run_judge(scenario, as_json))
    analysis = analyse(load(scenario))
    if saihu is not None:
        from penstock.bound.saihu_command import run_export

        run_export(load(scenario), saihu, as_json)
    if html is not None:
        from penstock.bound.page import as_page, nearest_of
        from penstock.run import observe

        network = load(scenario, "model")
        html.write_text(as_page(network, nearest_of(network, observe(network)[1])), encoding="utf-8")
    if as_json:
        answer(described(analysis))
    else:
        show(analysis, output())
    end(analysis.ok)


@app.command()
def replay(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN_DIR...", help="Folders with run.toml and its records.")],
    nodes: Annotated[ReplayNodes, typer.Option(help="What our switch is.")] = ReplayNodes.MODEL,
    as_json: JsonOption = False,
) -> None:
    """Replay what a real switch did: the same frames survive, and their latencies differ by a constant."""
    from penstock import data
    from penstock import replay as player

    end(player.show([data.found(run) for run in runs], nodes.value, as_json))


@app.command()
def sweep(
    scenario: ScenarioArgument,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=A,B,...", help="A key of the scenario and the values it takes; repeatable."),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(metavar="N", help="Each combination N times, sources of chance with other seeds.")
    ] = None,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler; this machine's cores if not given.")
    ] = None,
    workers: WorkersOption = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.parquet", help="The table; out/NAME-sweep.parquet if not given.")
    ] = None,
    wide: Annotated[bool, typer.Option("--wide", help="All columns.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Run a scenario with all combinations of settings and seeds: one table, a row per run and stream."""
    from penstock import sweep as sweeps
    from penstock.sweep import show as shown

    chosen = [sweeps.parse_setting(text) for text in settings or ()]
    tasks = sweeps.plan(scenario, chosen, seeds)
    file = out or Path("out") / f"{tasks[0].scenario['name']}-sweep.parquet"
    if file.suffix != ".parquet" or file.is_dir():
        raise InputError("is no name for a table", allowed="a file that ends in .parquet", file=f"--out {file}")
    with sweeps.Journal(file) as journal:
        with progress(quiet=as_json) as tell:
            result = sweeps.run(tasks, workers=workers, dask=dask, done=of_runs(tell), keep=journal.add)
        try:
            if result.rows:
                sweeps.write(result, file)
        except MachineError as error:
            raise MachineError(f"{error}; the rows of {count(result.finished, 'run')} are in {journal.path}") from None
    if as_json:
        answer(shown.as_json(result, file))
    else:
        shown.table(result, chosen, output(), file, wide=wide)
    if result.error is not None:
        raise RunError(result.error)
    if result.interrupted:
        ending.interrupted()
    end(result.ok)


@app.command()
def reproduce(
    paper: Annotated[
        str,
        typer.Argument(
            metavar="PAPER",
            help="ats-switch, launch-time-talker, linux-shapers, smartnic-tas or time-aware-nic.",
        ),
    ],
    nodes: Annotated[
        ReproduceNodes, typer.Option(help="What our switch is; both are compared.")
    ] = ReproduceNodes.MODEL,
    only: Annotated[
        list[str] | None, typer.Option(metavar="EXPERIMENT", help="One table or figure, as fig17; repeatable.")
    ] = None,
    synthesize: Annotated[
        bool, typer.Option("--synth", help="Synthesize for the table of resources; else what docs/synthesis.md has.")
    ] = False,
    card: Annotated[
        bool, typer.Option("--card", help="The network card in hardware, too, Verilated: of time-aware-nic.")
    ] = False,
    guest: Annotated[
        bool, typer.Option("--guest", help="The network card behind Linux, in an emulated guest: of time-aware-nic.")
    ] = False,
    frames: Annotated[
        int | None, typer.Option(metavar="N", help="Frames in each run, of a paper whose runs may be shorter.")
    ] = None,
    workers: WorkersOption = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Where the results go; out/reproduce-PAPER if not given."),
    ] = None,
    laboratory: Annotated[
        bool,
        typer.Option("--laboratory", help="On real Linux too: this kernel, or a virtual machine's real-time one."),
    ] = False,
    update_docs: Annotated[
        bool, typer.Option("--update-docs", help="Put the table into docs/papers/PAPER.md.")
    ] = False,
    form: FormatOption = Format.TEXT,
    as_json: JsonOption = False,
    yes: YesOption = False,
) -> None:
    """Run the experiments of a paper: paper, theory and ours side by side."""
    from penstock.lab.cli import tell_of_lab
    from penstock.lab.run import Where
    from penstock.reproduce import command, documentation, papers, show
    from penstock.reproduce.experiment import Options

    if update_docs and only:
        raise InputError("the page has all experiments", allowed="--update-docs without --only", file="--update-docs")
    if update_docs:
        papers.load(paper)
        documentation.check(paper, laboratory)
    target = out or Path("out") / f"reproduce-{paper}"
    form = Format.chosen(form, as_json)
    with interruptible(), progress(quiet=form is not Format.TEXT) as tell:
        options = Options(synthesize, card, guest, tell_of_lab)
        result = command.run(
            paper, nodes.value, only, target, options=options, frames=frames, workers=workers, done=of_runs(tell),
            laboratory=Where() if laboratory else None, tell=tell_of_lab,
        )  # fmt: skip
    if update_docs:
        documentation.update(result)
    if form is Format.JSON:
        answer(result.as_json())
    elif form is Format.TEXT:
        show.table(result, output(), target)
    else:
        from penstock.command.ci import print_cases

        print_cases(form, "reproduce", show.cases(result))
    end(result.ok)


@app.command(name="test")
def run_tests(
    only: Annotated[
        list[str] | None, typer.Argument(metavar="[RUNNER]...", help="Some of them; all if none is named.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="A skipped test is a failure, as in CI.")] = False,
) -> None:
    """Everything the project promises; the last line counts what passed, failed and was skipped."""
    from penstock import testing

    end(testing.main(only or [], strict) == 0)


# In the order in which one comes to need them; `hw` is the last.
app.command()(show)
app.command()(compare)
app.command()(report)
app.command()(lab)
app.command()(doctor)
app.add_typer(linux, name="linux")
app.add_typer(nic, name="nic")
app.add_typer(plane, name="plane")
app.add_typer(torus, name="torus")
app.command()(talk)
app.command()(listen)
app.command()(schema)
app.add_typer(scenarios, name="scenarios")
app.add_typer(bench, name="bench")


def _add_hardware() -> None:
    """The commands of the hardware are there once its package and tools are."""
    try:
        from penstock.hardware.cli import app as hardware
    except ImportError as error:
        missing = str(error)
        hardware = typer.Typer(invoke_without_command=True)

        @hardware.callback()
        def _missing() -> None:
            raise MachineError(f"{missing}; start it by ./penstock, which installs what it needs")

    app.add_typer(hardware, name="hw", help="The hardware: lint, test, prove, synthesize, bench.")


def _stand_in() -> Any:
    """Tests of the command line put their own engine here."""
    return None


def main() -> NoReturn:
    """Runs the command line and ends the program with its status."""
    if sys.argv[1:2] in (["hw"], ["--help"]) or "_PENSTOCK_COMPLETE" in os.environ:
        _add_hardware()
    sys.exit(ending.run(app, sys.argv[1:]))
