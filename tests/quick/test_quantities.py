import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard import quantities as fmt

NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
POSITIVE = st.floats(min_value=1e-6, max_value=1e14)


def _number(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (21437.2, "21,400"),
        (0.04217, "0.0422"),
        (999.7, "1,000"),
        (0, "0"),
        (-1.2, "−1.20"),
        (math.nan, "n/a"),
        (math.inf, "∞"),
    ],
)
def test_three_significant_digits(value: float, text: str) -> None:
    assert fmt.significant(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (402_000, "ns", "402 µs"),
        (36.52, "us/txn", "36.5 µs"),
        (0.25, "us", "250 ns"),
        (1.5e9, "ns", "1.50 s"),
        (8196, "bytes", "8.00 KiB"),
        (21437, "transactions/s", "21,400/s"),
        (1.02, "1/txn", "1.02"),
        (999_900, "ns", "1.00 ms"),
    ],
)
def test_a_quantity_takes_the_unit_that_suits_it(value: float, unit: str, text: str) -> None:
    assert fmt.quantity(value, unit) == text


def test_an_interval_shares_one_unit_and_tells_its_ends_apart() -> None:
    assert fmt.interval(21437, 21390, 21480, "transactions/s") == "21,440/s [21,390 to 21,480]"
    assert fmt.interval(-2.5, -3.0, -2.0) == "−2.50 [−3.00 to −2.00]"
    assert fmt.interval(5.0, 4.0, math.inf) == "5.00 [4.00 to ∞]"


def test_an_exact_ratio_needs_no_more_places() -> None:
    assert fmt.ratio(3.0, 3.0, 3.0) == "3.00 [3.00 to 3.00]"
    assert fmt.ratio(3.0, 3.0 - 1e-9, 3.0 + 1e-9) == "3.00 [3.00 to 3.00]"
    assert fmt.ratio(1.0, 0.9996, 1.0004) == "1.0000 [0.9996 to 1.0004]"
    # no more places than tell apart what can be
    assert fmt.ratio(1.001, 1.001 - 1e-9, 1.002) == "1.001 [1.001 to 1.002]"


def test_what_nearly_vanishes_is_not_all_gone() -> None:
    assert fmt.decrease(0.999977) == "more than 99.9 %"
    assert (fmt.decrease(1.0), fmt.decrease(0.401)) == ("100 %", "40.1 %")


def test_every_interval_has_one_form_whatever_its_signs() -> None:
    assert fmt.interval(6.76, 1.36, 12.16, "us") == "6.76 µs [1.36 to 12.16]"
    assert fmt.interval(5.91, -2.30, 14.13, "us") == "5.91 µs [−2.30 to 14.13]"
    assert fmt.ratio(1.42, 1.38, 1.46) == "1.42 [1.38 to 1.46]"
    assert fmt.share_interval(0.64, 0.76) == "[64 to 76 %]"


def test_the_rounding_of_a_computer_is_no_quantity() -> None:
    assert fmt.interval(-1.27e-14, -0.5, 0.4, "ms") == "0 µs [−500 to 400]"
    assert fmt.quantity(-1.27e-14, "ms") == "0 ns"
    assert fmt.significant(-1.27e-14) == "−1.27e−14"
    assert (fmt.quantity(0.25, "ms"), fmt.quantity(1250, "ms")) == ("250 µs", "1.25 s")


def test_all_of_many_numbers_are_named_as_ranges() -> None:
    assert fmt.ranges([1, 2, 3, 4, 7, 9]) == "1 to 4, 7 and 9"
    assert fmt.ranges([1, 4, 5, 8]) == "1, 4, 5 and 8"
    assert (fmt.ranges([3]), fmt.ranges([3, 4]), fmt.ranges([])) == ("3", "3 and 4", "")
    assert fmt.ranges([6, 7, 9, 12, 13]) == "6, 7, 9, 12 and 13"


def test_spans_p_values_and_lists_read_as_text() -> None:
    assert fmt.span_of([0.121, 0.143], fmt.percent) == "12.1 % to 14.3 %"
    assert fmt.span_of([0.1211, 0.1212], fmt.percent) == "12.1 %"
    assert (fmt.p_value(0.0042), fmt.p_value(1e-9)) == ("p = 0.0042", "p < 0.001")
    assert fmt.listed(["A", "B", "C", "D"], most=2) == "A, B and 2 more"
    assert fmt.listed([]) == ""


def test_changes_and_durations_read_like_speech() -> None:
    assert fmt.change(1.4189) == "+41.9 %"
    assert fmt.change(0.73) == "−27.0 %"
    assert fmt.change(3.5) == "3.50 times"
    assert fmt.change(1.0001) == "±0 %"
    # what is less is never so many times better
    assert (fmt.change(0.0538), fmt.change(0.0937)) == ("−94.6 %", "−90.6 %")
    assert fmt.change(0.0002) == "below −99.9 %"
    assert fmt.duration(8.5) == "8.5 s"
    assert fmt.duration(171) == "2 min 51 s"
    assert fmt.duration(3840) == "1 h 04 min"
    assert fmt.duration(59.7) == "1 min 00 s"


@given(POSITIVE)
def test_a_printed_number_is_within_half_a_percent(value: float) -> None:
    assert _number(fmt.significant(value)) == pytest.approx(value, rel=0.0051)


@given(NUMBERS, st.sampled_from(["", "ns", "us", "us/txn", "bytes", "transactions/s", "1/txn"]))
def test_any_number_can_be_printed(value: float, unit: str) -> None:
    assert fmt.quantity(value, unit)
    assert fmt.interval(value, value, value, unit)
    assert fmt.change(value)
    assert fmt.probability(value)


@given(NUMBERS)
def test_any_duration_can_be_printed(seconds: float) -> None:
    assert fmt.duration(seconds)


@given(POSITIVE, st.floats(1.001, 2), st.floats(1.001, 2))
def test_an_interval_never_prints_an_end_beyond_its_value(value: float, below: float, above: float) -> None:
    middle, low, high = fmt.together([value, value / below, value * above])
    assert _number(low) <= _number(middle) <= _number(high)


@pytest.mark.parametrize(
    ("iso", "text"),
    [
        ("2026-11-22T12:08:31.756+00:00", "22 Nov 2026, 12:08 UTC"),
        ("2026-03-04T00:30:00+02:00", "3 Mar 2026, 22:30 UTC"),
        ("2026-03-14T09:26:53Z", "14 Mar 2026, 09:26 UTC"),
        ("2026-03-14T09:26:53", "14 Mar 2026, 09:26, local time of the recording"),
        ("some day", "some day"),
        ("", ""),
    ],
)
def test_a_moment_is_written_as_people_write_it(iso: str, text: str) -> None:
    assert fmt.moment(iso) == text


def test_a_number_stays_with_its_unit() -> None:
    text = "402 µs, 95 % of 3.5 times [1.2 to 2 KiB] in 2 min 51 s; 8 clients, 7 searches"
    kept = "402_µs, 95_% of 3.5_times [1.2 to 2_KiB] in 2_min 51_s; 8 clients, 7 searches"
    assert fmt.unbroken(text) == kept.replace("_", "\u00a0")
