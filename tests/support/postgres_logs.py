"""Records of a log of PostgreSQL, and the log in its csv format."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence


def record(second: float, message: str, **more: str) -> dict[str, str]:
    """A record at 10:00 plus seconds; of session `s` unless more says otherwise."""
    at = f"2026-11-22 10:{int(second) // 60:02}:{second % 60:06.3f} UTC"
    given = {"error_severity": "LOG", "session_id": "s", "dbname": "shop", "detail": "", "statement": ""}
    return {"timestamp": at, "message": message, **given, **more}


def as_csv(records: Sequence[dict[str, str]]) -> str:
    out = io.StringIO()
    # PostgreSQL leaves texts that are absent empty, and quotes every other one
    rows = csv.writer(out, quoting=csv.QUOTE_MINIMAL, lineterminator="\n")
    for one in records:
        row = [""] * 26
        row[0], row[1], row[2], row[5] = one["timestamp"], "u", one["dbname"], one["session_id"]
        row[3], row[11], row[13] = "7", one["error_severity"], one["message"]
        row[14], row[19] = one["detail"], one["statement"]
        row[7], row[9] = one.get("ps", ""), one.get("vxid", "")
        rows.writerow(row)
    return out.getvalue()
