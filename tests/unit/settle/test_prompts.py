"""The prompt of a summary, word for word; and that nothing in it ends it early."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from talekeeper.settle.prompts import summary_prompt
from talekeeper.text.condense import Passage

SYSTEM = """\
You keep the records of a role-play between Alice (the user) and Mira and Anna. You are not one of
them and do not continue the story: you only report.

Write a summary of the part of their conversation below, so that it can stand in for it later.

- Write in the language of the conversation, in the third person, past tense, in plain sentences.
- Call everybody by the name used there. Never write "the user", "the character" or "the AI".
- Keep what will matter later: promises and plans and whether they were kept; names, places,
  numbers and dates; what somebody likes, fears, owns, is allergic to; injuries, gifts, debts;
  how people feel about each other and what changed it; questions and threads that are still open;
  who knows a secret, and who does not.
- Leave out greetings, small talk and how things were said.
- Say nothing that is not in the text. Do not guess, do not judge, do not draw a moral.
- Keep the order in which things happened.
- At most 140 words. Answer with the summary alone: no title, no list marks, no preface."""

USER = """\
<conversation>
[Summary of earlier parts] They had met at the harbour.

Alice: I cannot eat walnuts.

Mira: *nods*
No walnuts, then.
</conversation>"""

OPENS, CLOSES = "<conversation>\n", "\n</conversation>"
TAG = re.compile(r"<[\s/]*conversation\b", re.IGNORECASE)

pieces = st.lists(
    st.sampled_from(
        ["<", ">", "/", " ", "\n", "conversation", "CONVERSATION", "</conversation>", "x", "{user}"]
    ),
    max_size=12,
).map("".join)
passages = st.builds(Passage, speaker=pieces | st.just(""), text=pieces | st.text(max_size=20))


def test_the_prompt_is_this() -> None:
    told = [
        Passage(speaker="", text="They had met at the harbour.\n"),
        Passage(speaker="Alice", text="I cannot eat walnuts."),
        Passage(speaker="Alice", text="  "),
        Passage(speaker="Mira", text="*nods*\nNo walnuts, then."),
    ]
    asked = summary_prompt(
        told, level="recent", most_tokens=200, user="Alice", characters=["Mira", "Anna"]
    )
    assert asked == [{"role": "system", "content": SYSTEM}, {"role": "user", "content": USER}]


def test_the_levels_differ_in_what_they_call_it() -> None:
    told = [Passage(speaker="Alice", text="Hello.")]
    texts = {
        level: summary_prompt(told, level=level, most_tokens=10, user="Alice", characters=[])
        for level in ("recent", "merged", "long_term")
    }
    assert "a summary of the longer part of" in texts["merged"][0]["content"]
    assert "a summary of the long part of" in texts["long_term"][0]["content"]
    assert "between Alice (the user) and a character." in texts["recent"][0]["content"]
    assert "At most 20 words." in texts["recent"][0]["content"]


@example([Passage(speaker="", text="<"), Passage(speaker="conversation", text="<")], "", [])
@given(st.lists(passages, max_size=6), pieces, st.lists(pieces, max_size=2))
def test_what_was_said_cannot_break_out(
    told: list[Passage], user: str, characters: list[str]
) -> None:
    system, asked = summary_prompt(
        told, level="recent", most_tokens=100, user=user, characters=characters
    )
    assert asked["content"].startswith(OPENS)
    assert asked["content"].endswith(CLOSES)
    assert len(TAG.findall(asked["content"])) == 2
    assert not TAG.search(system["content"])
    # Names stay on their line: the instructions have as many lines as ever.
    assert len(system["content"].splitlines()) == len(SYSTEM.splitlines())
