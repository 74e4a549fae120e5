# SPDX-License-Identifier: Apache-2.0
"""What `penstock doctor` concludes from what it finds, on machines that have more or less than this one."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.cli import app
from penstock.errors import RunError
from penstock.lab import doctor, kernel
from penstock.lab.interfaces import clocks, stamping
from penstock.lab.kernel import Kernel

Examine = Callable[..., dict[str, Any]]


@pytest.fixture
def examine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Examine:
    def on(*, missing: dict[str, str] | None, lacks: tuple[str, ...] = (), root: bool = False, fetched: bool) -> Any:
        class FakeMachine:
            def __enter__(self) -> FakeMachine:
                if missing is None:
                    raise RunError("the executor ended")
                return self

            def __exit__(self, *_: object) -> None:
                pass

        which = shutil.which
        monkeypatch.setattr(doctor, "Machine", FakeMachine)
        monkeypatch.setattr(doctor, "probe", lambda machine: missing)
        monkeypatch.setattr(shutil, "which", lambda name: None if name in lacks else which(name) or f"/usr/bin/{name}")
        monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000)
        monkeypatch.setattr(doctor, "kvm_is_offered", lambda: False)
        there = Kernel("6.1-rt", "6.1-1", tmp_path) if fetched else None
        monkeypatch.setattr(kernel, "cached", lambda: there)
        done = CliRunner().invoke(app, ["doctor", "--json"])
        found = json.loads(done.stdout)
        assert done.exit_code == (0 if found["ok"] else 1)
        return found | {"by": {(f["group"], f["what"]): f for f in found["findings"]}}

    return on


def test_a_kernel_that_has_all_needs_no_guest(examine: Examine) -> None:
    found = examine(missing={}, lacks=("qemu-system-x86_64", "apt-get"), fetched=False)
    assert found["ok"]
    assert found["by"]["laboratory", "on this kernel"]["state"] == "yes"
    assert found["by"]["laboratory", "in a guest"]["state"] == "no"


def test_a_guest_helps_where_the_kernel_lacks_qdiscs(examine: Examine) -> None:
    found = examine(missing={"taprio": "Specified qdisc kind is unknown."}, fetched=True)
    assert found["ok"]
    assert found["by"]["qdisc", "taprio"] | {"remedy": ""} == {
        "group": "qdisc",
        "what": "taprio",
        "state": "no",
        "detail": "Specified qdisc kind is unknown.",
        "remedy": "",
    }
    assert found["by"]["laboratory", "on this kernel"]["detail"] == "lacks taprio"
    assert found["by"]["laboratory", "in a guest"]["detail"] == "ready"


def test_what_is_missing_is_named_with_the_command_that_installs_it(examine: Examine) -> None:
    found = examine(missing=None, lacks=("qemu-system-x86_64", "busybox", "iperf3"), fetched=False)
    assert not found["ok"]
    install = "sudo apt-get install -y --no-install-recommends"
    assert found["by"]["guest", "programs"]["remedy"] == f"{install} busybox-static qemu-system-x86"
    assert found["by"]["programs", "iperf3"]["remedy"] == f"{install} iperf3"
    assert found["by"]["guest", "real-time kernel"]["remedy"] == "./penstock lab --prepare"
    assert found["by"]["system", "network namespaces"]["state"] == "no"


def test_root_can_have_it_all_installed(examine: Examine) -> None:
    found = examine(missing=None, lacks=("qemu-system-x86_64",), root=True, fetched=False)
    assert found["ok"]
    assert found["by"]["laboratory", "in a guest"]["detail"] == "prepared on first use"


def test_the_loopback_has_no_hardware_stamps() -> None:
    hardware, said = stamping("lo")
    assert (hardware, said) == (False, "no hardware time stamps")
    assert all(name.startswith("ptp") for name in clocks())


def test_an_interface_that_is_not_there_does_not_say() -> None:
    assert stamping("nothing0")[0] is False
