# SPDX-License-Identifier: Apache-2.0
"""The guest's first files: a small archive with busybox and the modules that reach the host's files."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from penstock.errors import RunError
from penstock.hardware.tools import cache_folder
from penstock.lab.kernel import Kernel

# Loaded before the host's files can be reached, with what they need.
_FIRST_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay", "virtio_console")


def guest_file(name: str) -> bytes:
    """A file that the guest runs."""
    return (resources.files("penstock.lab") / "guest_files" / name).read_bytes()


def initramfs(kernel: Kernel) -> Path:
    """The archive for this kernel, made on first use and named by its content.

    Raises:
        RunError: busybox is missing, or the kernel lacks a module.

    """
    busybox = shutil.which("busybox")
    if busybox is None:
        raise RunError("busybox is missing; run: sudo apt-get install busybox-static")
    modules = first_modules(kernel)
    entries: list[tuple[str, int, bytes]] = [(name, stat.S_IFDIR | 0o755, b"") for name in ("bin", "dev", "modules")]
    entries.append(("bin/busybox", stat.S_IFREG | 0o755, Path(busybox).read_bytes()))
    entries.append(("bin/sh", stat.S_IFLNK | 0o777, b"busybox"))
    entries.append(("init", stat.S_IFREG | 0o755, guest_file("init")))
    entries += [(f"modules/{file.name}", stat.S_IFREG | 0o644, file.read_bytes()) for file in modules]
    order = "".join(f"{file.name}\n" for file in modules).encode()
    entries.append(("modules/order", stat.S_IFREG | 0o644, order))
    content = archive(entries)
    path = cache_folder() / "lab" / "initramfs" / f"{hashlib.sha256(content).hexdigest()[:20]}.cpio"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        number, new = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(number, "wb") as file:
            file.write(content)
        Path(new).rename(path)
    return path


def first_modules(kernel: Kernel) -> list[Path]:
    """The files of the first modules, each after those it needs."""
    folder = kernel.modules / kernel.release
    needs: dict[str, list[str]] = {}
    for line in (folder / "modules.dep").read_text().splitlines():
        file, _, others = line.partition(":")
        needs[file] = others.split()
    by_name = {Path(file).name.partition(".")[0]: file for file in needs}
    found: list[str] = []
    for name in _FIRST_MODULES:
        if name not in by_name:
            raise RunError(f"the kernel {kernel.release} has no module {name}")
        # The list names what is needed from the nearest to the farthest.
        found += [file for file in [*reversed(needs[by_name[name]]), by_name[name]] if file not in found]
    return [folder / file for file in found]


def archive(entries: Sequence[tuple[str, int, bytes]]) -> bytes:
    """A cpio archive in the format "newc", of names, modes and contents (the target of a link)."""
    parts = []
    for number, (name, mode, content) in enumerate([*entries, ("TRAILER!!!", 0, b"")], start=1):
        # inode, mode, uid, gid, links, mtime, size, device and rdev as two numbers each, name's length, check
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
        head = b"070701" + "".join(f"{field:08X}" for field in fields).encode() + name.encode() + b"\0"
        parts.append(head + bytes(-len(head) % 4) + content + bytes(-len(content) % 4))
    return b"".join(parts)
