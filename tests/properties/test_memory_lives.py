"""Lives of memories that random ones rarely come upon, held against the same reference."""

from collections.abc import Callable

import pytest

from tests.properties.test_memories import Remembering

Step = Callable[[Remembering], None]

_ADD = ("add", 1, "character")
_LIVES: dict[str, tuple[Step, ...]] = {
    "a change is taken back after its character went": (
        lambda life: life.add(name="Mira", pinned=False, form="{}"),
        lambda life: life.edit(at=0, form="安娜说：{}"),
        lambda life: life.delete_character(name="Mira", really=0),
        lambda life: life.undo(at=0, place=None),
        lambda life: life.undo(at=0, place=1),
    ),
    "what was taken back and rewound is restored": (
        lambda life: life.reply(chat=0, by=0, asked=[_ADD], form="Анна помнит {}"),
        lambda life: life.undo(at=0, place=None),
        lambda life: life.rewind(chat=0, at=1),
        lambda life: life.restore(at=0),
    ),
    "a deleted memory comes back to the prompt it is replaced in, its character gone": (
        lambda life: life.add(name="Mira", pinned=False, form="{}"),
        lambda life: life.reply(chat=1, by=0, asked=[("delete", 1, "character")], form="{}"),
        lambda life: life.delete_character(name="Mira", really=0),
        lambda life: life.regenerate(chat=1, at=0, asked=[], form="{}"),
        lambda life: life.choose_swipe(chat=1, at=0, swipe=0),
        lambda life: life.restore(at=0),
    ),
    "swipes, a deleted character and a turn taken back": (
        lambda life: life.reply(chat=1, by=0, asked=[_ADD], form="{}"),
        lambda life: life.regenerate(chat=1, at=0, asked=[_ADD], form="{}"),
        lambda life: life.delete_character(name="Mira", really=0),
        lambda life: life.choose_swipe(chat=1, at=0, swipe=0),
        lambda life: life.undo_turn(chat=1, at=0),
        lambda life: life.restore(at=0),
        lambda life: life.restore(at=1),
    ),
    "full scopes": (
        lambda life: life.fill(name=None, pinned=False, form="ミラと{}"),
        lambda life: life.fill(name="Mira", pinned=False, form="{}"),
        lambda life: life.fill(name="Mira", pinned=True, form="{}"),
        lambda life: life.reply(
            chat=1,
            by=0,
            asked=[_ADD, ("add", 1, "global"), ("delete", 41, "global"), _ADD],
            form="{}",
        ),
        lambda life: life.regenerate(chat=1, at=0, asked=[("add", 1, "global")], form="{}"),
        lambda life: life.pin_or_unpin(at=0),
        lambda life: life.rewind(chat=1, at=1),
        lambda life: life.delete_character(name="Mira", really=0),
        lambda life: life.add(name=None, pinned=False, form="{}"),
        lambda life: life.delete(at=1),
        lambda life: life.restore(at=1),
    ),
    "a fork, and the end of the chat that wrote": (
        lambda life: life.reply(chat=1, by=0, asked=[_ADD, _ADD], form="¿Y {}?"),
        lambda life: life.fork(chat=1, at=0),
        lambda life: life.regenerate(chat=1, at=0, asked=[_ADD], form="{}"),
        lambda life: life.choose_swipe(chat=2, at=0, swipe=0),
        lambda life: life.delete_chat(chat=1),
        lambda life: life.undo(at=0, place=0),
    ),
    "a pinned memory that an AI made": (
        lambda life: life.reply(chat=0, by=0, asked=[_ADD], form="{}"),
        lambda life: life.pin_or_unpin(at=0),
        lambda life: life.reply(
            chat=0, by=0, asked=[("update", 1, "character"), ("delete", 1, "character")], form="{}"
        ),
        lambda life: life.rewind(chat=0, at=1),
        lambda life: life.undo(at=0, place=0),
        lambda life: life.undo(at=0, place=1),
        lambda life: life.rewind(chat=0, at=2),
    ),
}


@pytest.mark.parametrize("name", _LIVES)
def test_a_life_goes_as_the_reference_says(name: str) -> None:
    life = Remembering()
    life.be_born()
    try:
        for step in _LIVES[name]:
            step(life)
            life.all_is_as_the_book_says()
    finally:
        life.teardown()
