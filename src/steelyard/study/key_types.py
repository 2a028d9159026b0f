"""What all parts of a study file share: strictness, and the types of settings, names and texts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, cast

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

Setting = str | int | float | bool


@dataclass(frozen=True)
class Form:
    """The form of a text, for Annotated. pattern: anchored regular expression; rule: the error message."""

    pattern: str
    rule: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {**handler(schema), "pattern": self.pattern}

    def _checked(self, text: str) -> str:
        if re.fullmatch(self.pattern, text) is None:
            raise ValueError(self.rule)
        return text


Code = Annotated[
    str,
    Form(
        r"^[A-Za-z0-9.+-]{1,24}$",
        "invalid code of a level: use letters, digits, '.', '+' and '-' (1 to 24 characters)",
    ),
]
StudyName = Annotated[
    str,
    Form(
        r"^[a-z0-9][a-z0-9-]{0,63}$",
        "invalid name: use lower-case letters, digits and hyphens (max. 64), not a hyphen first",
    ),
]
KeyName = Annotated[
    str,
    Form(
        r"^[a-z][a-z0-9_]{0,31}$",
        "invalid name: use lower-case letters, digits and underscores (max. 32), a letter first",
    ),
]
GroupName = Annotated[
    str,
    Form(
        r"^[a-z][a-z0-9_-]{0,23}$",
        "invalid name of a group: use lower-case letters, digits, underscores and hyphens (max. 24),"
        " a letter first",
    ),
]
Label = Annotated[
    str,
    Form(
        r"^[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]{0,23}$",
        "invalid label: use 1 to 24 printable characters, not a space first",
    ),
]
# as it stands, or in double quotes
_JSON_KEY = r'(?:"[^"]+"|[^."]+)'
JsonPath = Annotated[
    str,
    Form(
        rf"^{_JSON_KEY}(\.{_JSON_KEY})*$",
        'invalid path: use keys and indices joined by single dots, a key with a dot in quotes: "p99.9".0',
    ),
]
SqlText = Annotated[str, Form(r"^[^\x00]+$", "empty SQL: write a statement")]


class Strict(BaseModel):
    """Base of every part: unknown keys are errors, values never change after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def flat(table: Any) -> Any:
    """A table of settings whose names hold dots, which TOML reads as tables within tables."""
    if not isinstance(table, dict):
        return table
    found: dict[str, Any] = {}
    for key, value in cast(dict[str, Any], table).items():
        if isinstance(value, dict):
            inner = cast(dict[str, Any], flat(value))
            found.update({f"{key}.{name}": setting for name, setting in inner.items()})
        else:
            found[key] = value
    return found
