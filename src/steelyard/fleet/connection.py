"""How a party of the fleet reaches the scheduler."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from distributed.security import Security

from steelyard.fleet.certificates import security, texts
from steelyard.study.errors import InputError
from steelyard.study.fleet import SCHEDULER_FILE, Fleet, refuse_open

UP = "start it with: steelyard fleet up HOSTS.toml"


@dataclass(frozen=True)
class Connection:
    """The scheduler's address, and how to connect there."""

    scheduler: str
    security: Security

    @classmethod
    def of(cls, fleet: Fleet, folder: Path) -> Connection:
        """By the files in the fleet's folder. Raises InputError when the fleet is not up."""
        file = folder / SCHEDULER_FILE
        try:
            address = str(json.loads(file.read_text())["address"])
            if not fleet.tls:
                refuse_open(str(urlsplit(address).hostname))
            return cls(address, security(texts(folder, fleet.tls)))
        except FileNotFoundError as missing:
            raise InputError(f"{missing.filename}: the fleet is not up", UP) from None
        except (ValueError, KeyError) as error:
            raise InputError(f"{file}: no file of a scheduler of this fleet: {error}", UP) from None
