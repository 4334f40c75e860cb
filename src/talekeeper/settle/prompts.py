"""The prompts of background work, as pure functions. A change of one changes its snapshot test."""

import re
from collections.abc import Mapping, Sequence

from talekeeper.domain.summary import Level
from talekeeper.text.condense import Passage

__all__ = ["summary_prompt"]

_TASK = """\
You keep the records of a role-play between {user} (the user) and {characters}. You are not one of
them and do not continue the story: you only report.

Write a summary of the {what} below, so that it can stand in for it later.

- Write in the language of the conversation, in the third person, past tense, in plain sentences.
- Call everybody by the name used there. Never write "the user", "the character" or "the AI".
- Keep what will matter later: promises and plans and whether they were kept; names, places,
  numbers and dates; what somebody likes, fears, owns, is allergic to; injuries, gifts, debts;
  how people feel about each other and what changed it; questions and threads that are still open;
  who knows a secret, and who does not.
- Leave out greetings, small talk and how things were said.
- Say nothing that is not in the text. Do not guess, do not judge, do not draw a moral.
- Keep the order in which things happened.
- At most {words} words. Answer with the summary alone: no title, no list marks, no preface."""

_WHAT: Mapping[Level, str] = {
    "recent": "part of their conversation",
    "merged": "longer part of their conversation",
    "long_term": "long part of their conversation",
}


_TAG = re.compile(r"<(?=[\s/]*conversation\b)", re.IGNORECASE)
"""What would end the conversation early, or look like another one."""


def summary_prompt(
    passages: Sequence[Passage],
    *,
    level: Level,
    most_tokens: int,
    user: str,
    characters: Sequence[str],
) -> list[dict[str, str]]:
    """The messages that ask for a summary of at most ``most_tokens`` tokens.

    A system and a user message: the one order that every chat template accepts.
    """
    # A token is about three quarters of an English word; other languages have fewer words in one.
    words = max(20, most_tokens * 7 // 10)
    task = _TASK.format(
        user=_name(user),
        characters=" and ".join(map(_name, characters)) or "a character",
        what=_WHAT[level],
        words=words,
    )
    told = "\n\n".join(_line(passage) for passage in passages if passage.text.strip())
    # Of the whole and not of each line: one message may end with what the next one makes a tag.
    told = _TAG.sub("(", told)
    return [
        {"role": "system", "content": task},
        {"role": "user", "content": f"<conversation>\n{told}\n</conversation>"},
    ]


def _line(passage: Passage) -> str:
    text = passage.text.strip()
    if not passage.speaker:
        return f"[Summary of earlier parts] {text}"
    return f"{_name(passage.speaker)}: {text}"


def _name(name: str) -> str:
    """A name on one line, and no tag."""
    return _TAG.sub("(", " ".join(name.split()))
