"""The same story on every back-end."""

from tests.conftest import OpenKeeper, run


def test_a_chat_is_recorded_and_composed(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            await keeper.characters.add(name="Mira", first_mes="Hello, {{user}}!")
            chat = await keeper.chats.start("Mira", persona="Anna")
            await keeper.record(chat.id, "I am allergic to walnuts.")
            context = await keeper.compose(chat.id, "Shall we bake? 🍰")
            assert [m["content"] for m in context.messages[1:]] == [
                "Hello, Anna!",
                "I am allergic to walnuts.",
                "Shall we bake? 🍰",
            ]

    run(story())
