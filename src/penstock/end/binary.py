# SPDX-License-Identifier: Apache-2.0
"""Where the program `penstock-end` is: built on first use, static, cached under the hash of its sources."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from penstock.data import ENGINE
from penstock.errors import EngineError
from penstock.hardware.tools import ToolError, cache_folder, checked, locked

NAME = "penstock-end"
_PROFILE = "end"
# Whole without any library of the system, so that it runs on one that has none.
_FLAGS = "-C target-feature=+crt-static"


def build() -> Path:
    """The program: that of $PENSTOCK_END, else from the cache, built if it is not there.

    Raises EngineError when it can be neither found nor built.
    """
    if "PENSTOCK_END" in os.environ:
        given = Path(os.environ["PENSTOCK_END"])
        if not os.access(given, os.X_OK):
            raise EngineError(f"$PENSTOCK_END is {given}, which cannot be executed")
        return given.resolve()
    if not (ENGINE / "end").is_dir():
        found = shutil.which(NAME)
        if found is None:
            raise EngineError(f"{NAME} is neither beside the sources nor on the path; set PENSTOCK_END to it")
        return Path(found)
    folder = cache_folder() / "end" / _key()
    program = folder / NAME
    if not program.exists():
        with locked(cache_folder() / "end" / "lock"):
            if not program.exists():
                _compile(program)
    return program


def _sources() -> list[Path]:
    crates = [ENGINE / name for name in ("end", "frame")]
    manifests = [folder / "Cargo.toml" for folder in (ENGINE, *crates)]
    code = [file for crate in crates for file in crate.glob("src/**/*.rs")]
    return sorted([ENGINE / "Cargo.lock", *manifests, *code])


def _key() -> str:
    digest = hashlib.sha256(_FLAGS.encode())
    for file in _sources():
        digest.update(str(file.relative_to(ENGINE)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _compile(program: Path) -> None:
    target = cache_folder() / "end" / "target"
    try:
        version = checked(["rustc", "-vV"], "rustc")
        host = next(line.split()[1] for line in version.splitlines() if line.startswith("host:"))
        manifest: list[str | Path] = ["--manifest-path", ENGINE / "Cargo.toml", "--package", NAME]
        # A stated target keeps the flags away from what is compiled for the compiler itself.
        command: list[str | Path] = [
            "cargo",
            "build",
            "--quiet",
            "--locked",
            "--profile",
            _PROFILE,
            "--target",
            host,
            *manifest,
        ]
        checked(command, f"the build of {NAME}", {"RUSTFLAGS": _FLAGS, "CARGO_TARGET_DIR": str(target)})
    except ToolError as error:
        raise EngineError(str(error)) from error
    program.parent.mkdir(parents=True, exist_ok=True)
    fresh = program.with_suffix(f".{os.getpid()}")
    shutil.copy2(target / host / _PROFILE / NAME, fresh)
    fresh.replace(program)


def version() -> str:
    """What it says of itself."""
    return subprocess.run([build(), "--version"], capture_output=True, text=True, check=True).stdout.strip()
