"""Dates as SillyTavern and TavernAI write them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talekeeper.formats.st_dates import format_date, parse_date


def _utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2026-01-11T11:11:29.566Z", _utc(2026, 1, 11, 11, 11, 29, 566000)),
        ("2026-01-11t11:11:29z", _utc(2026, 1, 11, 11, 11, 29)),
        ("2026-01-11T13:11:29+02:00", _utc(2026, 1, 11, 11, 11, 29)),
        ("2026-01-11 11:11:29", _utc(2026, 1, 11, 11, 11, 29)),
        ("September 5, 2024 11:24pm", _utc(2024, 9, 5, 23, 24)),
        ("September 5, 2024 12:24am", _utc(2024, 9, 5, 0, 24)),
        ("September 5, 2024 12:24 PM", _utc(2024, 9, 5, 12, 24)),
        ("Sep 5, 2024 1:24\u202fpm", _utc(2024, 9, 5, 13, 24)),
        ("May 5, 2024 13:24", _utc(2024, 5, 5, 13, 24)),
        ("2024-07-12@01h31m37s", _utc(2024, 7, 12, 1, 31, 37)),
        ("2024-07-12@01h31m37s123ms", _utc(2024, 7, 12, 1, 31, 37, 123000)),
        ("2024-6-5 @14h 56m 50s 682ms", _utc(2024, 6, 5, 14, 56, 50, 682000)),
        ("2024-6-5 @14h 56m 50s 7ms", _utc(2024, 6, 5, 14, 56, 50, 7000)),
        ("2024-1-1", _utc(2024, 1, 1)),
        ("2024-01-01", _utc(2024, 1, 1)),
        (1682732130234, _utc(2023, 4, 29, 1, 35, 30, 234000)),
        (1682732130234.0, _utc(2023, 4, 29, 1, 35, 30, 234000)),
        ("1682732130234", _utc(2023, 4, 29, 1, 35, 30, 234000)),
        (1682732130, _utc(2023, 4, 29, 1, 35, 30)),
        ("  2024-1-1  ", _utc(2024, 1, 1)),
    ],
)
def test_every_spelling_is_read(value: object, moment: datetime) -> None:
    assert parse_date(value) == moment


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "yesterday",
        True,
        0,
        -5,
        10**30,
        "9" * 60,
        "1" * 5000,
        float("nan"),
        float("inf"),
        [],
        {},
        "2024-13-01",
        "2024-02-30@01h31m37s",
        "2024-01-01T25:00:00Z",
        "Smarch 5, 2024 1:24pm",
        "September 5, 2024 13:24pm",
        "September 5, 2024 0:24pm",
        "September 31, 2024 1:24pm",
        "0001-01-01T00:00:00+23:00",
        "١٢٣٤٥٦٧٨٩٠١٢٣",
    ],
)
def test_what_is_no_date_is_unknown(value: object) -> None:
    assert parse_date(value) is None


def test_a_date_is_written_as_sillytavern_writes_it() -> None:
    moment = _utc(2026, 1, 11, 11, 11, 29, 566000)
    assert format_date(moment) == "2026-01-11T11:11:29.566Z"
    assert format_date(moment.astimezone(timezone(timedelta(hours=3)))) == format_date(moment)
    assert format_date(moment.replace(tzinfo=None)) == format_date(moment)


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_written_date_is_read_again(moment: datetime) -> None:
    whole = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    assert parse_date(format_date(moment)) == whole


@given(st.text(max_size=80) | st.floats() | st.integers())
def test_any_value_gives_a_utc_date_or_none(value: object) -> None:
    moment = parse_date(value)
    assert moment is None or moment.tzinfo is UTC
