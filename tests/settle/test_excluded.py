"""Chats in which nothing is left to be sent."""

from tests.conftest import OpenKeeper, run


def test_a_chat_of_excluded_messages_alone_is_settled(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            await keeper.characters.add(name="Mira")
            chat = (await keeper.chats.start("Mira")).id
            numbers = [(await keeper.record(chat, f"Word {n}.")).number for n in range(3)]
            await keeper.messages.exclude(chat, *numbers)
            await keeper.settings.change(chat, live_cap=False)
            settled = await keeper.summaries.settle(chat)
        assert (settled.made, settled.failed) == (0, [])

    run(story())
