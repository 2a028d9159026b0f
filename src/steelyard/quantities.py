"""Numbers, units, intervals and lists as text: three significant digits, the same everywhere."""

import math
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

_TIME_NS = {
    name: ns
    for ns, names in (  # \u03bc is the Greek letter, µ the micro sign
        (1.0, "ns nsec nsecs nanos nanosecond nanoseconds"),
        (1e3, "us µs \u03bcs usec usecs µsec \u03bcsec micros microsecond microseconds"),
        (1e6, "ms msec msecs millis millisecond milliseconds"),
        (1e9, "s sec secs second seconds"),
        (60e9, "min mins minute minutes"),
        (3600e9, "h hr hrs hour hours"),
    )
    for name in names.split()
}
_TIME_STEPS = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0))
_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_RATES = ("1/s", "/s", "tps", "txn/s", "transactions/s", "lookups/s")
MISSING = "n/a"
# an interval whose ends are so many times apart is none
_NO_INTERVAL = 100.0
# of what it is read beside, or of the smallest unit: less is the rounding of a computer, not a quantity
_NOTHING = 1e-6
_MOST_PLACES = 9
_UNITS = ("%", *_TIME_NS, "min", "h", *_BYTE_UNITS, "kHz", "MHz", "GHz", "times", "tps", "txn/s")
_BEFORE_UNIT = re.compile(rf"(?<=[\d∞]) (?=(?:{'|'.join(map(re.escape, _UNITS))})(?!\w))")
# whatever the language of the machine
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"


def time_unit_ns(unit: str) -> float | None:
    """Nanoseconds of a unit of time: 1e6 of `ms`; None for any other unit, `ms/op` included."""
    return _TIME_NS.get(unit.lower())


def significant(value: float, digits: int = 3) -> str:
    """`21437.2` -> `21,400`; `0.04217` -> `0.0422`; infinite -> `∞`; not a number -> `n/a`."""
    return _text(value, _places(value, digits) if math.isfinite(value) else 0)


def together(values: Sequence[float]) -> list[str]:
    """Values that are read side by side: all with the decimal places that the first one needs.

    Where that would print different values alike, up to three more places are given, if they tell more of
    them apart: an exact ratio stays `3.00`.
    """
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return [_text(value, 0) for value in values]
    places = _places(next((value for value in finite if value), 0.0), 3)
    apart = [len({_fixed(value, places + more) for value in finite}) for more in range(4)]
    places += apart.index(max(apart))
    return [_text(value, places) for value in values]


def interval(value: float, low: float, high: float, unit: str = "") -> str:
    """`21,400/s [21,100 to 21,700]`: the value with its unit, then its 95 % interval in that unit."""
    largest = max((abs(x) for x in (value, low, high) if math.isfinite(x)), default=0.0)
    if low < 0 < high and abs(value) < _NOTHING * largest:
        value = 0.0
    scale, name = unit_for(value or largest, unit)
    middle, bottom, top = together([value / scale, low / scale, high / scale])
    return f"{with_unit(middle, name)} [{span(bottom, top)}]"


def span(low: str, high: str) -> str:
    """Two ends of an interval, `1.38 to 1.46`; from 0 or minus infinity to infinity it is said to be none."""
    if high == "∞" and low in ("0", "−∞"):
        return "no interval"
    return f"{low} to {high}"


def span_of(values: Sequence[float], say: Callable[[float], str]) -> str:
    """`12.1 % to 14.3 %`, or one value where both ends read alike."""
    low, high = say(min(values)), say(max(values))
    return low if low == high else f"{low} to {high}"


def quantity(value: float, unit: str = "") -> str:
    """`quantity(402_000, "ns")` -> `402 µs`; `quantity(8196, "bytes")` -> `8.00 KiB`."""
    scale, name = unit_for(value, unit)
    number = value / scale
    return with_unit(significant(0.0 if name == "ns" and abs(number) < _NOTHING else number), name)


def unit_for(value: float, unit: str) -> tuple[float, str]:
    """Divisor and unit name that suit a value: (1e3, "µs") for 402_000 ns.

    A cost `us/txn` is scaled likewise; what it is counted for is left to the heading.
    """
    short, _, per = unit.partition("/")
    unit = short if per and short in ("us", "1", "B") else unit.removesuffix("/txn")
    if not math.isfinite(value):
        value = 0.0
    if unit == "1":
        return 1.0, ""
    if unit in _TIME_NS:
        nanos = abs(value) * _TIME_NS[unit]
        # 0.9995: what would round to 1,000 belongs to the next unit
        for name, size in _TIME_STEPS:
            if nanos >= 0.9995 * size:
                return size / _TIME_NS[unit], name
        return 1.0 / _TIME_NS[unit], "ns"
    if unit in ("bytes", "B"):
        step = 0
        while step < len(_BYTE_UNITS) - 1 and abs(value) >= 1023.5 * 1024.0**step:
            step += 1
        return 1024.0**step, _BYTE_UNITS[step]
    if unit in _RATES:
        return 1.0, "/s"
    return 1.0, unit


def with_unit(number: str, unit: str) -> str:
    """A number and its unit; rates stand close: `21,400/s`."""
    if not unit or number in (MISSING, "∞"):
        return number
    return f"{number}{unit}" if unit.startswith("/") else f"{number} {unit}"


def says_nothing(low: float, high: float) -> bool:
    """Whether the ends of an interval of a positive quantity are 100 times apart or more: it is none then.

    One of a negative quantity says where that lies.
    """
    return low >= 0 and not high < _NO_INTERVAL * low


def ratio(value: float, low: float, high: float) -> str:
    """`1.42 [1.38 to 1.46]`; `1.42 [no interval]` where the ends do not even say whether it is above 1."""
    if says_nothing(low, high) and low <= 1 <= high:
        low, high = 0.0, math.inf
    middle, bottom, top = together([value, low, high])
    return f"{middle} [{span(bottom, top)}]"


def thousands(value: float, low: float, high: float) -> str:
    """`21.4k [21.2 to 21.6]`: short enough for several in 80 columns; `21.4k [no interval]` as in `ratio`."""
    if says_nothing(low, high):
        low, high = 0.0, math.inf
    scale, sign = (1e6, "M") if value >= 999_500 else (1e3, "k") if value >= 9_995 else (1.0, "")
    middle, bottom, top = together([value / scale, low / scale, high / scale])
    return f"{middle}{sign} [{span(bottom, top)}]"


def change(value: float) -> str:
    """A ratio as a change: `1.42` -> `+42.0 %`, `0.71` -> `−29.0 %`, `3.5` -> `3.50 times`.

    A ratio below 1 is a decrease however small it is: `0.0538` -> `−94.6 %`, never `0.0538 times`.
    """
    if not math.isfinite(value):
        return MISSING
    if value >= 2:
        return f"{significant(value)} times"
    percent = (value - 1) * 100
    if abs(percent) < 0.05:
        return "±0 %"
    if -100 < percent < -99.9:
        return "below −99.9 %"
    return f"{'+' if percent > 0 else '−'}{abs(percent):.1f} %"


def percent(share: float) -> str:
    """A part of a whole: `0.1834` -> `18.3 %`."""
    return f"{significant(100 * share)} %" if math.isfinite(share) else MISSING


def decrease(share: float) -> str:
    """The part by which something is less: as `percent`, but what is left of nearly all is not none."""
    text = percent(share)
    return "more than 99.9 %" if text == percent(1.0) and share < 1 else text


def share_interval(low: float, high: float) -> str:
    """`[64 to 76 %]`; `no interval` where nothing is left out."""
    if low <= 0 and high >= 1:
        return "no interval"
    return f"[{100 * low:.0f} to {100 * high:.0f} %]"


def probability(value: float) -> str:
    """A p-value: `<0.001`, else two significant digits."""
    if not math.isfinite(value):
        return MISSING
    return "<0.001" if value < 0.001 else significant(value, 2)


def p_value(p: float) -> str:
    """A p-value in a sentence: `p = 0.0042`; `p < 0.001`."""
    return "p < 0.001" if p < 0.001 else f"p = {significant(p, 2)}"


def duration(seconds: float) -> str:
    """`8.5 s`, `2 min 51 s`, `1 h 04 min`."""
    if not math.isfinite(seconds):
        return MISSING
    if abs(seconds) < 59.5:
        return f"{seconds:.3g} s".replace("-", "−")
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = round(whole / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min"


def clock(seconds: float) -> str:
    """A time mark of the study: `7:05`, `1:02:09`."""
    whole = max(0, int(seconds))
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def moment(iso: str) -> str:
    """`2026-11-22T12:08:31.756+00:00` -> `22 Nov 2026, 12:08 UTC`; text that is no time stays as it is.

    Without a zone it is a recording's: `22 Nov 2026, 12:08, local time of the recording`.
    """
    try:
        at = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    zone = ", local time of the recording"
    if at.tzinfo:
        at, zone = at.astimezone(UTC), " UTC"
    return f"{at.day} {_MONTHS[3 * at.month - 3 : 3 * at.month]} {at:%Y, %H:%M}{zone}"


def unbroken(text: str) -> str:
    """The text with a space that breaks no line between each number and its unit."""
    return _BEFORE_UNIT.sub("\u00a0", text)


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 block`, `6 blocks`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers, all of them: `1 to 4, 7 and 9`."""
    ends: list[tuple[int, int]] = []
    for number in numbers:
        if ends and number == ends[-1][1] + 1:
            ends[-1] = ends[-1][0], number
        else:
            ends.append((number, number))
    parts: list[str] = []
    for low, high in ends:
        # two neighbours are no range
        parts += [f"{low} to {high}"] if high > low + 1 else map(str, dict.fromkeys((low, high)))
    return listed(parts, most=len(parts))


def listed(items: Sequence[str], most: int = 8) -> str:
    """`A, B and C`; what goes beyond `most` is counted only."""
    shown = list(items[:most])
    if len(items) > most:
        shown.append(f"{len(items) - most} more")
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else "".join(shown)


def _places(value: float, digits: int) -> int:
    if value == 0:
        return 0
    exponent = math.floor(math.log10(abs(value)))
    # 999.7 has three digits before the point, but four once it is rounded
    if exponent < 300 and abs(_rounded(value, digits - 1 - exponent)) >= 10.0 ** (exponent + 1):
        exponent += 1
    return digits - 1 - exponent


def _rounded(value: float, places: int) -> float:
    return round(value, min(places, 320))


def _text(value: float, places: int) -> str:
    if math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return _fixed(value, places)


def _fixed(value: float, places: int) -> str:
    if value != 0 and (abs(value) >= 1e15 or places > _MOST_PLACES):
        return f"{value:.2e}".replace("-", "−")
    rounded = _rounded(value, places)
    if rounded == 0:
        return "0"
    return f"{rounded:,.{max(0, places)}f}".replace("-", "−")
