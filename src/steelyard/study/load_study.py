"""Reads a study file, or the hosts of a fleet; every error names file, line, key and expected value."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from steelyard.errors import InputError, nearest
from steelyard.study.files import BUILT_IN, StudyFiles, line_of_setting, with_files
from steelyard.study.fleet import Fleet
from steelyard.study.key_types import Strict
from steelyard.study.passwords import password_written
from steelyard.study.plan import options
from steelyard.study.script_study import instead_of_script, is_script
from steelyard.study.source import line_of, text_of, toml_of
from steelyard.study.study import Option, Study
from steelyard.study.validation_errors import validated


def find_study(name: str) -> tuple[Study, str]:
    """A built-in study by its name, or one in a file by its path; and its text. Raises InputError."""
    path = catalogue().get(name) or Path(name)
    try:
        text = text_of(path)
    except FileNotFoundError:
        raise InputError(
            f"{path}: no such file, and no built-in study of that name" + nearest(name, catalogue()),
            "steelyard studies",
        ) from None
    if path.suffix == ".sql" or is_script(text):
        raise InputError(f"{path}: a script of SQL, not a study", instead_of_script(text, path.name))
    return parse_study(text, str(path)), text


def catalogue() -> dict[str, Path]:
    """Files of the built-in studies, by name."""
    return {file.stem: file for file in sorted(BUILT_IN.glob("*.toml"))}


def parse_study(text: str, origin: str) -> Study:
    """The study in a TOML text; origin: its name in error messages. Raises InputError."""
    return plan_study(text, origin)[0]


def plan_study(text: str, origin: str, files: StudyFiles | None = None) -> tuple[Study, list[Option]]:
    """The study in a TOML text and its options, resolved. Raises InputError.

    files: the files that it names; default: in the folder of origin.
    """
    raw = toml_of(text, origin)
    dsn = raw.get("subject", {}).get("dsn", "") if isinstance(raw.get("subject"), dict) else ""
    if isinstance(dsn, str) and password_written(dsn):
        line = line_of(text, ("subject", "dsn"))
        raise InputError(
            f"{origin}:{line}: subject.dsn: a password in the study would be copied into every bundle",
            "write ${NAME} in its place and set NAME in the environment",
        )
    with located(text, origin):
        whole = with_files(raw, files or StudyFiles.beside(origin))
    study = validated(Study, whole, text, origin, "steelyard schema prints every key with its meaning")
    with located(text, origin):
        return study, options(study)


@contextmanager
def located(text: str, origin: str) -> Generator[None]:
    """Adds file and line to an InputError that names a key of the study."""
    try:
        yield
    except InputError as error:
        raise error.changed(lambda one: _placed(one, text, origin)) from None


def _placed(error: InputError, text: str, origin: str) -> InputError:
    if not error.at:
        return error
    if line := line_of_setting(toml_of(text, origin), error.at, StudyFiles.beside(origin)):
        return InputError(f"{line}: {error}", error.hint)
    # options of the command line write the text anew
    text = text_of(file) if (file := Path(origin)).is_file() else text
    # a study that the command line made has no lines to look up
    number = "" if origin.startswith("--") else f":{line_of(text, error.at) or 1}"
    # a message about a setting of a level names it
    key = ".".join(map(str, error.at[: 4 if error.at[0] == "factors" else None]))
    return InputError(f"{origin}{number}: {key}: {error}", error.hint)


def json_schema() -> str:
    """The JSON Schema of study files."""
    return json.dumps(Study.model_json_schema(), indent=2)


class _File(Strict):
    fleet: Fleet


def fleet_of(path: Path) -> Fleet:
    """The fleet in a file, its folder as an absolute path. Raises InputError with file and line."""
    try:
        text = text_of(path)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file", "write [fleet.hosts.NAME] with address and roles") from None
    raw = toml_of(text, str(path))
    if "fleet" not in raw:
        raise InputError(f"{path}: has no [fleet]", "[fleet.hosts.NAME] with address and roles, per host")
    fleet = validated(_File, {"fleet": raw["fleet"]}, text, str(path)).fleet
    folder = path.parent.absolute() / Path(fleet.folder).expanduser()
    return fleet.model_copy(update={"folder": str(folder)})
