"""What all parts of a study file share: strictness, and the types of settings and codes."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Setting = str | int | float | bool
Code = Annotated[str, Field(pattern=r"^[A-Za-z0-9.+-]{1,24}$")]


class Strict(BaseModel):
    """Base of every part: unknown keys are errors, values never change after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)
