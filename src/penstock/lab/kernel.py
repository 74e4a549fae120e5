# SPDX-License-Identifier: Apache-2.0
"""The real-time kernel of Debian, unpacked into the cache: never installed, so that the machine boots as before."""

from __future__ import annotations

import lzma
import re
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import RunError
from penstock.hardware.tools import cache_folder, locked

META_PACKAGE = "linux-image-rt-amd64"
Tell = Callable[[str], None]

# What the laboratory can need of some 400 MB of modules.
_WANTED = (
    "./boot/vmlinuz-*",
    "./boot/config-*",
    "./lib/modules/*/modules.*",
    "./lib/modules/*/kernel/arch",
    "./lib/modules/*/kernel/crypto",
    "./lib/modules/*/kernel/lib",
    "./lib/modules/*/kernel/net",
    "./lib/modules/*/kernel/fs/9p",
    "./lib/modules/*/kernel/fs/fscache",
    "./lib/modules/*/kernel/fs/netfs",
    "./lib/modules/*/kernel/fs/overlayfs",
    "./lib/modules/*/kernel/drivers/char/virtio_console.ko",
    "./lib/modules/*/kernel/drivers/net/*.ko",
    "./lib/modules/*/kernel/drivers/ptp",
    "./lib/modules/*/kernel/drivers/virtio",
)


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel."""

    release: str  # as `uname -r` says it
    version: str  # of the package
    folder: Path

    @property
    def vmlinux(self) -> Path:
        """The kernel without its compression, which costs seconds under emulation."""
        return self.folder / "vmlinux"

    @property
    def modules(self) -> Path:
        """The folder that holds one named by the release."""
        return self.folder / "lib" / "modules"


def kernels_folder() -> Path:
    """Where kernels are kept."""
    return cache_folder() / "lab" / "kernels"


def cached() -> Kernel | None:
    """The newest kernel that is there, by the time of its unpacking."""
    folders = sorted(kernels_folder().glob("*/complete"), key=lambda file: file.stat().st_mtime)
    if not folders:
        return None
    release, version = folders[-1].read_text().split()
    return Kernel(release, version, folders[-1].parent)


def fetch(tell: Tell) -> Kernel:
    """The newest kernel that the package lists name; downloaded by apt, which checks its signature, and unpacked.

    Raises:
        RunError: There is no apt, its lists do not know the package, or the download failed.

    """
    name, version = candidate()
    folder = kernels_folder() / f"{name}_{version}"
    with locked(kernels_folder() / "lock"):
        if (folder / "complete").exists():
            (folder / "complete").touch()
        else:
            tell(f"downloading {name} {version} (about 70 MB) by apt")
            _unpack(name, version, folder, tell)
    kernel = cached()
    assert kernel is not None
    return kernel


def candidate() -> tuple[str, str]:
    """Name and version of the kernel package that apt would install.

    Raises:
        RunError: apt is not there, or does not know the package.

    """
    if shutil.which("apt-get") is None:
        raise RunError(f"apt-get is not there, which the laboratory gets its kernel ({META_PACKAGE}) by")
    depends = _output("apt-cache", "depends", "--important", META_PACKAGE)
    found = re.search(r"Depends: (linux-image-\S+-rt-amd64)", depends)
    if found is None:
        raise RunError(f"apt does not know {META_PACKAGE}; run: sudo apt-get update")
    policy = re.search(r"Candidate: (\S+)", _output("apt-cache", "policy", found[1]))
    if policy is None or policy[1] == "(none)":
        raise RunError(f"apt has no candidate for {found[1]}; run: sudo apt-get update")
    return found[1], policy[1]


def _unpack(name: str, version: str, folder: Path, tell: Tell) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-") as place:
        new = Path(place) / "kernel"
        new.mkdir()
        _do("apt-get", "download", f"{name}={version}", cwd=place)
        package = next(Path(place).glob("*.deb"))
        tell("unpacking the kernel")
        _take_out(package, new)
        image = next((new / "boot").glob("vmlinuz-*"))
        release = image.name.removeprefix("vmlinuz-")
        (new / "vmlinux").write_bytes(decompressed(image.read_bytes()))
        image.unlink()
        _do("depmod", "-b", str(new), release)
        (new / "complete").write_text(f"{release} {version}\n")
        if folder.exists():
            shutil.rmtree(folder)
        new.rename(folder)


def _take_out(package: Path, new: Path) -> None:
    archive = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE)
    command = ["tar", "-x", "-C", str(new), "--no-same-owner", "--wildcards", *_WANTED]
    status = subprocess.run(command, stdin=archive.stdout, stderr=subprocess.DEVNULL, check=False).returncode
    if archive.stdout is not None:
        archive.stdout.close()
    archive.wait()
    # tar says 2 where a pattern met nothing, as of a folder that a later kernel has no more.
    if status not in (0, 2) or not any((new / "boot").glob("vmlinuz-*")):
        raise RunError(f"{package.name} could not be unpacked by dpkg-deb and tar")


def decompressed(image: bytes) -> bytes:
    """The ELF file inside a bzImage, compressed by xz, gzip or zstd.

    Raises:
        RunError: None of them is found in it.

    """
    for magic, decompress in ((b"\xfd7zXZ\x00", _xz), (b"\x1f\x8b\x08", _gzip), (b"\x28\xb5\x2f\xfd", _zstd)):
        at = image.find(magic)
        while at >= 0:
            found = decompress(image[at:])
            if found.startswith(b"\x7fELF"):
                return found
            at = image.find(magic, at + 1)
    raise RunError("the kernel's image holds nothing that can be decompressed")


def _xz(data: bytes) -> bytes:
    try:
        return lzma.LZMADecompressor().decompress(data)
    except lzma.LZMAError:
        return b""


def _gzip(data: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(data)
    except zlib.error:
        return b""


def _zstd(data: bytes) -> bytes:
    if shutil.which("zstd") is None:
        raise RunError("the kernel is compressed by zstd; run: sudo apt-get install zstd")
    # What follows the compressed kernel in the image is an error to zstd, after it has written all of it.
    return subprocess.run(["zstd", "-dcq"], input=data, capture_output=True, check=False).stdout


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def _do(*command: str, cwd: str | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError(f"{' '.join(command)} failed: {done.stderr.strip() or done.stdout.strip()}")
