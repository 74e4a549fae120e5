# SPDX-License-Identifier: Apache-2.0
"""What was changed at an interface, written down before it is changed, so that a killed run can be undone too."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from penstock.linux.state import StateFile

What = Literal["feature", "root", "vlan"]


@dataclass(frozen=True)
class Change:
    """A change that is about to be made: an offload turned off, a root qdisc put there, a VLAN interface made."""

    what: What
    name: str  # of the offload, of the kind of qdisc, of the VLAN interface
    handle: int = 0  # of the root qdisc


class Journal:
    """The changes of one interface; the file is there as long as there are any."""

    def __init__(self, interface: str, index: int, folder: Path | None = None) -> None:
        self.interface = interface
        self.index = index
        self.changes: list[Change] = []
        self._state = StateFile("linux", interface, folder)

    @property
    def file(self) -> Path:
        """Where they are written down."""
        return self._state.path

    def read(self) -> bool:
        """Takes what an earlier run has left, if it was this interface in this namespace since the last start."""
        try:
            kept = self._state.read()
            if kept is None or kept["index"] != self.index:
                return False
            self.changes = [Change(**change) for change in kept["changes"]]
        except (KeyError, TypeError):
            return False
        return bool(self.changes)

    def add(self, change: Change) -> None:
        """Notes a change that is about to be made."""
        self.changes.append(change)
        self._write()

    def drop(self, change: Change) -> None:
        """Forgets a change that was undone."""
        self.changes.remove(change)
        if self.changes:
            self._write()
        else:
            self._state.forget()

    def _write(self) -> None:
        self._state.write({"index": self.index, "changes": [asdict(change) for change in self.changes]})
