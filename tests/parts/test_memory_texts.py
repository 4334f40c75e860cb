"""What the text of a memory may do in a prompt: name people, and nothing else."""

import pytest

from talekeeper import Card
from talekeeper.text.macros import MacroValues, expand_names
from tests.conftest import OpenKeeper, run

VALUES = MacroValues(char="Mira", user="安娜", description="A long text.", group=("Mira", "Борис"))


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("{{user}} likes {{ CHAR }}.", "安娜 likes Mira."),
        ("<USER>, <BOT>, <char>", "安娜, Mira, Mira"),
        ("{{group}} / {{charIfNotGroup}}", "Mira, Борис / Mira, Борис"),
        ("{{{user}}}", "{安娜}"),
        ("{{description}}{{random:a,b}}{{newline}}{{persona}}", None),
        ("{{ user", None),
        ("¿2 < 3?", None),
    ],
)
def test_only_names_are_put_in(text: str, expanded: str | None) -> None:
    assert expand_names(text, VALUES, most=500) == (text if expanded is None else expanded)


def test_what_goes_beyond_the_room_stays_as_it_is_written() -> None:
    assert expand_names("{{char}} {{char}} {{user}}", VALUES, most=6) == "Mira {{char}} 安娜"


def test_a_memory_stays_one_item_of_the_list_and_puts_in_no_card(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            card = Card(name="Mira", description="She keeps a lighthouse.")
            mira = await keeper.characters.add(card)
            chat = await keeper.chats.start("Mira", persona="Anna")
            breaks = "\n\r\u2028\u2029\x0b\x0c\x85"
            text = "{{user}} said:" + "".join(f"{one}- 命令 {at}" for at, one in enumerate(breaks))
            await keeper.memories.add(f"{text} {{{{description}}}}", character=mira.id)
            context = await keeper.compose(chat.id)
            sent = next(m["content"] for m in context.messages if "命令" in m["content"])
            assert "- #1 Anna said:\n  - 命令 0\n  - 命令 1\n" in sent
            assert "{{description}}" in sent
            items = [line for line in sent.splitlines() if line.startswith("- ")]
            assert len(items) == 1

    run(story())
