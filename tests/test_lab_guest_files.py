# SPDX-License-Identifier: Apache-2.0
"""What a guest is made of, and how it is asked to run: without starting one."""

from __future__ import annotations

import fcntl
import lzma
import os
import tempfile
import time
import zlib
from pathlib import Path

import pytest

from penstock.errors import RunError
from penstock.lab import emulation, own_folder
from penstock.lab.emulation import Emulation
from penstock.lab.image import archive, first_modules
from penstock.lab.kernel import Kernel, decompressed
from penstock.lab.own_folder import OwnFolder

ELF = b"\x7fELF" + bytes(range(256)) * 8


@pytest.mark.parametrize("packed", [lzma.compress(ELF), zlib.compress(ELF, wbits=31)], ids=["xz", "gzip"])
def test_a_kernel_is_found_in_its_image(packed: bytes) -> None:
    # A magic number that begins nothing stands before it, and other bytes behind it.
    image = b"MZ" + b"\xfd7zXZ\x00" + b"\x1f\x8b\x08" + bytes(600) + packed + bytes(100)
    assert decompressed(image) == ELF


def test_an_image_without_a_kernel_is_refused() -> None:
    with pytest.raises(RunError, match="nothing that can be decompressed"):
        decompressed(b"MZ" + bytes(1000))


def test_first_modules_come_after_what_they_need(tmp_path: Path) -> None:
    folder = tmp_path / "1.0-rt"
    folder.mkdir()
    (folder / "modules.dep").write_text(
        "kernel/virtio.ko:\n"
        "kernel/virtio_pci.ko: kernel/pci_modern.ko kernel/virtio.ko\n"
        "kernel/pci_modern.ko: kernel/virtio.ko\n"
        "kernel/9pnet.ko:\n"
        "kernel/9pnet_virtio.ko: kernel/9pnet.ko kernel/virtio.ko\n"
        "kernel/9p.ko: kernel/9pnet.ko\n"
        "kernel/overlay.ko:\n"
        "kernel/virtio_console.ko: kernel/virtio.ko\n"
    )
    names = [file.name for file in first_modules(_kernel(tmp_path))]
    assert names == [
        *("virtio.ko", "pci_modern.ko", "virtio_pci.ko", "9pnet.ko", "9pnet_virtio.ko", "9p.ko", "overlay.ko"),
        "virtio_console.ko",
    ]


def test_a_kernel_without_a_needed_module_is_refused(tmp_path: Path) -> None:
    (tmp_path / "1.0-rt").mkdir()
    (tmp_path / "1.0-rt" / "modules.dep").write_text("kernel/virtio_pci.ko:\n")
    with pytest.raises(RunError, match="no module 9pnet_virtio"):
        first_modules(_kernel(tmp_path))


def _kernel(modules: Path) -> Kernel:
    class Unpacked(Kernel):
        @property
        def modules(self) -> Path:
            return modules

    return Unpacked("1.0-rt", "1.0-1", modules)


def test_the_archive_is_one_that_cpio_reads() -> None:
    content = archive([("bin", 0o040755, b""), ("bin/tool", 0o100755, b"abc"), ("bin/link", 0o120777, b"tool")])
    assert len(content) % 4 == 0
    assert content.startswith(b"070701")
    assert content[110:114] == b"bin\0"
    tool = content.index(b"070701", 6)
    assert int(content[tool + 14 : tool + 22], 16) == 0o100755
    assert int(content[tool + 54 : tool + 62], 16) == 3
    assert content.rindex(b"TRAILER!!!\0") > content.index(b"tool\0")


def test_emulations_are_told_apart() -> None:
    assert "accel" in Emulation("kvm").arguments(2)[0]
    assert "thread=multi" in " ".join(Emulation("tcg").arguments(2))
    words = Emulation("icount", 3).arguments(1)
    assert words[words.index("-icount") + 1] == "shift=3,sleep=off"
    assert str(Emulation("icount", 3)) == "TCG with icount, 8 ns per instruction"


def test_what_kvm_did_is_remembered_by_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    assert emulation.remembered("6.1-rt") is None
    emulation.remember("6.1-rt", False)
    emulation.remember("6.2-rt", True)
    assert (emulation.remembered("6.1-rt"), emulation.remembered("6.2-rt")) == (False, True)


def test_folders_of_killed_programs_are_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    dead, held, young = (tmp_path / f"penstock-lab-{name}" for name in ("dead", "held", "young"))
    for folder in (dead, held, young):
        (folder / "share").mkdir(parents=True)
    long_ago = time.time() - 3600
    for folder in (dead, held):
        os.utime(folder, (long_ago, long_ago))
    lock = os.open(held, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    mine = OwnFolder()
    try:
        assert not dead.exists()
        assert held.exists()
        assert young.exists()
        os.utime(mine.path, (long_ago, long_ago))
        own_folder.remove_left_over()
        assert mine.path.exists()
    finally:
        os.close(lock)
        mine.remove()
    assert not mine.path.exists()
