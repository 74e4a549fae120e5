# SPDX-License-Identifier: Apache-2.0
"""`penstock schema`."""

from __future__ import annotations

import json

from penstock.command.console import say


def schema() -> None:
    """Print the JSON schema of a scenario, by which an editor completes keys and says what they mean."""
    from penstock.schema.generate import scenario_schema

    say(json.dumps(scenario_schema(), indent=2, ensure_ascii=False))
