"""pgbench: summary and progress. Figures of scripts and statements are read too.

The length follows from the count and the rate: the duration is the planned one. Before version 14 the length
includes connecting; with -C each transaction connects.
"""

from steelyard.recordings.cells import exact
from steelyard.recordings.lines import (
    Found,
    Lines,
    NotMine,
    Now,
    fact,
    figure,
    has,
    known,
    noted,
    numbers,
    reading,
    rule,
    word,
    worked,
)

# latency of a second without a transaction
_NONE = r"(?:0\.000|-?[Nn]a[Nn])"
_PROGRESS = (
    rf"progress: (?P<t>\d+\.\d+) s, (?P<tps>N) tps, lat (?:{_NONE} ms stddev {_NONE}|(?P<latency_mean_ms>N)"
    # from version 15 on `failed` comes before the lag
    rf" ms stddev (?:{_NONE}|(?P<latency_stddev_ms>N)))(?:, (?P<failed>\d+) failed)?"
    r"(?:, lag (?:-?[Nn]a[Nn]|(?P<lag_ms>N)) ms)?"
    r"(?:, (?P<skipped>\d+) skipped)?(?:, (?P<retried>\d+) retried, (?P<retries>\d+) retries)?\s*"
)
_FURTHER = (
    r"(?:total )?number of (?:serialization failures: (?P<serialization_failures>\d+)"
    r"|deadlock failures: (?P<deadlock_failures>\d+)|transactions retried: (?P<retried>\d+)"
    r"|retries: (?P<retries>\d+)|transactions skipped: (?P<skipped>\d+)"
    r"|transactions above .* limit: (?P<above_latency_limit>\d+)(?:/\d+)?)(?: \(.*)?"
)
_OF_SCRIPT = (
    r" - (?:(?P<transactions>\d+) transactions \(.* of total, tps = (?P<tps>N)\)"
    r"|number of failed transactions: (?P<failed>\d+) \(.*|latency average = (?P<latency_mean_ms>N) ms"
    r"|latency stddev = (?P<latency_stddev_ms>N) ms)"
)
# the planned time ends with the last transaction
_SLACK = 0.04
# a series of their own: progress counts the same transactions
_TOTALS = "pgbench in all"


def _columns(now: Now, found: Found) -> None:
    now.numbers["columns"] = sum(map(bool, found.groups()))


def _mean(now: Now, found: Found) -> None:
    now.report.figure("latency_mean", exact(found[1]), "ms", "lower", "work")
    if found[2]:
        now.report.notice("source-warns", "pgbench: the mean latency includes failed transactions")


def _lag(now: Now, found: Found) -> None:
    now.words["rate"] = found[0]
    now.report.figure("lag_mean", exact(found[1]), "ms", "lower", "work")
    now.report.figure("lag_max", exact(found[2]), "ms", "lower", "max")


def _statement(now: Now, found: Found) -> None:
    if now.numbers.get("columns") != sum(map(bool, found.group(2, 3))):
        raise NotMine
    script = now.words["script"]
    entity = f"{script + ': ' if script else ''}statement {found[4].strip()}"
    while entity in now.seen:
        entity += " again"
    now.seen.add(entity)
    for name, cell in zip(("latency_mean_ms", "failures", "retries"), found.groups(), strict=False):
        now.report.sample(0, entity, name, float(cell) if cell else None)


def _close(now: Now) -> None:
    report, n = now.report, now.numbers
    done, tps, planned = n["done"], n["tps"], n["planned"]
    n["seconds"] = done / tps if done and tps else planned
    worked(now)
    skipped = report.samples.means().get((_TOTALS, "skipped"), 0)
    if (lost := n["all"] - done - n["failed"] - skipped) > 0:
        report.notice("source-warns", f"pgbench: {lost:,.0f} of {n['all']:,.0f} transactions were not tried")
    # the planned time begins with connecting
    planned -= (report.value("initial_connection_time") or 0) / 1e3
    if "done" in n and tps and planned > 0:
        slack = _SLACK + (report.value("latency_mean") or 0) / 1e3 / planned
        report.foot(f"{tps:g} tps and {done:,.0f} transactions in {planned:g} s", done / tps, planned, slack)
    if scripts := report.samples.values_of("transactions"):
        report.foot(f"{sum(scripts):,.0f} transactions of scripts, and {done:,.0f}", sum(scripts), done, 0)


sniff = has(r"^(?:progress: N s, N tps, lat |number of clients: \d+$)")
read = Lines(
    (
        reading(_PROGRESS, "pgbench"),
        fact(r"(pgbench \(.*)", "driver", once="version"),
        fact(r"(transaction type): (\S.*)", once="type"),
        fact(
            r"(?P<fact>scaling factor|query mode|number of threads|maximum number of tries): (\S.*)",
            once="{fact}",
        ),
        numbers(r"number of clients: (?P<clients>\d+)", once="clients"),
        numbers(r"duration: (?P<planned>\d+) s", once="planned"),
        numbers(r"number of transactions actually processed: (?P<done>\d+)(?:/(?P<all>\d+))?", once="done"),
        numbers(r"number of failed transactions: (?P<failed>\d+) \(.*"),
        numbers(r"tps = (?P<tps>N) \((?:without initial|including).*", once="tps"),
        rule(r"latency average[ =:]+(?!0\.000 )(N) ms( \(including failures\))?", _mean, once="latency_mean"),
        figure(r"latency stddev[ =:]+(N) ms", "latency_stddev", "ms", "neither"),
        figure(r"initial connection time = (N) ms", "initial_connection_time", "ms", pools="time"),
        figure(r"average connection time = (N) ms", "connection_time_mean", "ms"),
        reading(_FURTHER, _TOTALS),
        rule(r"rate limit schedule lag: avg (N) \(max (N)\) ms", _lag),
        word(r"SQL script (?P<script>\d+: .*)"),
        reading(_OF_SCRIPT, "script {script}"),
        rule(r"(?: - )?statement latencies in milliseconds(.*failures)?(.*retries)?:", _columns),
        rule(r"\s+(\d+\.\d+)(?:\s+(\d+))?(?:\s+(\d+))?(?:  |\t)(\S.*)", _statement),
        noted(
            r"pgbench: .*Run was aborted.*|(?:pgbench: error: )?client \d+ .*aborted.*",
            "pgbench: clients were aborted, the results are incomplete",
        ),
        known(
            "starting vacuum|partition|number of transactions (?:per client|below)|tps = .*excluding|creating"
            r"|generating|vacuuming|done in|dropping|client \d+ | - weight|end\."
            # versions 9.4 and 9.5 divide the duration, which is not known of -t
            r"|latency average[ =:]+0\.000 ms"
        ),
    ),
    _close,
    after=("done", "starting vacuum|progress:"),
)
