"""The local summary: what it keeps, in which shape, and what it never does."""

import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from talekeeper.models.static import StaticEmbedder
from talekeeper.text.condense import Passage, condense, passages_of
from talekeeper.text.tokens import tokenizer_named

count = tokenizer_named("o200k_base").count
embed = StaticEmbedder().embed

Chat = Sequence[tuple[str, str]]


def said(*lines: tuple[str, str]) -> list[Passage]:
    return [Passage(speaker=speaker, text=text) for speaker, text in lines]


SUPPER = said(
    ("Bob", "Hey! How are you?"),
    ("Mira", "Hi Bob! I'm fine, thanks :)"),
    ("Bob", "lol nice"),
    ("Bob", "I talked to my sister Clara yesterday. She moved to Lisbon in March."),
    ("Mira", "Oh wow"),
    ("Bob", "By the way, I'm allergic to peanuts, so no satay please!"),
    ("Mira", "Ok, noted. I promise I'll cook something without nuts on Friday."),
    ("Bob", "Do you still have the blue car?"),
    ("Mira", "No, I sold it last week to Mr. Brown for 3,000 euros."),
    ("Bob", "Will you miss it?"),
    ("Bob", "Haha ok"),
    ("Mira", "Good night!"),
    ("Mira", "*hugs Bob*"),
)

LANGUAGES: dict[str, tuple[Chat, tuple[str, ...], tuple[str, ...]]] = {
    "russian": (
        (
            ("Анна", "Привет! Как дела?"),
            ("Олег", "Привет, всё хорошо, спасибо."),
            ("Анна", "Слушай, у меня аллергия на орехи, не забудь 🙏"),
            ("Олег", "Хорошо. Я обещаю, что в субботу испеку пирог без орехов."),
            ("Анна", "Ура, спасибо!"),
            ("Олег", "Мою бабушку зовут Вера, она живёт в Казани."),
            ("Олег", "Ладно, пока!"),
        ),
        ("аллергия на орехи", "Я обещаю", "зовут Вера"),
        ("Привет", "спасибо", "пока"),
    ),
    "chinese": (
        (
            ("小明", "你好！最近怎么样？"),
            ("莉莉", "你好，挺好的，谢谢。"),
            ("小明", "我对花生过敏，千万别放花生。"),
            ("莉莉", "好的。我答应你，星期六给你做不放花生的蛋糕。"),
            ("小明", "太好了，谢谢你！"),
            ("莉莉", "我奶奶名叫王秀英，她住在成都。"),
            ("莉莉", "晚安"),
        ),
        ("我对花生过敏", "我答应你", "王秀英"),
        ("你好", "谢谢", "晚安"),
    ),
    "japanese": (
        (
            ("ゆき", "こんにちは！元気ですか？"),
            ("けん", "はい、元気です。ありがとう。"),
            ("ゆき", "私はピーナッツアレルギーです。「絶対に入れないでね。」"),
            ("けん", "わかった。土曜日にナッツなしのケーキを焼くと約束するよ。"),
            ("ゆき", "うん、ありがとう！"),
            ("けん", "祖母の名前は花子で、京都に住んでいます。"),
            ("けん", "おやすみなさい"),
        ),
        ("ピーナッツアレルギー", "約束する", "花子"),
        ("こんにちは", "ありがとう", "おやすみ"),
    ),
    "spanish": (
        (
            ("Ana", "¡Hola! ¿Cómo estás?"),
            ("Luis", "Hola, muy bien, gracias."),
            ("Ana", "Soy alérgica a los cacahuetes, no lo olvides."),
            ("Luis", "Vale. Te prometo que el sábado haré un pastel sin nueces."),
            ("Ana", "¡Genial, gracias!"),
            ("Luis", "Mi abuela se llama Rosa y vive en Sevilla."),
            ("Luis", "Buenas noches"),
        ),
        ("alérgica a los cacahuetes", "Te prometo", "se llama Rosa"),
        ("Hola", "gracias", "Buenas noches"),
    ),
    "portuguese": (
        (
            ("Ana", "Olá! Tudo bem?"),
            ("João", "Oi, tudo bem, obrigado."),
            ("Ana", "Sou alérgica a amendoim, não se esqueça."),
            ("João", "Tá. Eu prometo que no sábado vou fazer um bolo sem nozes."),
            ("Ana", "Legal, obrigada!"),
            ("João", "Minha avó se chama Rosa e mora em Braga."),
            ("João", "Boa noite"),
        ),
        ("alérgica a amendoim", "Eu prometo", "se chama Rosa"),
        ("Olá", "obrigad", "Boa noite"),
    ),
}


def test_promises_allergies_and_names_stay_and_filler_goes() -> None:
    assert condense(SUPPER, max_tokens=55, count=count) == (
        "Bob: I talked to my sister Clara yesterday. She moved to Lisbon in March. "
        "By the way, I'm allergic to peanuts, so no satay please!\n"
        "Mira: I promise I'll cook something without nuts on Friday."
    )


def test_a_question_comes_with_its_answer_or_not_at_all() -> None:
    found = condense(SUPPER, max_tokens=500, count=count)
    assert "Bob: Do you still have the blue car?\nMira: No, I sold it last week" in found
    assert "miss it" not in found


@pytest.mark.parametrize("helped", [False, True], ids=["alone", "embedder"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language(language: str, helped: bool) -> None:
    chat, kept, gone = LANGUAGES[language]
    found = condense(said(*chat), max_tokens=100, count=count, embed=embed if helped else None)
    assert [text for text in kept if text not in found] == []
    assert [text for text in gone if text in found] == []


@pytest.mark.parametrize(
    "chat",
    [
        [],
        [("Bob", "")],
        [("Bob", "Hello Mira!"), ("Mira", "Hey, good morning :)"), ("Bob", "ok thanks, bye!")],
        [("Bob", "😀😀"), ("Mira", "...")],
        [("Bob", "((brb, the doorbell, I promise I will be back at 5))")],
        [("Bob", "[OOC: my name is really Charlie, I live in Paris]")],
        [("Bob", "```python\nfor promise in promises:\n    print(promise)\n```")],
        [("Bob", "https://example.org/a/very/long/address/that/nobody/reads?id=1234567890")],
        [("Bob", "What is your name?")],
    ],
)
def test_nothing_worth_keeping_is_empty(chat: Chat) -> None:
    assert condense(said(*chat), max_tokens=500, count=count) == ""


@pytest.mark.parametrize("room", [-1, 0, 1, 5])
def test_no_room_for_a_sentence_is_empty(room: int) -> None:
    assert condense(SUPPER, max_tokens=room, count=count) == ""


def test_what_is_done_and_what_is_said_lose_their_marks() -> None:
    chat = said(
        ("Mira", '*She bars the iron door.* "The key to the crypt is under the altar. Trust me."')
    )
    assert condense(chat, max_tokens=60, count=count) == (
        "Mira: She bars the iron door. The key to the crypt is under the altar. Trust me."
    )


def test_what_was_said_before_is_not_said_again() -> None:
    chat = said(
        *[("Bob", "The old bridge near the mill collapsed during the storm.")] * 5,
        ("Mira", "Then the ferry at Gannet Point is the only way across."),
    )
    found = condense(chat, max_tokens=32, count=count)
    assert found.count("collapsed") == 1
    assert "ferry" in found


def test_names_with_colons_and_the_way_back() -> None:
    chat = said(
        ("Mira: the Keeper", "I promise the lamp will burn until August."),
        ("Mira", "My brother Oscar lives in the mill by the river."),
        ("", "The storm took the roof of the chapel at midnight."),
    )
    found = condense(chat, max_tokens=100, count=count)
    assert found.splitlines()[0] == "Mira: the Keeper: I promise the lamp will burn until August."
    assert passages_of(found, {"Mira", "Mira: the Keeper"}) == chat


def test_lines_of_unknown_speakers_are_nobodys() -> None:
    assert passages_of("Charlie: hi\n\n  \nBob: yes: no", ["Bob", ""]) == said(
        ("", "Charlie: hi"), ("Bob", "yes: no")
    )
    assert passages_of("", ["Bob"]) == []


def test_condensing_what_was_condensed_keeps_the_first_lines_whole() -> None:
    once = condense(SUPPER, max_tokens=60, count=count)
    assert condense(passages_of(once, ["Bob", "Mira"]), max_tokens=60, count=count) == once


def test_the_same_in_another_process() -> None:
    program = """
import sys
from tests.unit.text.test_condense import SUPPER, condense, count, embed
sys.stdout.write(condense(SUPPER, max_tokens=80, count=count, embed=embed))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "7"},
    )
    assert done.stdout == condense(SUPPER, max_tokens=80, count=count, embed=embed)


WORDS = (
    "I promise you the lamp. My name is Zoë! allergic nuts 花生过敏。 約束するよ「はい。」 обещаю? "
    '*she nods slowly* "quote. two." (( ooc 😀 e\u0301 👩\u200d👧 : ; — \n ``` \ud800 1,000'
)
words = st.sampled_from(WORDS.split(" "))
texts = st.one_of(st.lists(words, max_size=40).map(" ".join), st.text(st.characters()))
speakers = st.sampled_from(["Mira", "Bob", "", "A: B", "莉莉"])
chats = st.lists(st.builds(Passage, speaker=speakers, text=texts), max_size=8)


@settings(max_examples=150)
@given(chat=chats, room=st.integers(0, 120), exact=st.booleans())
def test_within_the_room_and_word_for_word(chat: list[Passage], room: int, exact: bool) -> None:
    measure = count if exact else len
    found = condense(chat, max_tokens=room, count=measure)
    assert measure(found) <= room
    assert found == condense(chat, max_tokens=room, count=measure)
    for line in passages_of(found, {passage.speaker for passage in chat}):
        own = [passage.text for passage in chat if passage.speaker == line.speaker]
        assert _made_of(line.text, own), (line, own)


def _made_of(line: str, texts: Sequence[str]) -> bool:
    """Whether a line is parts of the texts, with at most a space between two of them."""
    reached = {0}
    for at in range(len(line)):
        if at in reached:
            for end in range(at + 1, len(line) + 1):
                if any(line[at:end] in text for text in texts):
                    reached |= {end, end + 1} if line[end : end + 1] == " " else {end}
    return len(line) in reached


@pytest.mark.parametrize(
    "text",
    [
        "walnut" * 166_000,
        "花" * 1_000_000,
        "e\u0301" * 500_000,
        "👩‍👩‍👧" * 200_000,
        "((" * 500_000,
        "*a b*" * 100_000,
        "My name is Bob. " * 30_000,
        "\ud800" * 1_000_000,
    ],
    ids=["word", "han", "marks", "emoji", "brackets", "actions", "sentences", "surrogates"],
)
def test_one_huge_message_does_not_keep_what_follows_it_out(text: str) -> None:
    chat = said(("Bob", text), ("Mira", "I promise to bring the lamp on Sunday."))
    found = condense(chat, max_tokens=200, count=count)
    assert found.endswith("Mira: I promise to bring the lamp on Sunday.")
    assert count(found) <= 200


def test_the_embedder_is_asked_once_and_for_a_bounded_number_of_texts() -> None:
    asked: list[int] = []

    def counting(texts: Sequence[str]) -> np.ndarray:
        asked.append(len(texts))
        return embed(texts)

    chat = said(*[("Bob", f"The ship number {n} left harbour {n * 7}.") for n in range(5_000)])
    condense(chat, max_tokens=200, count=count, embed=counting)
    assert len(asked) == 1
    assert asked[0] <= 2_048
