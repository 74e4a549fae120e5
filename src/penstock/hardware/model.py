# SPDX-License-Identifier: Apache-2.0
"""Builds switch and network card as shared libraries: Verilated, compiled together with a driver, cached.

The key of the cache is everything that the result depends on: sources, driver, parameters, flags and tools.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.data import ENGINE
from penstock.hardware.registers import card_files, switch_files
from penstock.hardware.tools import (
    ToolError,
    cache_folder,
    card_simulation_files,
    checked,
    locked,
    simulation_files,
    verilator_folder,
)

SHIM = ENGINE / "rtl" / "shim"

VERILATOR_FLAGS = (
    "--cc",
    "-O3",
    "--x-assign", "fast",
    "--x-initial", "fast",
    "--no-assert",
    "--threads", "1",
    "-Wno-fatal",
)  # fmt: skip
# The runtime has inline variables that the linker would otherwise share between two models of one process.
COMPILE_FLAGS = ("-std=c++20", "-fPIC", "-fvisibility=hidden", "-fno-gnu-unique", "-DVL_TIME_CONTEXT")


@dataclass(frozen=True)
class Variant:
    """What is built of the same sources: for speed, or with waves, which is for a look and soon there."""

    verilate: tuple[str, ...] = ()
    optimize: str = "-O3"
    define: tuple[str, ...] = ()
    link: tuple[str, ...] = ()


FAST = Variant()
WAVES = Variant(("--trace-fst", "--trace-structs"), "-O1", ("-DPEN_WAVES",), ("-lz", "-llz4"))


@dataclass(frozen=True)
class _Product:
    """A top module with its driver."""

    name: str
    files: tuple[Path, ...]
    parameters: Mapping[str, int]
    define: tuple[str, ...] = ()

    @property
    def top(self) -> str:
        return f"pen_{self.name}"

    @property
    def library(self) -> str:
        return f"lib{self.top}.so"


def build_model(
    *,
    ports: int = 4,
    host: bool = False,
    parameters: dict[str, int] | None = None,
    waves: bool = False,
) -> Path:
    """The library of a switch; built when it is not in the cache.

    With `host` its last port is the host's. `parameters` are further parameters of the top module by name. With `waves`
    it can write all of its signals to a file, and is several times as slow.
    """
    if not 2 <= ports <= 8:
        raise ToolError(f"a switch of {ports} ports: 2 to 8 are allowed")
    values = {"PORTS": ports, "HOST": int(host)} | (parameters or {})
    define = (f"-DPEN_PORTS={ports}", f"-DPEN_HOST={int(host)}")
    files = (*switch_files(), *simulation_files())
    return _build(_Product("switch", files, values, define), WAVES if waves else FAST)


def build_card(*, ports: int = 1, pairs: int = 4) -> Path:
    """The library of a network card: so many ports, each with so many queue pairs; built when not in the cache."""
    if not 1 <= ports <= 4:
        raise ToolError(f"a card of {ports} ports: 1 to 4 are allowed")
    if not 1 <= pairs <= 16:
        raise ToolError(f"a card of {pairs} queue pairs: 1 to 16 are allowed")
    values = {"PORTS": ports, "PAIRS": pairs}
    files = (*card_files(), *card_simulation_files())
    return _build(_Product("nic", files, values, (f"-DPEN_PORTS={ports}",)), FAST)


def _build(product: _Product, variant: Variant) -> Path:
    verilator = verilator_folder()
    package = next(path for path in product.files if path.name == "pen_pkg.sv")
    folder = cache_folder() / "models" / f"{product.name}-{_key(product, variant, verilator)}"
    library = folder / product.library
    if library.exists():
        return library
    with locked(folder.with_suffix(".lock")):
        if library.exists():
            return library
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".build-") as name:
            build = Path(name)
            (build / "pen_layout.h").write_text(layout_header(package.read_text()))
            if variant is WAVES:
                _require_compression(build)
            _verilate(verilator, build, product, variant)
            _link(verilator, build, product, variant)
            folder.mkdir(exist_ok=True)
            (build / library.name).replace(library)
    return library


def _key(product: _Product, variant: Variant, verilator: Path) -> str:
    compiler = checked([_compiler(), "--version"], "asking the C++ compiler for its version").splitlines()[0]
    tool = checked([str(verilator / "bin" / "verilator_bin"), "--version"], "asking Verilator for its version")
    values = (product.top, sorted(product.parameters.items()))
    settings = (values, VERILATOR_FLAGS, COMPILE_FLAGS, variant, compiler, tool, platform.machine())
    digest = hashlib.sha256(repr(settings).encode())
    for path in [*product.files, *_driver(product), Path(__file__)]:
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def _driver(product: _Product) -> list[Path]:
    """The driver's sources; what is common to both has another name than theirs."""
    others = {"switch", "nic"} - {product.name}
    return [path for path in sorted(SHIM.glob("*")) if not any(path.stem == f"pen_{name}_shim" for name in others)]


def _require_compression(build: Path) -> None:
    """Files of waves are compressed by libraries that the system must have."""
    probe = build / "compression.cpp"
    probe.write_text("#include <lz4.h>\n#include <zlib.h>\n")
    try:
        checked([_compiler(), "-fsyntax-only", str(probe)], "looking for LZ4 and zlib")
    except ToolError:
        raise ToolError("waves need LZ4 and zlib: apt-get install liblz4-dev zlib1g-dev") from None


def _verilate(verilator: Path, build: Path, product: _Product, variant: Variant) -> None:
    command = [
        str(verilator / "bin" / "verilator_bin"),
        *VERILATOR_FLAGS,
        "--top-module", product.top,
        "--prefix", f"V{product.top}",
        *variant.verilate,
        "--Mdir", str(build),
        *(f"-G{name}={value}" for name, value in product.parameters.items()),
        *map(str, product.files),
    ]  # fmt: skip
    checked(command, "Verilator", {"VERILATOR_ROOT": str(verilator)})
    # The makefile's OPT_FAST is for what runs every cycle, OPT_SLOW for what runs once, OPT_GLOBAL for the runtime.
    command = [
        _make(), "-C", str(build), "-f", f"V{product.top}.mk", f"-j{min(os.cpu_count() or 1, 4)}", "-s",
        f"CXX={_compiler()}", f"OPT_FAST={variant.optimize}", "OPT_SLOW=-O0", f"OPT_GLOBAL={variant.optimize}",
        "CFG_CXXFLAGS_PCH_I=-include",  # which the packaged Verilator leaves empty
        f"USER_CPPFLAGS={' '.join(COMPILE_FLAGS)}", f"VERILATOR_ROOT={verilator}", f"PYTHON3={sys.executable}",
        f"libV{product.top}", "libverilated.a",
    ]  # fmt: skip
    checked(command, "compiling the model", {"VERILATOR_ROOT": str(verilator)})


def _link(verilator: Path, build: Path, product: _Product, variant: Variant) -> None:
    command = [
        _compiler(), *COMPILE_FLAGS, variant.optimize, *variant.define, "-shared", *product.define,
        f"-I{build}", f"-I{SHIM}", f"-isystem{verilator / 'include'}", f"-isystem{verilator / 'include' / 'vltstd'}",
        str(SHIM / f"{product.top}_shim.cpp"), str(build / f"libV{product.top}.a"), str(build / "libverilated.a"),
        "-Wl,-Bsymbolic", "-Wl,--no-undefined", "-pthread", *variant.link,
        "-o", str(build / product.library),
    ]  # fmt: skip
    checked(command, "compiling the driver of the model")


def layout_header(package: str) -> str:
    """Where the fields of verdict_t and egress_event_t are, as a C++ header, read from the text of pen_pkg.sv."""
    text = re.sub(r"//[^\n]*", "", package)
    found = re.findall(r"localparam\s+int\s+unsigned\s+(\w+)\s*=\s*(\d+)", text)
    constants = {name: int(value) for name, value in found}
    widths: dict[str, int] = {"logic": 1}
    structs: dict[str, list[tuple[str, int]]] = {}

    def range_of(dimensions: str) -> int:
        product = 1
        for high, low in re.findall(r"\[\s*([^:\]]+):([^\]]+)\]", dimensions):
            product *= _number(high, constants) - _number(low, constants) + 1
        return product

    pattern = r"typedef\s+(enum\s+logic|struct\s+packed|logic)\s*((?:\[[^\]]+\]\s*)*)(?:\{(.*?)\})?\s*(\w+)\s*;"
    for kind, dimensions, body, name in re.findall(pattern, text, re.DOTALL):
        if not kind.startswith("struct"):
            widths[name] = range_of(dimensions)
            continue
        fields: list[tuple[str, int]] = []
        for base, field_dimensions, field in re.findall(r"(\w+)\s*((?:\[[^\]]+\]\s*)*)(\w+)\s*;", body):
            if base not in widths:
                raise ToolError(f"pen_pkg.sv: {name}.{field} has the unknown type {base}")
            fields.append((field, widths[base] * range_of(field_dimensions)))
        structs[name] = fields
        widths[name] = sum(width for _, width in fields)
    lines = ["#pragma once", "namespace layout {", "struct Field { unsigned lsb, width; };"]
    for struct, namespace in (("verdict_t", "verdict"), ("egress_event_t", "egress_event")):
        if struct not in structs:
            raise ToolError(f"pen_pkg.sv: {struct} is missing")
        lines.append(f"namespace {namespace} {{ constexpr unsigned WIDTH = {widths[struct]};")
        lsb = widths[struct]
        for field, width in structs[struct]:
            lsb -= width  # the first field is the highest
            lines.append(f"constexpr Field {field}{{{lsb}, {width}}};")
        lines.append("}")
    return "\n".join([*lines, "}", ""])


def _number(text: str, constants: dict[str, int]) -> int:
    match = re.fullmatch(r"\s*(\w+)\s*(?:-\s*(\d+))?\s*", text)
    if not match or not (match[1].isdigit() or match[1] in constants):
        raise ToolError(f"pen_pkg.sv: the width [{text}] is not understood")
    return (int(match[1]) if match[1].isdigit() else constants[match[1]]) - int(match[2] or 0)


def _compiler() -> str:
    chosen = os.environ.get("CXX") or "g++"
    if shutil.which(chosen) is None:
        raise ToolError(f"the C++ compiler {chosen} is missing: apt-get install g++")
    return chosen


def _make() -> str:
    if shutil.which("make") is None:
        raise ToolError("make is missing: apt-get install make")
    return "make"
