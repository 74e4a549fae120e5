# SPDX-License-Identifier: Apache-2.0
"""Programs of the engine: built on first use, cached under the hash of their sources; static if they load nothing."""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from penstock.data import ENGINE
from penstock.errors import EngineError
from penstock.hardware.tools import ToolError, cache_folder, checked, locked

_PROFILE = "end"
# Whole without any library of the system, so that it runs on one that has none.
_FLAGS = "-C target-feature=+crt-static"


@dataclass(frozen=True)
class StaticProgram:
    """A program, and the crates whose sources it is made of, its own first."""

    name: str
    crates: tuple[str, ...]
    loads: bool = False  # models of hardware, which a program that is whole by itself cannot

    @property
    def variable(self) -> str:
        """Of the environment, which may name the program."""
        return self.name.upper().replace("-", "_")

    def build(self) -> Path:
        """The program: that of its variable, else from the cache, built if it is not there.

        Raises EngineError when it can be neither found nor built.
        """
        if self.variable in os.environ:
            given = Path(os.environ[self.variable])
            if not os.access(given, os.X_OK):
                raise EngineError(f"${self.variable} is {given}, which cannot be executed")
            return given.resolve()
        if not (ENGINE / self.crates[0]).is_dir():
            found = shutil.which(self.name)
            if found is None:
                text = f"{self.name} is neither beside the sources nor on the path; set {self.variable} to it"
                raise EngineError(text)
            return Path(found)
        room = cache_folder() / self.crates[0]
        program = room / self._key() / self.name
        if not program.exists():
            with locked(room / "lock"):
                if not program.exists():
                    self._compile(program, cache_folder() / "targets" / f"{_checkout()}{'-loading' * self.loads}")
        return program

    @property
    def _flags(self) -> str:
        return "" if self.loads else _FLAGS

    def _sources(self) -> list[Path]:
        crates = [ENGINE / name for name in self.crates]
        manifests = [folder / "Cargo.toml" for folder in (ENGINE, *crates)]
        code = [file for crate in crates for file in crate.glob("src/**/*.rs")]
        return sorted([ENGINE / "Cargo.lock", *manifests, *code])

    def _key(self) -> str:
        digest = hashlib.sha256(self._flags.encode())
        for file in self._sources():
            digest.update(str(file.relative_to(ENGINE)).encode() + b"\0" + file.read_bytes() + b"\0")
        return digest.hexdigest()[:16]

    def _compile(self, program: Path, target: Path) -> None:
        try:
            version = checked(["rustc", "-vV"], "rustc")
            host = next(line.split()[1] for line in version.splitlines() if line.startswith("host:"))
            # A stated target keeps the flags away from what is compiled for the compiler itself.
            command: list[str | Path] = [
                *("cargo", "build", "--quiet", "--locked", "--profile", _PROFILE, "--target", host),
                *("--manifest-path", ENGINE / "Cargo.toml", "--package", self.name),
            ]
            environment = {"RUSTFLAGS": self._flags, "CARGO_TARGET_DIR": str(target)}
            with locked(target.with_suffix(".lock")):
                checked(command, f"the build of {self.name}", environment)
        except ToolError as error:
            raise EngineError(str(error)) from error
        program.parent.mkdir(parents=True, exist_ok=True)
        fresh = program.with_suffix(f".{os.getpid()}")
        shutil.copy2(target / host / _PROFILE / self.name, fresh)
        fresh.replace(program)


def _checkout() -> str:
    """One folder of half-made things for each: cargo would take those of another checkout for this one's."""
    return hashlib.sha256(str(ENGINE.resolve()).encode()).hexdigest()[:16]
