"""What an import did, for the person who asked for it."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from talekeeper.formats.imported import (
    ImportedCard,
    ImportedHeader,
    ImportedLine,
    Notice,
    SkippedLine,
)

__all__ = ["ImportReport", "Outcome", "Tally"]

Outcome = Literal["new", "longer", "branch", "present", "filled", "updated"]
"""new; a longer version of a chat that was there; a branch of one; there already, nothing added;
a character that a chat had brought by name only, now filled from its card; another file of a chat
or character that is there, whose changes (marks, swipes, a book, a picture) were taken over."""

_NOTICES_KEPT = 200
_UNKNOWN_KEPT = 200
_ATTACHED_SHOWN = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportReport:
    """What came in from one file. ``added`` counts messages; the other counts are the file's.

    ``unknown`` are fields that are kept but not understood, with how often they occur. ``id`` is
    None after a dry run of something new.
    """

    file: str
    kind: Literal["chat", "character", "lorebook"]
    outcome: Outcome
    id: str | None
    title: str
    messages: int = 0
    swipes: int = 0
    excluded: int = 0
    added: int = 0
    skipped_lines: int = 0
    book_entries: int = 0
    notices: tuple[Notice, ...] = ()
    notices_left_out: int = 0
    unknown: dict[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The documented JSON shape that ``talekeeper import --json`` prints."""
        return {
            "file": self.file,
            "kind": self.kind,
            "outcome": self.outcome,
            "id": self.id,
            "title": self.title,
            "messages": self.messages,
            "swipes": self.swipes,
            "excluded": self.excluded,
            "added": self.added,
            "skipped_lines": self.skipped_lines,
            "book_entries": self.book_entries,
            "unknown": self.unknown,
            "notices": [
                {"text": notice.text, "line": notice.line, "path": notice.path}
                for notice in self.notices
            ],
            "notices_left_out": self.notices_left_out,
        }


@dataclass(slots=True)
class Tally:
    """Counts a chat file while it streams by; notices are bounded, however bad the file."""

    messages: int = 0
    swipes: int = 0
    excluded: int = 0
    skipped_lines: int = 0
    notices: list[Notice] = field(default_factory=list)
    notices_left_out: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    attached: list[str] = field(default_factory=list)
    attachments: int = 0

    def count(self, item: ImportedHeader | ImportedLine | SkippedLine) -> None:
        """Take one item of the file into account."""
        self.note(item.notices)
        if isinstance(item, ImportedLine):
            self.messages += len(item.messages)
            self.swipes += sum(len(message.swipes) for message in item.messages)
            self.excluded += sum(message.excluded for message in item.messages)
            self.attachments += len(item.attachments)
            self.attached += item.attachments[: _ATTACHED_SHOWN - len(self.attached)]
            for name in item.unknown:
                if name in self.unknown or len(self.unknown) < _UNKNOWN_KEPT:
                    self.unknown[name] += 1
        elif isinstance(item, SkippedLine) and item.notices:
            self.skipped_lines += 1

    def note(self, notices: Iterable[Notice]) -> None:
        """Keep notices as long as there is room."""
        for notice in notices:
            if len(self.notices) < _NOTICES_KEPT:
                self.notices.append(notice)
            else:
                self.notices_left_out += 1

    def _of_attachments(self) -> tuple[Notice, ...]:
        """One notice for all attached files, since a chat may have hundreds."""
        if not self.attachments:
            return ()
        more = self.attachments - len(self.attached)
        names = ", ".join(self.attached) + (f" and {more} more" if more else "")
        files = (
            "1 attached file is"
            if self.attachments == 1
            else f"{self.attachments} attached files are"
        )
        text = f"{files} kept for export, but not shown and not sent: {names}."
        return (Notice(text=text),)

    def report(
        self, *, file: str, outcome: Outcome, chat: str | None, title: str, added: int
    ) -> ImportReport:
        """The report on a chat file."""
        return ImportReport(
            file=file,
            kind="chat",
            outcome=outcome,
            id=chat,
            title=title,
            messages=self.messages,
            swipes=self.swipes,
            excluded=self.excluded,
            added=added,
            skipped_lines=self.skipped_lines,
            notices=(*self._of_attachments(), *self.notices),
            notices_left_out=self.notices_left_out,
            unknown=dict(self.unknown.most_common()),
        )


def card_report(
    file: str,
    imported: ImportedCard,
    *,
    outcome: Outcome,
    character: str | None,
    notices: tuple[Notice, ...] = (),
) -> ImportReport:
    """The report on a character card; ``notices`` are those besides the reader's."""
    return ImportReport(
        file=file,
        kind="character",
        outcome=outcome,
        id=character,
        title=imported.card.name,
        book_entries=imported.card.book_entries,
        notices=(*notices, *imported.notices),
        unknown=dict.fromkeys(imported.unknown, 1),
    )
