"""Which Steelyard this is: its version, and the commit of its code."""

import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import TypedDict

VERSION = version("steelyard")


class Commit(TypedDict, total=False):
    """Of a checkout, or of the checkout that a wheel was built from; empty if neither is known."""

    package_git_commit: str
    package_git_dirty: bool


def commit(package: Path) -> Commit:
    """The commit of the code in a folder, and whether files were changed since."""
    try:
        # a virtual environment may lie in another project's work tree
        _git(package, "ls-files", "--error-unmatch", "__init__.py")
        return {
            "package_git_commit": _git(package, "rev-parse", "HEAD"),
            "package_git_dirty": bool(_git(package, "status", "--porcelain")),
        }
    except (OSError, subprocess.SubprocessError):
        pass
    try:
        # as `make wheel` writes it
        built = (package / "commit.txt").read_text().strip()
    except OSError:
        return {}
    return {"package_git_commit": built[:40], "package_git_dirty": len(built) > 40}


def _git(package: Path, *command: str) -> str:
    asked = ("git", "-C", package, *command)
    return subprocess.run(asked, capture_output=True, text=True, timeout=5, check=True).stdout.strip()
