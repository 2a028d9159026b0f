"""Settings of a study that are the lab's, refused before anything starts; folders that options may write."""

import re
import subprocess
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from steelyard.errors import InputError
from steelyard.study.factors import located_at, settings_given
from steelyard.study.setting_names import folded, names_of
from steelyard.study.study import Option, Scope, Study
from steelyard.study.workloads.transactions import DrivenWorkload
from steelyard.workloads import work_of

_ANSWER_S = 30.0
_BEGINNING_BYTES = 1 << 20
_TABLESPACE = re.compile(r"\bcreate\s+tablespace\b[^;]*?\blocation\s+'([^']+)'", re.IGNORECASE)


def refuse_lab_settings(
    study: Study, scope: Scope, program: str, known: Callable[[str], bool] = lambda _: True, prefix: str = ""
) -> None:
    """Raises InputError at the first setting of a scope that the program's lists do not leave to the option.

    known: whether a name that is not listed is the option's, whatever its value; default: each. prefix: of
    the program's names in the study; other names are passed over.
    """
    names = names_of(program)
    for at, key, value in settings_given(study, scope):
        name = key.removeprefix(prefix)
        if key.startswith(prefix) and (reason := names.reason(name, value, known)):
            raise InputError(f"{key}: {reason}", names.hint(name), at)


def refuse_lab_properties(study: Study, options: Iterable[Option]) -> None:
    """Raises InputError at the first property of a JDBC driver that is the lab's.

    At an address those of the class runs alone: the study says where the server is, and who connects.
    """
    names = names_of("jdbc")
    own = study.subject.dsn is None and study.subject.kind != "jdbc"
    for option in options:
        properties = option.workload.driver_properties if isinstance(option.workload, DrivenWorkload) else {}
        for name, value in properties.items():
            reason = names.reason(name, value, lambda _: True)
            if reason and (own or names.classes.get(folded(name)) == "runs"):
                raise InputError(
                    f"{name}: {reason}", names.hint(name), ("workload", "driver_properties", name)
                )


def folders_of(study: Study, options: Iterable[Option]) -> list[str]:
    """Folders beside the data that a study lets its servers write: tmpdir, and tablespaces of its SQL."""
    found: list[str] = []
    for option in options:
        found += names_of(study.subject.kind).folders(option.server)
        texts = [*option.schema.values()]
        if (file := work_of(option.workload).data) is not None:
            with file.open("rb") as data:
                # dumps make tablespaces first
                texts.append(data.read(_BEGINNING_BYTES).decode(errors="replace"))
        for sql in texts:
            found += _TABLESPACE.findall(sql)
    places = [place for text in found for place in text.split(":")]
    # of others the server itself says that they do not exist
    return [place for place in dict.fromkeys(places) if Path(place).is_dir()]


def programs_of(study: Study, find: Callable[[str | None], Path]) -> list[Path]:
    """What `find` gives for each bindir. Raises its InputError at the place that names the bindir."""
    given = [(at, str(bindir)) for at, _, bindir in settings_given(study, "version")]
    found: list[Path] = []
    for at, bindir in given or [(("subject", "bindir"), study.subject.bindir)]:
        with located_at(at):
            found.append(find(bindir))
    return found


@cache
def version_said(program: Path, *arguments: str) -> str:
    """What a server's program says of its version. Raises InputError."""
    command = [program, *arguments, "--version"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=_ANSWER_S).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError(f"{program} cannot be run: {error}", "run it by hand with --version") from error
