"""What all parts of a study file share: strictness, and the types of settings, names and texts."""

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Self, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, core_schema

from steelyard.errors import nearest

Setting = str | int | float | bool
Settings = Mapping[str, Setting]
SettingTable = dict[str, Setting]
KeyPath = tuple[str, ...]
Toml = dict[str, Any]  # a table of TOML
Idle = Iterator[tuple[KeyPath, str]]  # keys without effect, each with the reason


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
FileName = Annotated[str, Field(min_length=1)]


class Strict(BaseModel):
    """Base of every part: unknown keys are errors, values never change after reading.

    The text below a key is its meaning in the JSON Schema. ONLY_IF: by key, the condition under which it has
    an effect: `driver`: where that is given; `no dsn`: where that is not; `kind = sql`, `class = TS or IA`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    ONLY_IF: ClassVar[Mapping[str, str]] = {}

    def idle(self) -> Idle:
        """Keys without effect beside the others of their table, each with the reason; of tables below too."""
        for key, condition in self.ONLY_IF.items():
            if reason := self._unmet(condition):
                yield (key,), reason
        for key, value in self:
            below = cast("Toml", value) if isinstance(value, dict) else {"": value}
            for name, part in below.items():
                if isinstance(part, Strict):
                    yield from (((key, *filter(None, [name]), *path), why) for path, why in part.idle())

    def _unmet(self, condition: str) -> str:
        name, _, wanted = condition.removeprefix("no ").partition(" = ")
        value = getattr(self, name)
        if wanted:
            shown = type(self).model_fields[name].alias or name
            return "" if value in wanted.split(" or ") else f"{shown} is '{value}', not '{wanted}'"
        unwanted = condition.startswith("no ")
        return "" if bool(value) != unwanted else f"{name} is given" if unwanted else f"there is no {name}"

    @model_validator(mode="wrap")
    @classmethod
    def _known_keys(cls, given: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """An error for an unknown key says which ones there are."""
        try:
            return handler(given)
        except ValidationError as error:
            known = [field.alias or name for name, field in cls.model_fields.items()]
            found = cast("list[InitErrorDetails]", error.errors(include_url=False))
            for one in found:
                if one["type"] == "extra_forbidden":
                    key = "".join(map(str, one.get("loc", ())))
                    text = f'unknown key "{key}"{nearest(key, known)}'
                    one.update(type="value_error", ctx={"error": text}, input={})
            raise ValidationError.from_exception_data(error.title, found) from None

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        schema = handler(core_schema)
        keys = handler.resolve_ref_schema(schema).get("properties", {})
        for key, text in _meanings(cls):
            keys[key]["description"] = text
        return schema


def _meanings(model: type[Strict]) -> Iterator[tuple[str, str]]:
    """Key and meaning, from the source: only the schema needs them."""
    for part in reversed(model.__mro__[: model.__mro__.index(Strict)]):
        (own,) = ast.parse(inspect.getsource(part)).body
        for key, text in pairwise(cast("ast.ClassDef", own).body):
            match key, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                    if field := model.model_fields.get(name):
                        yield field.alias or name, " ".join(words.split())
                case _:
                    continue


def flat(table: Any) -> Any:
    """A table of settings whose names hold dots, which TOML reads as tables within tables."""
    if not isinstance(table, dict):
        return table
    found: Toml = {}
    for key, value in cast(Toml, table).items():
        if isinstance(value, dict):
            found.update({f"{key}.{name}": setting for name, setting in cast(Toml, flat(value)).items()})
        else:
            found[key] = value
    return found
