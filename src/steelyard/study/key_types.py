"""What all parts of a study file share: strictness, and the types of settings and codes."""

from __future__ import annotations

from typing import Annotated, Any, cast

from pydantic import BaseModel, ConfigDict, Field

Setting = str | int | float | bool
Code = Annotated[str, Field(pattern=r"^[A-Za-z0-9.+-]{1,24}$")]


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
