"""Data directories as a server's program creates them, kept in the user's cache and copied by later studies.

A template belongs to one build, its options and one boot of the machine: `initdb` also looks at shared
memory and the time zone. A copy counts only if names, modes, sizes and dates are as they were noted when the
template was made; to read all bytes would cost half of what a copy saves.

Each combination of levels of factors of scope schema has its own copy of the loaded data, so nothing of one
reaches another. A level without SQL gets a copy and fresh statistics like every other.
"""

import os
import re
import shutil
import stat
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from steelyard.errors import InputError, brief
from steelyard.host.processes.signals import end_with
from steelyard.study.study import Option, Study
from steelyard.subjects import SubjectFailed
from steelyard.subjects.servers.daemon import Daemon
from steelyard.subjects.servers.identity import Account
from steelyard.user_cache import cache_folder, closed
from steelyard.workloads import Work

# 40 to 120 MB each
_KEPT_MAX = 8


def make_data(
    daemon: Daemon,
    server: Path,
    program: Path,
    options: Sequence[str],
    places: Sequence[str],
    data: Path,
    folders: Sequence[Path] = (),
) -> None:
    """Creates the data directory `data` of a server: from its template, or by the program.

    options: arguments of the program; places: those that name folders of this study. It writes into data and
    `folders` alone. A template that is missing, damaged or open to others is made anew. Raises SubjectFailed.
    """
    # without a cache, or with one that others write to, nothing is kept
    with suppress(OSError, RuntimeError, ValueError):
        template = _template(daemon, server, program, options)
        noted = (template / "contents").read_text()
        copy_files(closed(template) / "data", data)
        # another study may have replaced the template meanwhile
        if noted == (template / "contents").read_text() and noted.endswith(f"\n{_contents(data)}"):
            return
    shutil.rmtree(data, ignore_errors=True)
    daemon.account.private(data)
    made = daemon.finish([program, *options, *places], data, folders=folders)
    if made.returncode:
        raise SubjectFailed(f"{program.name} failed: {(made.stderr.strip() or made.stdout.strip())[-500:]}")
    with suppress(OSError, RuntimeError, ValueError):
        _keep(data, _template(daemon, server, program, options))


def identity_of(program: Path) -> str:
    """Identifies a build, also among builds of one version: eight digits from path, size and date."""
    program = program.resolve()
    found = program.stat()
    return sha256(f"{program} {found.st_size} {found.st_mtime_ns}".encode()).hexdigest()[:8]


def _template(daemon: Daemon, server: Path, program: Path, options: Sequence[str]) -> Path:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text()
    build = f"{identity_of(server)} {identity_of(program)} {options} {daemon.account.user}"
    zone = Path("/etc/localtime")
    at = f"{os.environ.get('TZ')} {zone.resolve()} {zone.exists() and zone.stat().st_mtime_ns}"
    key = f"{build} {boot} {at}"
    return cache_folder("templates") / f"{program.name}-{sha256(key.encode()).hexdigest()[:16]}"


def _contents(data: Path) -> str:
    """A line for each file and folder: its name, owner, mode, date and, of a file, its size."""
    # sizes of folders depend on the file system, as do fractions of a second
    return "\n".join(
        f"{place.relative_to(data)} {found.st_uid} {found.st_mode:o} {int(found.st_mtime)}"
        f" {found.st_size if stat.S_ISREG(found.st_mode) else 0}"
        for place in (data, *sorted(data.rglob("*")))
        for found in [place.lstat()]
    )


def _keep(data: Path, template: Path) -> None:
    # the draft is renamed before its clean-up, which ignores a missing folder
    with TemporaryDirectory(dir=template.parent) as draft:
        copy_files(data, kept := Path(draft) / "data")
        (kept.parent / "contents").write_text(f"{uuid4()}\n{_contents(kept)}")
        # another study that copies the old one notices, and makes its own
        shutil.rmtree(template, ignore_errors=True)
        kept.parent.rename(template)
    for old in sorted(template.parent.iterdir(), key=os.path.getmtime)[:-_KEPT_MAX]:
        shutil.rmtree(old, ignore_errors=True)


def check_directory(work: Work, holds: str, why_in_use: Callable[[Path], str], dump: str) -> None:
    """Raises InputError for a directory without data, with a server on it, or with a link that leads out.

    A server on a copy would write to the original by a link. holds: a file that each has; why_in_use: is
    asked with it, '' where no server runs; dump: the program that dumps a database.
    """
    directory, at = work.directory, ("workload", "data_directory")
    if directory is None:
        return
    hint = f"dump the database with {dump}"
    try:
        why = why_in_use(directory / holds)
    except OSError as error:
        readable = f"the folder that holds {holds}, readable for you"
        raise InputError(f"{directory}: no data directory: {error.strerror}", readable, at) from None
    if why:
        raise InputError(f"{directory}: {why}", f"stop the server first, or {hint}", at)
    for place in directory.rglob("*"):
        if place.is_symlink():
            raise InputError(f"{place} is a link, which a copy would follow to the original", hint, at)


def copy_files(directory: Path, to: Path) -> None:
    """Copies a folder of data with its owners. Raises OSError, with the words of cp."""
    lab = os.getpid()
    done = subprocess.run(
        ["cp", "-a", "--reflink=auto", "--", directory, to],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: end_with(lab) or os._exit(1),
    )
    if done.returncode:
        raise OSError(f"{directory} could not be copied: {done.stderr.strip()[-500:]}")


def copied(directory: Path, to: Path, account: Account) -> None:
    """Copies it to a new folder, for the user of the servers alone. Raises SubjectFailed."""
    shutil.rmtree(to, ignore_errors=True)
    try:
        copy_files(directory, to)
    except OSError as error:
        raise SubjectFailed(str(error)) from None
    for place in (*to.rglob("*"), to):
        account.own(place)
    to.chmod(0o700)


def copied_from(made: Path, draft: Path, data: Path) -> bool:
    """Whether another server of the study, which rests, has made the same data: they are copied then."""
    shutil.rmtree(draft, ignore_errors=True)
    if not made.is_dir():
        return False
    copy_files(made, draft)
    draft.rename(data)
    return True


_WORDS_CHARACTERS_MAX = 600
_PART = rb"(?:\w+|\"[^\"\n]+\"|`[^`\n]+`)"
_CREATED = re.compile(
    rb"^\s*create\s+(?:unlogged\s+)?table\s+(?:if\s+not\s+exists\s+)?(" + _PART + rb"(?:\." + _PART + rb")*)",
    re.IGNORECASE | re.MULTILINE,
)
_COPY = re.compile(rb"\s*copy\s.*\sfrom\s+stdin\b", re.IGNORECASE)
_END_OF_ROWS = b"\\."


def script_error(work: Work, words: str, hint: str = "", line: int = 0) -> InputError:
    """schema_sql, or the file that holds it, cannot be run.

    words: the server's; line: of the script, from 1; 0: unknown.
    """
    words = brief(words.strip(), _WORDS_CHARACTERS_MAX)
    if work.script_file:
        place = f"{work.script_file}:{line}" if line else work.script_file
        return InputError(f"{place}: {words}", hint, ("workload", "schema_file"))
    where = f"line {line} of it: " if line else ""
    return InputError(f"the script cannot be run: {where}{words}", hint, ("workload", "schema_sql"))


def tables_created(work: Work) -> list[str]:
    """Names of the tables that the study's script and file of SQL create, as written there.

    Not those that they drop; what looks alike in a string or a comment of the script counts too.
    """
    found = _CREATED.findall(work.script.encode())
    if work.data is not None:
        copied = False
        with work.data.open("rb") as lines:
            for line in lines:
                if copied:
                    copied = line.rstrip() != _END_OF_ROWS
                elif created := _CREATED.match(line):
                    found.append(created[1])
                else:
                    copied = _COPY.match(line) is not None
    return [name.decode(errors="replace") for name in dict.fromkeys(found)]


def begins_with(file: Path, *heads: bytes) -> bool:
    """Whether a file of data begins with one of these bytes."""
    with file.open("rb") as content:
        return content.read(max(map(len, heads))).startswith(heads)


def data_error(file: Path, words: str, hint: str = "") -> InputError:
    """A file of data cannot be loaded; words: those of the program that loaded it."""
    text = f"{file} cannot be loaded: {brief(words.strip(), _WORDS_CHARACTERS_MAX)}"
    return InputError(text, hint, ("workload", "data_file"))


def with_levels(base: Path, option: Option, alter: Callable[[Path, Path], None]) -> Path:
    """The data as loaded, or their copy with the SQL of the option's levels, made once per study.

    base: as loaded; an option without factors of scope schema has them. alter: executes the SQL in the copy
    at its first path, and calls it by its second one.
    """
    if not option.schema:
        return base
    texts = "\0".join(option.schema.values())
    data = base.with_name(f"{base.name}-{sha256(texts.encode()).hexdigest()[:16]}")
    if not data.exists():
        draft = base.with_name("schema.draft")
        shutil.rmtree(draft, ignore_errors=True)
        copy_files(base, draft)
        alter(draft, data)
    return data


def apply_levels(study: Study, option: Option, execute: Callable[[str], tuple[str, int]]) -> float:
    """Executes the SQL of the option's levels in the order of the factors; seconds that it took (0: no SQL).

    execute: gives the server's words and the line within the SQL, from 1, where it fails; '' and 0
    otherwise; line 0: unknown. Raises InputError.
    """
    seconds = 0.0
    for name, sql in option.schema.items():
        if not sql.strip():
            continue
        begin_ns = time.monotonic_ns()
        words, line = execute(sql)
        if words:
            raise _error(study, option, name, words, line)
        seconds += (time.monotonic_ns() - begin_ns) / 1e9
    return seconds


def _error(study: Study, option: Option, name: str, words: str, line: int) -> InputError:
    code = option.levels[name]
    text = f"option {option.label}: the SQL of level {code} cannot run: "
    level = study.factors[name].levels[code]
    file = level.get("sql_file") if isinstance(level, dict) else None
    if file:
        text = f"{file}:{line}: {text}" if line else f"{file}: {text}"
    elif line > 1:
        text += f"line {line} of it: "
    return InputError(
        text + brief(words.strip(), _WORDS_CHARACTERS_MAX), at=("factors", name, "levels", code)
    )
