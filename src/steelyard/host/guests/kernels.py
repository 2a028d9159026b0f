"""Kernels for guests: unpacked from a distribution's packages into a cache, never installed."""

import gzip
import lzma
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from steelyard.errors import InputError
from steelyard.user_cache import cache_folder

_VERSION = re.compile(r"\d+\.\d+(\.\d+)?")
_DEPENDS = re.compile(rb"(?:^|\0)depends=([^\0]*)\0")
_APT_S = 600
_HINT = 'name the file: kernel = "/boot/vmlinuz-..." (its modules must be in ../lib/modules or /lib/modules)'


@dataclass(frozen=True)
class Kernel:
    """release: as `uname -r` prints it; image: file to boot; modules: folder of its modules."""

    release: str
    image: Path
    modules: Path


def check_kernel(named: str) -> None:
    """Raises InputError when no kernel has that name. Downloads nothing."""
    if named.startswith("/"):
        _at(Path(named))
    else:
        package_of(named)


def find_kernel(named: str) -> Kernel:
    """The kernel that a study names: a version (its newest cloud package), a package, or a path.

    A package is downloaded once. Raises InputError.
    """
    return _at(Path(named)) if named.startswith("/") else _unpacked(package_of(named))


@cache
def package_of(named: str) -> str:
    """`6.12` -> `linux-image-6.12.117+deb12-cloud-amd64`. Raises InputError."""
    if not shutil.which("apt-cache"):
        raise InputError(f"kernel {named}: kernel packages need Debian's apt-get", _HINT)
    versioned = _VERSION.fullmatch(named)
    prefix = f"linux-image-{named}" if versioned else named
    known = subprocess.run(
        ["apt-cache", "pkgnames", prefix], capture_output=True, text=True, check=False, timeout=_APT_S
    ).stdout.split()
    if not versioned:
        if named in known:
            return named
        raise InputError(f'no kernel package "{named}"', f"apt-get update, or {_HINT}")
    # 6.1 must not match 6.12; -dbg and -unsigned contain no kernel that boots
    bootable = re.compile(rf"linux-image-{re.escape(named)}[.+-]\S*-cloud-amd64")
    found = [name for name in known if bootable.fullmatch(name)]
    if not found:
        raise InputError(
            f"no package linux-image-{named}*-cloud-amd64",
            f"apt-get update (a later kernel is in the release's backports), or {_HINT}",
        )
    return max(found, key=lambda name: [int(number) for number in re.findall(r"\d+", name)])


def modules_of(kernel: Kernel, requested: Sequence[str]) -> list[tuple[str, bytes]]:
    """The requested modules as (name, content), each after its dependencies, without built-in ones.

    Raises InputError for a module that the kernel does not have.
    """
    files = {_plain(path.name.partition(".ko")[0]): path for path in kernel.modules.rglob("*.ko*")}
    try:
        listed = (kernel.modules / "modules.builtin").read_text().split()
    except OSError:
        raise InputError(f"{kernel.modules}: no modules of {kernel.release} in this folder") from None
    built_in = {_plain(Path(line).name.removesuffix(".ko")) for line in listed}
    found: dict[str, bytes] = {}

    def add(name: str) -> None:
        name = _plain(name)
        if name in found or name in built_in:
            return
        if name not in files:
            raise InputError(f"the kernel {kernel.release} has no module {name}: guests need it")
        module = _content(files[name])
        depends = _DEPENDS.search(module)
        for other in filter(None, depends[1].decode().split(",") if depends else ()):
            add(other)
        found[name] = module

    for name in requested:
        add(name)
    return list(found.items())


def _plain(name: str) -> str:
    return name.replace("-", "_")


def _content(path: Path) -> bytes:
    text = path.read_bytes()
    match path.suffix:
        case ".ko":
            return text
        case ".xz":
            return lzma.decompress(text)
        case ".gz":
            return gzip.decompress(text)
        case other:
            raise InputError(f"{path}: compression {other} is not supported, only .ko, .xz and .gz")


def _at(image: Path) -> Kernel:
    release = image.name.partition("-")[2]
    if not image.is_file() or not release:
        raise InputError(f"{image}: not a kernel", 'use a file vmlinuz-RELEASE, a package, or "6.12"')
    for root in (image.absolute().parent.parent, Path("/")):
        modules = root / "lib/modules" / release
        if modules.is_dir():
            return Kernel(release, image.absolute(), modules)
    raise InputError(
        f"{image}: no folder lib/modules/{release} beside its folder or in /", "unpack the whole package"
    )


def _unpacked(package: str) -> Kernel:
    try:
        place = cache_folder("kernels") / package
    except (OSError, RuntimeError) as error:
        raise InputError(f"kernels cannot be kept: {error}", _HINT) from None
    if not place.exists():
        with TemporaryDirectory(dir=place.parent) as folder:
            draft = Path(folder) / "draft"
            draft.mkdir()
            _do(["apt-get", "download", package], draft)
            archive = next(draft.glob("*.deb"))
            _do(["dpkg-deb", "-x", archive.name, "."], draft)
            archive.unlink()
            draft.rename(place)
    images = sorted((place / "boot").glob("vmlinuz-*"))
    if not images:
        raise InputError(f"{package}: contains no kernel", "name a package linux-image-VERSION-cloud-amd64")
    return _at(images[-1])


def _do(command: Sequence[str], folder: Path) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, timeout=_APT_S
        )
    except subprocess.TimeoutExpired:
        raise InputError(f"{' '.join(command)}: not finished after {_APT_S} s", _HINT) from None
    if done.returncode:
        output = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise InputError(
            f"{' '.join(command)}: {output[-1] if output else f'exit code {done.returncode}'}", _HINT
        )


# disks on PCI, and the format of the image
_MODULES = ("virtio_pci", "virtio_blk", "ext4")
FACT = "STEELYARD"
PROBE = "steelyard.probe"
SCRATCH = "/scratch"  # the only writable folder of a guest, in memory

# the guest reports its facts first: the image may fail to start
_INIT = f"""#!/bin/busybox sh
export PATH=/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tracefs trace /sys/kernel/tracing
mkdir /dev/shm && mount -t tmpfs -o mode=1777 shm /dev/shm
for module in /modules/*; do insmod $module; done
echo "{FACT} release $(uname -r)"
echo "{FACT} build $(uname -v)"
echo "{FACT} command_line $(cat /proc/cmdline)"
echo "{FACT} clock_source $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)"
echo "{FACT} transparent_huge_pages $(cat /sys/kernel/mm/transparent_hugepage/enabled)"
mount -t debugfs debug /sys/kernel/debug && \
  echo "{FACT} preemption $(cat /sys/kernel/debug/sched/preempt)"
if ! grep -q {PROBE} /proc/cmdline; then
  mount -t ext4 -o ro /dev/vda /root || echo "{FACT} failed the image could not be mounted"
  mount -t tmpfs -o mode=1777 scratch /root{SCRATCH}
  for part in proc sys dev; do mount --move /$part /root/$part; done
  chroot /root /guest
fi
poweroff -f
"""


def initramfs(kernel: Kernel, busybox: Path) -> bytes:
    """An archive that the kernel unpacks and starts. Raises InputError for a missing module."""
    folders = ("bin", "dev", "proc", "sys", "root", "modules")
    modules = modules_of(kernel, _MODULES)
    entries = [
        *((name, stat.S_IFDIR | 0o755, b"") for name in folders),
        ("bin/busybox", stat.S_IFREG | 0o755, busybox.read_bytes()),
        ("init", stat.S_IFREG | 0o755, _INIT.encode()),
        *(
            (f"modules/{place:02}-{name}.ko", stat.S_IFREG | 0o644, content)
            for place, (name, content) in enumerate(modules)
        ),
        ("TRAILER!!!", 0, b""),
    ]
    return b"".join(part for number, entry in enumerate(entries, start=1) for part in _packed(number, *entry))


def _packed(number: int, name: str, mode: int, content: bytes) -> Iterator[bytes]:
    # inode, mode, uid, gid, links, mtime, size, device and special device (major, minor), name, checksum
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    for part in (head, content):
        yield part + b"\0" * (-len(part) % 4)
