"""Several files of one character's card: its picture stays, and each file counts once."""

import json
from io import BytesIO
from typing import Any

import pytest

from talekeeper import ImportReport, Keeper
from talekeeper.formats.card import read_card
from talekeeper.formats.png_card import replace_png_card
from tests.conftest import OpenKeeper, run
from tests.formats.builders import picture

MIRA = {"name": "Mira", "description": "Keeps the light."}


def document(**more: Any) -> dict[str, Any]:
    return {"spec": "chara_card_v2", "spec_version": "2.0", "data": {**MIRA, **more}}


def as_json(**more: Any) -> bytes:
    return json.dumps(document(**more)).encode()


def as_png(**more: Any) -> bytes:
    return replace_png_card(picture(), document(**more))


def book(text: str) -> dict[str, Any]:
    return {"entries": [{"content": text}]}


async def brought(keeper: Keeper, card: bytes) -> ImportReport:
    dry = await keeper.files.import_stream(BytesIO(card), "mira.card", dry_run=True)
    report = await keeper.files.import_stream(BytesIO(card), "mira.card")
    assert dry.outcome == report.outcome
    return report


def test_a_card_without_a_picture_does_not_take_the_picture_away(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            first = await brought(keeper, as_png())
            again = await brought(keeper, as_json())
            assert (again.outcome, again.id) == ("present", first.id)
            assert await keeper.files.export_card("Mira") == as_png()

    run(story())


def test_a_picture_comes_to_a_card_that_has_none(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            await brought(keeper, as_json())
            outcomes = [(await brought(keeper, card)).outcome for card in (as_png(), as_json())]
            assert outcomes == ["updated", "present"]
            assert await keeper.files.export_card("Mira") == as_png()

    run(story())


def test_another_book_comes_into_the_picture(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            await brought(keeper, as_png(character_book=book("214 steps.")))
            new = as_json(character_book=book("215 steps."))
            assert [(await brought(keeper, new)).outcome for _ in range(2)] == [
                "updated",
                "present",
            ]
            out = await keeper.files.export_card("Mira")
            assert out.startswith(b"\x89PNG")
            assert read_card(out).document == document(character_book=book("215 steps."))

    run(story())


@pytest.mark.parametrize("make", [as_json, as_png])
def test_two_files_of_one_card_do_not_flip(open_keeper: OpenKeeper, make: Any) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            one, other = make(character_book=book("One.")), make(character_book=book("Two."))
            outcomes = [(await brought(keeper, card)).outcome for card in (one, other, one, other)]
            assert outcomes == ["new", "updated", "present", "present"]
            assert len(await keeper.characters.list()) == 1

    run(story())
