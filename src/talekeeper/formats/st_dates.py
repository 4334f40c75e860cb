"""The dates in SillyTavern's and TavernAI's files, in every spelling found there.

A date is a hint: the order of a chat is the order of its lines. Times without a zone were
written in the writer's local time, which no file tells; they are taken as UTC, so that at
least their distances are right. Knows no clock.
"""

import re
from datetime import UTC, datetime, timedelta

__all__ = ["format_date", "parse_date"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# As milliseconds this is March 1973, before any chat; as seconds it is the year 5138.
_FIRST_MILLISECONDS = 100_000_000_000

_LONGEST = 64  # characters; a longer text is no date, and need not be searched

_MONTHS = {
    month: number
    for number, month in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}

_WORDED = re.compile(
    r"([a-z]{3,9})\.?\s+(\d{1,2}),\s+(\d{4}),?\s+(\d{1,2}):(\d{2})(?::(\d{2}))?[\s\xa0\u202f]?([ap]m)?",
    re.IGNORECASE | re.ASCII,
)
_STAMP = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?:\s*@\s*(\d{1,2})h\s*(\d{1,2})m\s*(?:(\d{1,2})s)?\s*(?:(\d{1,3})ms)?)?",
    re.ASCII,
)


def parse_date(value: object) -> datetime | None:
    """The moment ``value`` names, in UTC; None where it names none.

    Understood: ISO 8601; ``September 5, 2024 11:24pm``; ``2024-07-12@01h31m37s123ms`` with or
    without blanks and milliseconds; a day alone; the time since 1970 in milliseconds or
    seconds, as number or digits.
    """
    try:
        if isinstance(value, str):
            return _parse_text(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return _since_1970(int(value))
    except (ValueError, OverflowError):
        return None
    return None


def _parse_text(value: str) -> datetime | None:
    text = value.strip() if len(value) <= _LONGEST else ""
    if len(text) > 10 and text[4] == "-" and text[10] in "Tt ":
        moment = datetime.fromisoformat(text.upper())
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    if text.isascii() and text.isdigit():
        return _since_1970(int(text))
    if stamp := _STAMP.fullmatch(text):
        year, month, day, hour, minute, second, millisecond = (int(n or 0) for n in stamp.groups())
        return datetime(year, month, day, hour, minute, second, millisecond * 1000, tzinfo=UTC)
    if worded := _WORDED.fullmatch(text):
        return _from_words(*worded.groups())
    return None


def _from_words(
    name: str, day: str, year: str, hours: str, minute: str, second: str | None, half: str | None
) -> datetime | None:
    month = _MONTHS.get(name[:3].lower())
    hour = int(hours)
    if month is None or (half and not 1 <= hour <= 12):
        return None
    if half:
        hour = hour % 12 + (12 if half.lower() == "pm" else 0)
    return datetime(int(year), month, int(day), hour, int(minute), int(second or 0), tzinfo=UTC)


def _since_1970(number: int) -> datetime | None:
    if number <= 0:
        return None
    unit = timedelta(milliseconds=1) if number >= _FIRST_MILLISECONDS else timedelta(seconds=1)
    return _EPOCH + number * unit


def format_date(moment: datetime) -> str:
    """The moment as SillyTavern writes it since 1.14: ISO 8601, milliseconds, ``Z``."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
