# SPDX-License-Identifier: Apache-2.0
"""The runs: four configurations of the talker's port, with audio alone and with the rest beside it."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.reproduce.experiment import SCENARIOS, Case, Outcomes
from penstock.reproduce.outcome import Outcome

FOLDER = SCENARIOS / "linux-shapers"
CONFIGURATIONS = {
    "mqprio": "mqprio",
    "taprio": "taprio",
    "cbs-mqprio": "cbs under mqprio",
    "cbs-taprio": "cbs under taprio",
}
BACKGROUND = ("udp", "tcp", "sctp")
_NEVER = "1000s"  # after the run


def cases(*mixed: bool) -> list[Case]:
    """Of each configuration, with the rest beside audio or without."""
    silent = {f"streams.{name}.source.start": _NEVER for name in BACKGROUND}
    return [
        Case(FOLDER / f"{name}.toml", {} if mix else silent, {"configuration": name, "mixed": mix})
        for mix in mixed
        for name in CONFIGURATIONS
    ]


def by_configuration(outcomes: Outcomes, mixed: bool) -> Mapping[str, Outcome]:
    """The outcomes with the rest beside audio or without."""
    return {case.at["configuration"]: outcome for case, outcome in outcomes if case.at["mixed"] is mixed}


def said(mixed: bool) -> str:
    """Which traffic, for people."""
    return "audio, UDP, TCP and SCTP" if mixed else "audio only"


def key(mixed: bool) -> str:
    """The same in ids of rows."""
    return "mix" if mixed else "audio"
