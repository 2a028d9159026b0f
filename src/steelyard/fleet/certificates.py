"""Encryption between the parties of a fleet: one certificate that all of them have and trust."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from distributed.security import Security

from steelyard.study.errors import InputError

_CERTIFICATE, _KEY = "certificate.pem", "key.pem"
_DAYS = 3650


def make_certificate(folder: Path) -> None:
    """Makes the fleet's certificate, unless the folder has one. Raises InputError without openssl."""
    if (folder / _KEY).exists():
        return
    command = [
        *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
        *("-days", str(_DAYS), "-subj", "/CN=steelyard fleet"),
        *("-keyout", str(folder / _KEY), "-out", str(folder / _CERTIFICATE)),
    ]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        raise InputError(
            "openssl is not installed: it makes the fleet's certificate", "apt-get install -y openssl"
        ) from None
    except subprocess.CalledProcessError as error:
        raise InputError(f"openssl: {error.stderr.decode(errors='replace').strip()}") from None
    (folder / _KEY).chmod(0o600)


def texts(folder: Path, tls: bool = True) -> dict[str, str]:
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
