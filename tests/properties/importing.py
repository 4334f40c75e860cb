"""What an import must come to, by the reference."""

from collections.abc import Callable, Sequence

from talekeeper import GenerationSettings, ImportReport
from tests.properties.reference import Told
from tests.properties.tales import Tale, TaleLine

__all__ = ["expected_outcome", "take_over"]

EVIDENCE = 8
"""So many equal lines show that two files are one chat."""


def expected_outcome(chats: Sequence[Told], tale: Tale) -> str | None:
    """What the file is to the chats that are there; None where that is a matter of judgement."""
    family = [told for told in chats if told.root == tale.root]
    if any(tale.raw in told.files for told in family):
        return "present"
    if not family:
        return "new"
    if len(family) > 1 or family[0].raw is None:
        return None
    (told,) = family
    shared = _shared(told, tale)
    heard = _heard(tale)
    if not shared or not _enough(tale, heard[:shared]):
        return "new"
    whole = shared == len(_heard(told))
    if shared == len(heard):
        # All is there. The same chat in its last state may tell something else anew, as a note.
        return "updated" if whole and tale.marked else "present"
    return "longer" if whole else "branch"


def _heard(told: Tale | Told) -> list[tuple[int, TaleLine]]:
    """The lines that hold messages, with their numbers."""
    lines = dict(enumerate(told.lines, 1)) if isinstance(told, Tale) else told.lines
    return [(number, line) for number, line in sorted(lines.items()) if line.messages]


def _shared(told: Told, tale: Tale) -> int:
    """How many message lines at the beginning are the same."""
    both = zip(_heard(told), _heard(tale), strict=False)
    same = [one.raw == other.raw for (_, one), (_, other) in both]
    return same.index(False) if False in same else len(same)


def _enough(tale: Tale, shared: Sequence[tuple[int, TaleLine]]) -> bool:
    if tale.marked or len(shared) >= EVIDENCE:
        return True
    user_spoke = False
    for _, line in shared:
        roles = {message.role for message in line.messages}
        if user_spoke and "assistant" in roles:
            return True
        user_spoke = user_spoke or "user" in roles
    return False


def take_over(
    chats: list[Told],
    tale: Tale,
    report: ImportReport,
    forked_from: tuple[str, int] | None,
    in_force: Callable[[Told], GenerationSettings],
) -> Told:
    """Let the reference follow an import; the chat that it made or changed."""
    assert report.id is not None
    by_id = {told.id: told for told in chats}
    if report.outcome == "present":
        told = by_id[report.id]
        assert report.added == 0
        assert _shared(told, tale) == len(_heard(tale)), "not all of the file is there"
        return told
    if report.outcome == "new":
        told = Told(id=report.id, members=["Mira"], persona="Anna", root=tale.root)
        shared = 0
    elif report.outcome == "branch":
        assert forked_from is not None
        parent = by_id[forked_from[0]]
        told = parent.copy(report.id, forked_from[1])
        shared = _shared(told, tale)
    else:
        told = by_id[report.id]
        shared = _shared(told, tale)
    untouched = told.raw is not None and report.added > 0
    if report.outcome in ("new", "branch"):
        # What is excluded in the parent is so in its fork, whatever the file says.
        told_as_is = zip(told.messages, tale.messages, strict=False)
        untouched = all(
            (m.texts, m.active, m.excluded) == (list(t.texts), t.active, t.excluded)
            for m, t in told_as_is
        )
    added = _append(told, tale, shared, in_force(told))
    assert report.added == added
    if report.outcome in ("new", "branch"):
        chats.append(told)
        assert [m.text for m in told.messages] == [m.texts[m.active] for m in tale.messages]
    told.raw = tale.raw if untouched else None
    told.files.append(tale.raw)
    return told


def _append(told: Told, tale: Tale, shared: int, settings: GenerationSettings) -> int:
    """Add what follows the shared lines; answers how many messages that are."""
    heard = 0
    added = 0
    if len(_heard(tale)) > shared:  # what the file goes on with takes the place of what was there
        kept = [number for number, _ in _heard(told)][:shared]
        told.lines = {
            number: line
            for number, line in told.lines.items()
            if not line.messages or number in kept
        }
    for number, line in enumerate(tale.lines, 1):
        heard += bool(line.messages)
        if line.messages and heard > shared:
            for message in line.messages:
                told.add(
                    settings,
                    message.role,
                    message.speaker,
                    message.texts,
                    calls=[
                        message.calls if at == message.active else ()
                        for at in range(len(message.texts))
                    ],
                    active=message.active,
                    answers=message.answers,
                    excluded=message.excluded,
                    line=number,
                )
                added += 1
                if message.role == "assistant" and not told.members:
                    told.members.append(message.speaker)
        told.lines[number] = line
    return added
