"""How a party of the fleet reaches the scheduler."""

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from distributed.security import Security

from steelyard.errors import InputError
from steelyard.study.fleet import SCHEDULER_FILE, Fleet, refuse_open

_CERTIFICATE, _KEY = "certificate.pem", "key.pem"
_DAYS = 3650


def make_certificate(folder: Path) -> None:
    """Makes the fleet's certificate, unless the folder has one. Raises InputError without openssl."""
    if (folder / _KEY).exists():
        return
    command = [
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
        "-days", str(_DAYS), "-subj", "/CN=steelyard fleet",
        "-keyout", str(folder / _KEY), "-out", str(folder / _CERTIFICATE),
    ]  # fmt: skip
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        raise InputError(
            "openssl is not installed: it makes the fleet's certificate", "apt-get install -y openssl"
        ) from None
    except subprocess.CalledProcessError as error:
        raise InputError(f"openssl: {error.stderr.decode(errors='replace').strip()}") from None
    (folder / _KEY).chmod(0o600)


def texts(folder: Path, tls: bool) -> dict[str, str]:
    """Certificate and key of the fleet by file name; nothing without tls."""
    return {name: (folder / name).read_text() for name in (_CERTIFICATE, _KEY)} if tls else {}


def security(own: Mapping[str, str]) -> Security:
    """How a party of the fleet connects with these texts: it trusts this certificate alone, and shows it."""
    if not own:
        return Security(require_encryption=False)
    parties = ("scheduler", "worker", "client")
    return Security(
        require_encryption=True,
        tls_ca_file=own[_CERTIFICATE],
        **{f"tls_{party}_cert": own[_CERTIFICATE] for party in parties},
        **{f"tls_{party}_key": own[_KEY] for party in parties},
    )


SILENCE_S = 15.0
_LOOK_S = 0.5

_heard_s: dict[str, float] = {}


def beat(lab: str) -> bool:
    """The lab of this id is there."""
    _heard_s[lab] = time.monotonic()
    return True


def end_without(lab: str, end: Callable[[], object], over: threading.Event) -> None:
    """Calls `end` when the lab has been silent for 15 s, unless the event is set before."""
    beat(lab)

    def watch() -> None:
        while not over.wait(_LOOK_S):
            if time.monotonic() - _heard_s[lab] > SILENCE_S:
                end()
                return

    threading.Thread(target=watch, name="silence", daemon=True).start()


UP = "start it with: steelyard fleet up HOSTS.toml"


@dataclass(frozen=True)
class Connection:
    """The scheduler's address, and how to connect there."""

    scheduler: str
    security: Security

    @classmethod
    def of(cls, fleet: Fleet, folder: Path) -> Self:
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


@dataclass(frozen=True)
class Offset:
    """A host's clock. offset_ns: its reading less the lab's; bound_ns: largest error; at_ns: lab's clock."""

    offset_ns: int
    bound_ns: int
    at_ns: int

    def to_host(self, lab_ns: int) -> int:
        """The time on the host's clock."""
        return lab_ns + self.offset_ns

    def to_lab(self, host_ns: int) -> int:
        """The time on the lab's clock."""
        return host_ns - self.offset_ns


# the offset of the lab itself
SAME = Offset(0, 0, 0)


def offset_of(exchanges: Iterable[tuple[int, int, int]]) -> Offset:
    """The offset by exchanges: sent (lab), read (host), received (lab), ns. Raises ValueError without any."""
    sent, read, received = min(exchanges, key=lambda exchange: exchange[2] - exchange[0])
    # the host read its clock somewhere between sent and received
    bound_ns = (received - sent + 1) // 2
    return Offset(read - (sent + bound_ns), bound_ns, received)


def drift_ns(before: Offset, after: Offset) -> int:
    """How far the host's clock went from the lab's between two exchanges."""
    return after.offset_ns - before.offset_ns
