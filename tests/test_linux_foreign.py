# SPDX-License-Identifier: Apache-2.0
"""Configurations that people bring: what tc prints, scripts of tc commands, and what is usually wrong with them."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linux_host import EXAMPLE, example
from penstock import cli
from penstock.errors import InputError
from penstock.linux.commands import commands, show_command
from penstock.linux.compare import qdisc_differences
from penstock.linux.foreign.lint import lint
from penstock.linux.foreign.printed import read_printed
from penstock.linux.foreign.script import read_script
from penstock.linux.foreign.verify import verify
from penstock.linux.foreign.written import Written

# What tc 6.1 printed on Linux 6.1 after the talker of scenarios/linux was applied; and after the studio was.
TALKER_JSON = """[
{"kind":"taprio","handle":"100:","root":true,"refcnt":5,"options":{"tc":4,"map":[0,0,2,3,0,0,1,1,0,0,0,0,0,0,0,0],
"queues":[{"offset":0,"count":1},{"offset":1,"count":1},{"offset":2,"count":1},{"offset":3,"count":1}],
"clockid":"TAI","base_time":0,"cycle_time":1000000,"cycle_time_extension":0,"schedule":[
{"index":0,"cmd":"S","gatemask":"0x8","interval":100000},{"index":1,"cmd":"S","gatemask":"0x7","interval":900000}]}},
{"kind":"pfifo","handle":"0:","parent":"100:4","options":{"limit":1000}},
{"kind":"pfifo","handle":"0:","parent":"100:1","options":{"limit":1000}}]"""
STUDIO_JSON = """[
{"kind":"mqprio","handle":"100:","root":true,"options":{"tc":3,"map":[0,0,1,2,0,0,0,0,0,0,0,0,0,0,0,0],
"queues":[[0,0],[1,1],[2,2]]}},
{"kind":"pfifo","handle":"0:","parent":"201:","options":{"limit":1000}},
{"kind":"fq_codel","handle":"0:","parent":"100:4","options":{"limit":10240,"flows":1024}},
{"kind":"cbs","handle":"201:","parent":"100:2",
"options":{"hicredit":153,"locredit":-1389,"sendslope":-901312,"idleslope":98688,"offload":0}}]"""


def _judge(host: str, text: str, folder: Path) -> tuple[list[str], list[str]]:
    file = folder / "configuration"
    file.write_text(text)
    differences, findings = verify(file, example(host))
    return [str(each) for each in differences], [str(each) for each in findings]


@pytest.mark.parametrize(("host", "text"), [("talker", TALKER_JSON), ("studio", STUDIO_JSON)])
def test_what_tc_printed_is_as_planned(host: str, text: str, tmp_path: Path) -> None:
    assert _judge(host, text, tmp_path) == ([], [])


def test_what_tc_printed_differs(tmp_path: Path) -> None:
    differences, findings = _judge("talker", TALKER_JSON.replace('"0x7"', '"0x17"'), tmp_path)
    assert differences == ["enp2s0: root taprio entry 1: wanted mask 0x7 for 900000 ns, found mask 0x17 for 900000 ns"]
    assert len(findings) == 1
    assert "entry 1 opens class 4, but there are 4 classes; remedy: masks up to 0xf" in findings[0]


@pytest.mark.parametrize("host", ["talker", "studio", "drive"])
def test_what_show_prints_is_as_planned(host: str, tmp_path: Path) -> None:
    (plan,) = example(host).ports
    script = "\n".join(f"sudo {show_command(command)}" for command in commands(plan))
    assert _judge(host, script, tmp_path) == ([], [])


BASE = r"""
#!/bin/sh
DEV=enp2s0
CLK="CLOCK_TAI"
ethtool -K $DEV tso off gso off
tc qdisc replace dev $DEV parent root handle 100 stab overhead 24 taprio num_tc 4 \
   map 0 0 2 3 0 0 1 1 0 0 0 0 0 0 0 0 queues 1@0 1@1 1@2 1@3 \
   base-time 0 sched-entry S 08 100000 sched-entry S 07 900000 clockid ${CLK}
ip link add link $DEV name $DEV.10 type vlan id 10 egress-qos-map 1:1 2:2 3:3
ip link set $DEV.10 type vlan egress-qos-map 4:4 5:5 6:6 7:7 # the rest
echo done
"""

WRONG = {
    "UTC": ("base-time 0", "base-time {utc}", "base-time has passed by TAI.*remedy: 37 s more"),
    "sum": ("sched-entry S 07 900000", "sched-entry S 07 900000 cycle-time 2000000", "the entries take 1000000 ns"),
    "mask": ("S 07", "S 17", "entry 1 opens class 4, but there are 4 classes"),
    "short map": ("map 0 0 2 3 0 0 1 1 0 0 0 0 0 0 0 0", "map 0 0 2 3 0 0 1 1", "map has 8 priorities: .* 8 to 15"),
    "a class that is not there": ("map 0 0 2 3", "map 0 0 2 4", "map names class 4, but num_tc is 4"),
    "queues that overlap": ("1@1 1@2", "2@1 1@2", "queue 2 is of class 1 and of class 2"),
    "a class without queue": ("1@0 1@1 1@2 1@3", "1@0 1@1 1@2", "class 3 has no queue"),
    "no overhead": ("stab overhead 24 ", "", "no size table: the guard before a gate closes.*stab overhead 24"),
    "less overhead": ("overhead 24 ", "overhead 20 ", "an overhead of 20 B"),
    "no clock": (" clockid ${CLK}", "", "no clockid"),
    "another clock": ("CLOCK_TAI", "CLOCK_REALTIME", "the clock is not TAI"),
    "a clock with full offload": ("clockid ${CLK}", "clockid ${CLK} flags 0x2", "clockid with full offload"),
    "a delay that is refused": ("clockid ${CLK}", "clockid ${CLK} txtime-delay 5", "txtime-delay without txtime"),
    "launch times that nothing keeps": (
        "clockid ${CLK}", "clockid ${CLK} flags 1 txtime-delay 500000", "txtime-assist without etf"),
    "offloads": ("tso off gso off", "tso off", "gso stay on.*gso off"),
    "all offloads": ("ethtool -K $DEV tso off gso off\n", "", "tso and gso stay on"),
    "PTP": ("S 07 900000", "S 06 900000", "class 0, to which PTP goes with priority 0, never opens"),
    "max-sdu": ("base-time", "max-sdu 0 0 0 12470 base-time", "max-sdu 12470 of class 3 takes 100064 ns.*up to 12462"),
    "an interval": ("S 08 100000", "S 08 400", "entry 0 takes 400 ns, in which no frame fits"),
    "a long list": ("sched-entry S 08 100000", "sched-entry S 08 3125 " * 32, "33 entries: tc 6.1 sends the first 31"),
}  # fmt: skip


def test_the_script_is_right(tmp_path: Path) -> None:
    assert _judge("talker", BASE, tmp_path) == ([], [])


@pytest.mark.parametrize("case", WRONG)
def test_wrong(case: str, tmp_path: Path) -> None:
    import time

    old, new, what = WRONG[case]
    assert old in BASE
    text = BASE.replace(old, new.replace("{utc}", str(time.time_ns() + 30 * 10**9)), 1)
    _, findings = _judge("talker", text, tmp_path)
    assert [each for each in findings if re.search(what, each)], findings
    assert all("; remedy: " in each for each in findings)


@pytest.mark.parametrize(
    ("slopes", "what"),
    [
        ("idleslope 98688000 sendslope -901312000", "the slopes are in bit/s"),
        ("idleslope 98 sendslope -902", "the slopes are in Mbit/s"),
        ("idleslope 98688 sendslope -1312", "idleslope less sendslope is 100000, not the 1000000 kbit/s"),
        ("idleslope 98688 sendslope 901312", "a sign is wrong"),
    ],
)
def test_slopes_in_another_unit(slopes: str, what: str, tmp_path: Path) -> None:
    command = f"tc qdisc add dev enp3s0 parent 100:2 cbs {slopes} hicredit 153 locredit -1389"
    text = f"ethtool -K enp3s0 tso off gso off\n{command}"
    _, findings = _judge("studio", text, tmp_path)
    assert [each for each in findings if what in each], findings
    assert [each for each in findings if "cbs in software counts frames without" in each]


@pytest.mark.parametrize(
    ("etf", "what"),
    [
        ("clockid CLOCK_TAI delta 300000 offload", "etf without skip_sock_check"),
        ("clockid CLOCK_TAI delta 500000 offload skip_sock_check", "500000 is not above the delta of etf, 500000"),
    ],
)
def test_etf_below_txtime_assist(etf: str, what: str, tmp_path: Path) -> None:
    (plan,) = example("drive").ports
    script = [show_command(command) for command in commands(plan)]
    script = [re.sub("etf .*", f"etf {etf}", line) for line in script]
    _, findings = _judge("drive", "\n".join(script), tmp_path)
    assert [each for each in findings if what in each], findings


def test_the_chain_that_is_broken_is_told(tmp_path: Path) -> None:
    text = BASE.replace("3:3", "3:2").replace("map 0 0 2 3", "map 0 0 2 2")
    differences, _ = _judge("talker", text, tmp_path)
    assert differences == [
        "enp2s0: root taprio map of priority 3: wanted class 3, found class 2",
        "enp2s0: VLAN interface enp2s0.10 egress map of priority 3: wanted PCP 3, found PCP 2",
    ]


def test_what_cannot_be_read_is_told_with_its_line(tmp_path: Path) -> None:
    options = ("$X root taprio num_tc 2", "y root etf delta lots", "y root cbs speed 1")
    text = "".join(f"tc qdisc add dev {each}\n" for each in options)
    with pytest.raises(InputError) as raised:
        read_script(tmp_path / "s.sh", text)
    said = [(error.line, error.what) for error in raised.value.errors]
    assert said == [
        (1, "$X is not known without running the script"),
        (2, '"lots" is not a whole number'),
        (3, '"speed" is no option of cbs'),
    ]


@pytest.mark.parametrize("text", ["[{]", '{"kind": 1}', '[{"kind":"etf","dev":"enp2s0"}]', "\xff"])
def test_nothing_that_can_be_read(text: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError):
        verify(file, example("talker"))


def test_a_plan_finds_nothing_wrong_with_itself() -> None:
    for host in ("talker", "studio", "drive"):
        (plan,) = example(host).ports
        written = Written(list(plan.qdiscs), features={"tso": False, "gso": False})
        assert lint(plan, written) == []


def test_the_command_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tc.sh"
    for text, status in ((BASE, 0), (BASE.replace("S 08", "S 18"), 1), ("tc qdisc add dev $Y root etf", 2)):
        file.write_text(text)
        arguments = ["linux", "verify", str(EXAMPLE), "talker", "--from", str(file), "--json"]
        monkeypatch.setattr(sys, "argv", ["penstock", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert (end.value.code or 0) == status
        printed = capsys.readouterr()
        if status < 2:
            assert json.loads(printed.out)["ok"] is (status == 0)
        else:
            assert "tc.sh:1: $Y is not known" in printed.err


def test_a_size_table_below_taprio_is_refused_by_the_kernel(tmp_path: Path) -> None:
    credit = "cbs idleslope 98688 sendslope -901312 hicredit 153 locredit -1389"
    for table, wrong in (("stab overhead 24 ", 1), ("", 0)):
        _, findings = _judge("talker", f"{BASE}\ntc qdisc add dev enp2s0 parent 100:2 {table}{credit}\n", tmp_path)
        assert len([each for each in findings if "a size table below taprio" in each]) == wrong
        assert len(findings) == wrong


_TEXT = (
    "tc qdisc add del dev enp2s0 root parent 100:1 100: handle stab overhead taprio mqprio etf cbs num_tc map "
    "queues 1@0 0 1 3 99 -1 0x2 ff sched-entry S base-time cycle-time clockid CLOCK_TAI flags delta idleslope "
    "sendslope hw max-sdu ip link set type vlan id egress-qos-map 3:3 : ethtool -K gso off $X ' # sudo"
)
_WORDS = st.sampled_from([*_TEXT.split(), "\\\n", "\n"])
(_PLAN,) = example("talker").ports


@settings(max_examples=150, derandomize=True, deadline=None)
@given(st.lists(_WORDS, max_size=40), st.sampled_from(["", BASE]))
def test_no_script_makes_it_fail_otherwise_than_by_a_message(words: list[str], before: str) -> None:
    with contextlib.suppress(InputError):
        for written in read_script(Path("s.sh"), before + " ".join(words)).values():
            lint(_PLAN, written)
            list(qdisc_differences(_PLAN, tuple(written.qdiscs)))


@settings(max_examples=150, derandomize=True, deadline=None)
@given(st.data())
def test_no_json_makes_it_fail_otherwise_than_by_a_message(data: st.DataObject) -> None:
    listed = json.loads(data.draw(st.sampled_from([TALKER_JSON, STUDIO_JSON])))
    tables = [*listed, *(each["options"] for each in listed if "options" in each)]
    for _ in range(data.draw(st.integers(1, 3))):
        table = data.draw(st.sampled_from(tables))
        key = data.draw(st.sampled_from(sorted(table)))
        table[key] = data.draw(st.sampled_from([None, "x", -1, 10**30, [], [1], [[3]], {}, "0x1", [{"offset": 1}]]))
    with contextlib.suppress(InputError):
        for written in read_printed(Path("s.json"), json.dumps(listed), "enp2s0").values():
            lint(_PLAN, written)
            list(qdisc_differences(_PLAN, tuple(written.qdiscs)))


@pytest.mark.parametrize("options", ["num_tc 17", "num_tc 2 queues 99999999999@0 1@1", "num_tc 2 queues 1@-1 1@1"])
def test_numbers_that_nothing_holds(options: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="out of range; allowed: 0 to "):
        read_script(tmp_path / "s.sh", f"tc qdisc add dev eth0 root mqprio {options}")
