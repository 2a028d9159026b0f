"""Parameters that commands share, and what the shell completes: names of studies, bundles, recordings."""

import os
from collections.abc import Callable, Iterable
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

_Items = list[CompletionItem]
_BUNDLE_FILE = "bundle.json"
_Command = TypeVar("_Command", bound=Callable[..., Any])
PATH = click.Path(path_type=Path)


def _starting(names: Iterable[str], incomplete: str) -> _Items:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _files(incomplete: str) -> _Items:
    """The shell completes names of files itself."""
    return [CompletionItem(incomplete, type="file")]


def studies(_context: click.Context, _option: click.Parameter, incomplete: str) -> _Items:
    """Built-in studies, then files; without reading one, since a shell waits for the answer."""
    folder = Path(str(resources.files("steelyard.catalog")))
    names = [file.stem for file in sorted(folder.glob("*.toml"))]
    return _starting(names, incomplete) + _files(incomplete)


def bundles(_context: click.Context, _option: click.Parameter, incomplete: str) -> _Items:
    """Bundles, and other folders, which may hold some, with a final slash."""
    typed, name = os.path.split(incomplete)
    found: _Items = []
    try:
        entries = sorted(os.scandir(typed or "."), key=lambda entry: entry.name)
    except OSError:
        return []
    for entry in entries:
        hidden = entry.name.startswith(".") and not name.startswith(".")
        if entry.name.startswith(name) and not hidden and entry.is_dir():
            path = os.path.join(typed, entry.name)  # noqa: PTH118  keeps `./`, which Path removes
            is_bundle = (Path(path) / _BUNDLE_FILE).is_file()
            found.append(CompletionItem(path if is_bundle else f"{path}/"))
    return found


def tables(_context: click.Context, _option: click.Parameter, incomplete: str) -> _Items:
    """Tables of a bundle."""
    from steelyard.run_tables.schema import BY_NAME

    return _starting(BY_NAME, incomplete)


def subjects(_context: click.Context, _option: click.Parameter, incomplete: str) -> _Items:
    """Kinds of subjects."""
    from steelyard.subjects import SUBJECTS

    return _starting(SUBJECTS, incomplete)


def recordings(_context: click.Context, _option: click.Parameter, incomplete: str) -> _Items:
    """Published recordings, then files."""
    from steelyard.recordings.published import catalogue

    return _starting(catalogue(), incomplete) + _files(incomplete)


def overlays(context: click.Context, option: click.Parameter, incomplete: str) -> _Items:
    """Published recordings and bundles."""
    from steelyard.recordings.published import catalogue

    return _starting(catalogue(), incomplete) + bundles(context, option, incomplete)


bundle_argument = click.argument("bundle", type=PATH, shell_complete=bundles)


def as_json(help_text: str) -> Callable[[_Command], _Command]:
    """The option --json."""
    return click.option("--json", "as_json", is_flag=True, help=help_text)
