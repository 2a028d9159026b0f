"""The file system of a guest: a server with its data loaded, the load engine, and the Python that runs it.

Built once per study from the files of this machine, so that every kernel gets the same image.
"""

import compileall
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import steelyard
from steelyard.host.guests.kernels import SCRATCH
from steelyard.host.guests.qemu import program
from steelyard.subjects import SubjectFailed

DATA = "/data"
_PACKAGES = "/packages"
# parts of the standard library that no load needs
_LEFT_OUT = shutil.ignore_patterns(
    "test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "config-*",
    "site-packages", "dist-packages", "_tkinter*", "*.a", "*.exe", "llvmjit*", "bitcode",
)  # fmt: skip
_LIBRARY = re.compile(r"(/\S+) \(0x")
_SPARE = 1.15
_BLOCK_BYTES = 4096

_GUEST = """#!{python} -s
import sys
sys.path.insert(0, "{packages}")
from steelyard.lab.within_guest import main
main()
"""


def build_image(image: Path, bindir: Path, data: Path) -> None:
    """Writes an image with the server of bindir and the cluster in data. Raises SubjectFailed.

    Every program has the same path as here, so that it finds its files; the data are in DATA.
    """
    root = image.with_suffix(".root")
    for name in ("dev", "proc", "sys", "etc", SCRATCH):
        (root / name.lstrip("/")).mkdir(parents=True)
    (root / "etc/passwd").write_text("root::0:0::/:\npostgres::1000:1000::/:\n")
    python = Path(sys.executable).resolve()
    library = Path(sysconfig.get_path("stdlib"))
    _copy(python, root)
    _copy(library, root)
    if bindir.is_relative_to("/usr/lib/postgresql"):
        installation = [bindir.parent, Path("/usr/share/postgresql") / bindir.parent.name]
    else:
        # a wheel's libraries are beside its package
        wheel = bindir.parent.parent
        beside = wheel.with_name(f"{wheel.name}.libs")
        installation = [bindir.parent, *([beside] if beside.is_dir() else [])]
    for place in installation:
        _copy(place, root)
    package = Path(steelyard.__file__).parent
    inside = root / _PACKAGES.lstrip("/") / "steelyard"
    shutil.copytree(package, inside, ignore=shutil.ignore_patterns("catalog", "__pycache__"))
    compileall.compile_dir(inside, quiet=2, stripdir=str(root))
    programs = [python, bindir / "postgres", *inside.glob("_core*.so")]
    loaded = [path for place in (library / "lib-dynload", *installation) for path in place.rglob("*.so")]
    shown = subprocess.run(["ldd", *programs, *loaded], capture_output=True, text=True, check=False).stdout
    if missing := re.findall(r"(\S+) => not found", shown):
        raise SubjectFailed(f"a guest needs libraries that are not found: {', '.join(sorted(set(missing)))}")
    # the dynamic linker is among them
    for needed in set(_LIBRARY.findall(shown)):
        _copy(Path(needed), root)
    shutil.copytree(data, root / DATA.lstrip("/"), symlinks=True)
    guest = root / "guest"
    guest.write_text(_GUEST.format(python=python, packages=_PACKAGES))
    guest.chmod(0o755)
    _pack(root, image)
    shutil.rmtree(root)


def _copy(place: Path, root: Path) -> None:
    target = root / place.relative_to("/")
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir():
        shutil.copytree(place, target, ignore=_LEFT_OUT, symlinks=True, ignore_dangling_symlinks=True)
    else:
        shutil.copy2(place, target)


def _pack(root: Path, image: Path) -> None:
    sizes = [path.lstat().st_size for path in root.rglob("*")]
    blocks = sum(-(-size // _BLOCK_BYTES) + 1 for size in sizes)
    made = subprocess.run(
        [
            program("mke2fs"), "-q", "-F", "-t", "ext4", "-O", "^has_journal", "-b", str(_BLOCK_BYTES),
            "-N", str(len(sizes) + 1024), "-d", str(root), str(image), str(int(blocks * _SPARE) + 4096),
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MKE2FS_CONFIG": "/dev/null"},
    )  # fmt: skip
    if made.returncode:
        raise SubjectFailed(f"mke2fs: {made.stderr.strip()}")
