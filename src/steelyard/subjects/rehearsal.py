"""The rehearsal's way to a subject: it is started with the settings that it takes, and names all others."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from steelyard.errors import InputError, nearest
from steelyard.study.factors import place_of_setting
from steelyard.study.key_types import Setting, Settings
from steelyard.study.setting_names import folded, names_of
from steelyard.study.study import Option, Scope, Study
from steelyard.subjects import Load, SubjectFailed

# of a server that ends at a name that it does not have
_Refused = dict[tuple[Scope, str], str]  # why, by scope and name of a setting
_UNKNOWN = re.compile("unrecognized|unknown|ambiguous|bad directive|it has nothing|no setting", re.IGNORECASE)


class SettingsRefused(SubjectFailed):
    """The subject does not have settings as requested. sentences: why, by name; scope: theirs."""

    def __init__(self, scope: Scope, sentences: Mapping[str, str]) -> None:
        super().__init__("; ".join(sentences.values()))
        self.scope: Scope = scope
        self.sentences = sentences


def accepted(
    start: Callable[[Option], Load], study: Study, option: Option
) -> tuple[Load | None, list[InputError]]:
    """The load of an option without the settings that its subject refuses; an error for each of these.

    None: it does not start. A server ends at the first setting that it refuses: it is started until it stays.
    """
    refused: _Refused = {}
    errors: list[InputError] = []
    load = None
    wanted = option
    while load is None:
        try:
            load = start(wanted)
        except SubjectFailed as failure:
            if not (found := _blamed(failure, wanted)):
                errors.append(InputError(str(failure), at=("subject",)))
                break
            refused |= found
            server, session = (
                {name: value for name, value in given.items() if (scope, name) not in refused}
                for scope, given in (("server", wanted.server), ("session", wanted.session))
            )
            wanted = replace(wanted, server=server, session=session)
        except InputError as error:
            errors.append(error)
            break
    known = {folded(name) for name in load.facts.get("settings", {})} if load else set[str]()
    removed = names_of(study.subject.kind).removed
    for (scope, name), words in refused.items():
        instead = ""
        if scope == "server" and _UNKNOWN.search(words):
            if instead := removed.get(folded(name), ""):
                words = f"this server has no setting {name}"
            elif known and folded(name) not in known and "." not in name:
                words = f"this server has no setting {name}{nearest(folded(name), known)}"
        hint = "leave it out" + (instead and f": {instead}")
        if "has no setting" not in words:
            hint = "give a value that this server takes, or leave it out"
        at = place_of_setting(study, option.levels, scope, name)
        errors.append(InputError(f"option {option.label}: {words}", hint, at))
    return load, errors


def refuse_others(
    program: str, shown: Mapping[str, str], requested: Settings, is_same: Callable[[str, Setting, str], bool]
) -> None:
    """Raises SettingsRefused for settings that a program does not show as requested."""
    refused: dict[str, str] = {}
    for name, value in requested.items():
        has = shown.get(folded(name), shown.get(name.lower()))
        if has is None:
            refused[name] = f"{program} has no setting {name}{nearest(folded(name), shown)}"
        elif not is_same(name, value, has):
            refused[name] = f"{program} did not take {name} = {value}: it has {has}"
    if refused:
        raise SettingsRefused("server", refused)


def _blamed(failure: SubjectFailed, option: Option) -> _Refused:
    """The settings of an option that a failure is about, with its words; {}: it names none."""
    words = str(failure).removeprefix(f"option {option.label}: ")
    if isinstance(failure, SettingsRefused):
        given = option.server if failure.scope == "server" else option.session
        return {(failure.scope, name): text for name, text in failure.sentences.items() if name in given}
    quoted = set(re.findall(r"""["']([^"']+)["']""", words))
    named = [
        name
        for name, value in option.server.items()
        if _names(words, name) or not quoted.isdisjoint(re.split(r"[\s,]+", str(value)))
    ]
    # a hint may name others as well
    return {("server", name): words for name in named[:1]}


def _names(text: str, setting: str) -> bool:
    pattern = folded(setting.rpartition(".")[2]).replace("_", "[-_]")
    return re.search(rf"(?<!\w)(?<!\w-){pattern}(?![\w-])", text, re.IGNORECASE) is not None
