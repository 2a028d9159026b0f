"""SPECjbb2005: text and raw properties. Throughput in bops and the spread of its threads."""

from steelyard.recordings.lines import Found, Lines, Now, figure, has, known, rule


def _property(now: Now, found: Found) -> None:
    now.report.sample(0, "properties", found[1], float(found[2]))


sniff = has(r"SPECjbb2005 bops|^result\.test\d+\.company\.")
# one report per point (a number of warehouses), which ends with its bops
read = Lines(
    (
        figure(r".*Difference \(thread spread\) = +[\d.]+ \((N)%\).*", "thread_spread", "%", pools="no"),
        figure(r".*Minimum transactions .* = +(\d+)(?! *\d).*", "warehouse_least", "", "neither", "no"),
        figure(r".*Maximum transactions .* = +(\d+)(?! *\d).*", "warehouse_most", "", "neither", "no"),
        figure(r".*throughput = +(N) SPECjbb2005 bops.*", "bops", "bops", "higher", "no"),
        rule(r"((?:result|input|config|global)\.\S+?)= *(-?\d+(?:\.\d+)?(?:E-?\d+)?) *", _property),
        known(
            r"(?:input|config|global)\.\S+?=|result\.\S+?= *(?!-?\d[\d.,E-]* *$)|\s*Calculating results[ .]*$"
        ),
    ),
    after=("bops", ".*(?:Minimum|Maximum|Difference|Calculating)"),
)
