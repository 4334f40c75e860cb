"""The journal of memories: what messages do to it, and what can be taken back."""

import pytest

from talekeeper import Conflict, NotFound
from tests.conftest import OpenKeeper, run


def test_what_a_person_saved_from_a_message_counts_when_that_is_gone(
    open_keeper: OpenKeeper,
) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            mira = await keeper.characters.add(name="Mira")
            chat = await keeper.chats.start("Mira", persona="Anna")
            await keeper.record(chat.id, "Я живу в Киеве.")
            draft = await keeper.memories.as_is(chat.id, [1], character=mira.id)
            (added,) = await keeper.memories.save_drafts([draft])
            assert added.memory is not None
            await keeper.chats.rewind(chat.id, 0)
            history = await keeper.memories.history(added.memory.id)
            assert history.present
            assert [revision.active for revision in history.revisions] == [True]

    run(story())


@pytest.mark.parametrize("given", ["foo", "", "00000000-0000-0000-0000-000000000000"])
def test_a_deeper_pass_that_never_was_is_not_found(open_keeper: OpenKeeper, given: str) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            with pytest.raises(NotFound, match="no deeper pass"):
                await keeper.memories.undo_run(given)

    run(story())


def test_an_edit_that_repeats_another_memory_of_the_scope_is_refused(
    open_keeper: OpenKeeper,
) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            mira = await keeper.characters.add(name="Mira")
            await keeper.memories.add("安娜喜欢茶。")
            await keeper.memories.add("Anna likes coffee.")
            await keeper.memories.add("Anna likes rain.", character=mira.id)
            with pytest.raises(Conflict, match="Memory 1 says the same"):
                await keeper.memories.edit(2, " 安娜喜欢茶")
            assert (await keeper.memories.edit(2, "anna likes  coffee")).version == 2
            assert (await keeper.memories.edit(3, "安娜喜欢茶。")).text == "安娜喜欢茶。"

    run(story())
