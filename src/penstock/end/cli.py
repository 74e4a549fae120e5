# SPDX-License-Identifier: Apache-2.0
"""`penstock talk` and `penstock listen`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from penstock.command.answer import answer, refusal
from penstock.command.ending import Status, end
from penstock.command.options import JsonOption
from penstock.end import options as o
from penstock.errors import InputError, located

# Options by what becomes of them; all others are handed on as they are.
_PLACE = ("scenario", "host", "interface", "plan", "window", "duration")
_ADDRESSED = ("to", "mode", "port", "vlan", "pcp", "priority")
_ONE_STREAM = (*_ADDRESSED, "length", "every", "count", "offset", "wav", "tone", "capture")
_HANDED_ON = {"length": "bytes"}  # by other names
_OURS = ("out", "talker", "as_json")


def talk(
    scenario: o.Scenario = None,
    host: o.Host = None,
    interface: o.Interface = None,
    plan: o.PlanFile = None,
    out: o.Out = None,
    window: o.Window = None,
    duration: o.Duration = None,
    base_time: o.BaseTime = None,
    launch_time: o.LaunchTime = False,
    transmit_offset: o.TransmitOffset = None,
    deadline_mode: o.DeadlineMode = False,
    late_tolerance: o.LateTolerance = None,
    drop_late: o.DropLate = False,
    fifo: o.Fifo = None,
    cpu: o.Cpu = None,
    lock_memory: o.LockMemory = False,
    best_effort: o.BestEffort = False,
    hardware_stamps: o.HardwareStamps = False,
    pmc: o.PmcCommand = None,
    pmc_threshold: o.PmcThreshold = None,
    to: o.To = None,
    mode: o.Mode = None,
    port: o.Port = None,
    vlan: o.Vlan = None,
    pcp: o.Pcp = None,
    priority: o.Priority = None,
    length: o.Length = None,
    every: o.Every = None,
    count: o.Count = None,
    offset: o.Offset = None,
    wav: o.Wav = None,
    tone: o.Tone = None,
    capture: o.CaptureFile = None,
    as_json: JsonOption = False,
) -> None:
    """Send the streams of a host, each frame at its time, by launch times or a software gate control list."""
    _run("talk", locals())


def listen(
    scenario: o.Scenario = None,
    host: o.Host = None,
    interface: o.Interface = None,
    plan: o.PlanFile = None,
    out: o.Out = None,
    talker: o.TalkFolder = None,
    window: o.Window = None,
    duration: o.Duration = None,
    stamp: o.Stamp = None,
    receive: o.Receive = None,
    warmup: o.Warmup = None,
    wait: o.Wait = None,
    idle: o.Idle = None,
    fifo: o.Fifo = None,
    cpu: o.Cpu = None,
    lock_memory: o.LockMemory = False,
    best_effort: o.BestEffort = False,
    hardware_stamps: o.HardwareStamps = False,
    pmc: o.PmcCommand = None,
    pmc_threshold: o.PmcThreshold = None,
    to: o.To = None,
    mode: o.Mode = None,
    port: o.Port = None,
    vlan: o.Vlan = None,
    pcp: o.Pcp = None,
    length: o.Length = None,
    every: o.Every = None,
    count: o.Count = None,
    offset: o.Offset = None,
    wav: o.Wav = None,
    tone: o.Tone = None,
    as_json: JsonOption = False,
) -> None:
    """Receive the streams of a host, measure each frame, and count what else comes."""
    _run("listen", locals())


class _Where:
    """Where the streams come from: a scenario's host, a plan, or options."""

    def __init__(
        self,
        scenario: Path | None,
        host: str | None,
        interface: str | None,
        plan: Path | None,
        windows: Sequence[str] | None,
        duration: str | None,
    ) -> None:
        if scenario is not None and plan is not None:
            raise InputError("stands beside a scenario", allowed="a scenario or a plan", file="--plan")
        if scenario is not None and (host is None or interface is None):
            what = "HOST" if host is None else "--interface"
            raise InputError("is missing", allowed="SCENARIO HOST --interface NAME", file=what)
        if windows and scenario is None and plan is not None:
            raise InputError("says what the plan does", allowed="window_ns in the plan", file="--window")
        self.scenario, self.host, self.interface = scenario, host, interface
        self.plan, self.windows, self.duration = plan, windows or (), duration


def _run(role: Any, given: Mapping[str, Any]) -> None:
    """`given` has the options by their names in `talk` and `listen`."""
    from penstock.end import show
    from penstock.end.run import RefusedError, Task, run
    from penstock.end.trace import Names

    where = _Where(*(given[name] for name in _PLACE))
    one = {_HANDED_ON.get(name, name): given.get(name) for name in _ONE_STREAM}
    plan, names, title = None, Names({}, "listener", {}), "end"
    rest = {name: value for name, value in given.items() if name not in (*_PLACE, *_ONE_STREAM, *_OURS)}
    rest |= {"interface": where.interface, "duration": where.duration}
    if where.scenario is not None or where.plan is not None:
        beside = [key for key, value in one.items() if value is not None]
        if beside:
            raise InputError("is of one stream without a scenario", allowed="none beside it", file=f"--{beside[0]}")
    if where.scenario is not None:
        plan, names, title = _of_scenario(role, where)
    elif where.plan is not None:
        rest["plan"] = where.plan
        title = where.plan.stem
    else:
        rest.update(one)
        if len(where.windows) > 1 or any("=" in text for text in where.windows):
            raise InputError("names a stream", allowed="one TIME, without a scenario", file="--window")
        rest["window"] = next(iter(where.windows), None)
    target = given["out"] or Path("out") / f"{title}-{where.host or role}"
    try:
        summary = run(Task(role, plan, o.arguments(rest), names, given.get("talker")), target)
    except RefusedError as error:
        if given["as_json"]:
            answer(refusal(map(located, error.lines)))
        status = Status.BAD_INPUT if error.status == Status.BAD_INPUT else Status.MACHINE
        raise typer.Exit(status) from None
    if given["as_json"]:
        answer(summary)
    else:
        show.show(role, summary, target)
    end(summary["ok"])


def _of_scenario(role: Any, where: _Where) -> Any:
    from penstock.end.plan import plan_for, set_windows
    from penstock.end.trace import Names
    from penstock.scenario import load

    assert where.scenario is not None
    assert where.host is not None
    assert where.interface is not None
    # What follows no period is asked of the model, whatever the bridges of the scenario are.
    network = load(where.scenario, "model")
    plan = plan_for(network, where.host, role, where.interface)
    set_windows(plan, where.windows, o.time_ns)
    streams = network.streams.values()
    names = Names({s.name: s.talker for s in streams}, where.host, {s.name: s.traffic_class for s in streams})
    return plan, names, network.name
