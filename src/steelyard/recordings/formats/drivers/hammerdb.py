"""HammerDB: text and JSON output. NOPM and TPM are per minute. Lines of text may have a prefix."""

from collections.abc import Iterable
from datetime import datetime

from steelyard.recordings.cells import exact
from steelyard.recordings.lines import Found, Lines, Now, has, known, noted, numbers, rule, word
from steelyard.recordings.report import Report, Work
from steelyard.recordings.source import Line, Source

_MINUTE_S = 60.0
_SLACK = 0.01


def _result(now: Now, found: Found) -> None:
    # before version 4 the TPM came first
    now.report.figure("nopm", exact(found["nopm"] or found["then"] or ""), "new orders/min", "higher")
    now.report.figure("tpm", exact(found["tpm"]), "transactions/min", "higher")
    now.report.facts["TPM of"] = found["of"]


def _users(now: Now, found: Found) -> None:
    # the monitor is a virtual user too, and does no work
    now.report.clients = int(found[1]) - (found[2] is not None) or None


def _count(now: Now, found: Found) -> None:
    now.report.sample(now.report.at(datetime.fromisoformat(found[1])), "hammerdb", "tpm", exact(found[2]))


def _timing(now: Now, found: Found) -> None:
    now.report.sample(0, f"procedure {now.words['procedure'] or 'not named'}", found[1], exact(found[2]))


def _close(now: Now) -> None:
    """Work follows from the result, over the time that is stated, or over the span of the counts."""
    report = now.report
    report.seconds = now.numbers["minutes"] * _MINUTE_S or report.seconds
    if (tpm := report.value("tpm")) is None:
        return
    if report.seconds is None:
        text = "HammerDB's result gives no length of the run: counts are those of 60 s"
        report.notice("length-unknown", text)
        report.seconds = _MINUTE_S
    report.work = Work(round(tpm * report.seconds / _MINUTE_S), detail=1)
    # each new order is a transaction too
    nopm = report.value("nopm") or 0
    report.foot(f"{nopm:g} NOPM and {tpm:g} TPM", max(nopm, tpm), tpm, _SLACK)


sniff = has(r"TEST RESULT ?: System achieved \d+ |TRANSACTION COUNT", r"\A(?!SQLite format 3)")
_LINES = Lines(
    (
        rule(
            r".*TEST RESULT ?: System achieved (?:(?P<nopm>\d+) NOPM from )?(?P<tpm>\d+) (?P<of>[A-Za-z].*?)"
            r" TPM(?: at (?P<then>\d+) NOPM)?.*",
            _result,
            "result",
        ),
        rule(
            r"(?i).*?(\d+) (?:(?:Active )?Virtual Users|Active Sessions) (?:configured|Created)"
            r"( with Monitor VU)?.*",
            _users,
        ),
        numbers(r".*Timing test period of (?P<minutes>\d+) in minutes.*"),
        rule(r'\s*"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)": "(N)",?', _count),
        word(r'\s*"(?P<procedure>[^"]*)": \{'),
        rule(r'\s*"(\w+_ms|calls|sd|ratio_pct|procname)": "(N(?:e-?\d+)?)",?', _timing),
        # the others' result may look well
        noted(r".*(?:Vuser \d+:FINISHED FAILED|Error in Virtual User).*", "HammerDB: {}"),
        noted(r".*Vuser \d+:(?:Completed \d+ query|Geometric mean).*", "HammerDB: {}: left out", "left-out"),
        noted(r".*Vuser \d+:\|\w+\|MIN-.*", "HammerDB's times of procedures are left out", "left-out"),
        noted(r"(?:.* )?\d+ \S.* tpm", "HammerDB's counter of transactions tells no times", "left-out"),
        noted("Step workload complete", "HammerDB: clients of a step's replicas are not in its log"),
        known("TRANSACTION (?P<section>COUNT|RESPONSE TIMES)$", "{section}"),
        known(
            r'\s*[\[\]{}]+,?\s*$|\s*"\d{4}-[^"]*",$|\s*"[0-9A-F]{16,}",|\s*</?\w+>$|\s*\{"[^"]* tpm": \{$'
            r"|.*(?:Vuser \d+(?::| created)|HAMMERDB RESULT|hammerdb>|HammerDB CLI|\d+ +VU TEST"
            "|Transaction Counter|ALL VIRTUAL USERS|vudestroy)|Timestamp |Type |Stopping |Hammerdb Log @"
            "|Primary complete|deleting port_file"
        ),
    ),
    _close,
    # a log has the lines of the virtual users alone
    after=(
        "result",
        r"(?i).*(?:Vuser 1 created|\d+ (?:Active )?Virtual Users (?:configured|Created)|Vuser 1:RUNNING"
        r"|\d+ +VU TEST|Beginning rampup|Timing test period|Hammerdb Log @)",
    ),
)


def read(source: Source, lines: Iterable[Line] | None = None) -> list[Report]:
    """A report per run; a result that is printed again, as by `job result`, is of the same run."""
    found: list[Report] = []
    for report in _LINES(source, lines):
        same_users = found and report.clients in (None, found[-1].clients)
        if same_users and report.figures and report.figures == found[-1].figures:
            found[-1].samples.extend(report.samples)
        else:
            found.append(report)
    return found
