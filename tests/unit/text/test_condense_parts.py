"""The parts of the local summary: sentences, terms, languages, filler, salience."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talekeeper.text.filler import is_filler
from talekeeper.text.graphemes import boundary_before
from talekeeper.text.salience import names_in, salience
from talekeeper.text.sentences import sentences_of
from talekeeper.text.terms import language_of, terms_of


def parts(text: str, language: str = "en") -> list[str]:
    return [sentence.text for sentence in sentences_of(text, language)]


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "Dr. Smith came. He stayed!", ["Dr. Smith came.", "He stayed!"]),
        ("en", '"Come. Now." she said.', ["Come.", "Now.", "she said."]),
        ("en", 'He said, "Go away." We left.', ['He said, "Go away."', "We left."]),
        ("en", "*He waits. He waves.* Hello there", ["He waits.", "He waves.", "Hello there"]),
        ("en", "I *really* mean it.", ["I *really* mean it."]),
        ("en", "one\ntwo\n\n- three", ["one", "two", "- three"]),
        ("en", "before ((aside)) after [ooc: no] (OOC no) x", ["before", "after", "x"]),
        ("en", "😀 … !!!", []),
        ("ja", "彼は言った。「行くよ。ね！」と笑った。", ["彼は言った。", "行くよ。", "ね！", "と笑った。"]),  # noqa: E501
        ("zh", "我叫李雷。“好的。我会来。”他说", ["我叫李雷。", "好的。", "我会来。", "他说"]),
        ("ru", "Я живу на ул. Ленина, д. 5. А ты?", ["Я живу на ул. Ленина, д. 5.", "А ты?"]),
        ("es", "¡Hola! ¿Cómo está el Sr. García?", ["¡Hola!", "¿Cómo está el Sr. García?"]),
    ],
)  # fmt: skip
def test_sentences(language: str, text: str, expected: list[str]) -> None:
    assert parts(text, language) == expected


def test_actions_and_questions_are_told() -> None:
    found = sentences_of("*She nods.* Will you come? Yes.", "en")
    assert [(s.action, s.asks) for s in found] == [(True, False), (False, True), (False, False)]


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("the rain fell on the roof of the mill, and the miller slept on, " * 20, ","),
        (
            "слово за словом и ещё одно слово без точки " * 30,
            "словом|и|ещё|одно|слово|без|точки|за",
        ),
        ("他走过了很长的路，终于看见了海，" * 40, "，"),
    ],
)
def test_a_sentence_without_an_end_is_cut_after_a_clause_or_word(text: str, ends: str) -> None:
    found = parts(text)
    assert len(found) > 1
    assert all(len(part) <= 300 for part in found)
    assert all(part.endswith(tuple(ends.split("|"))) for part in found)


@pytest.mark.parametrize("letter", ["e\u0301", "👩‍👩‍👧", "🇯🇵", "👍🏽"])
def test_no_letter_is_torn(letter: str) -> None:
    found = parts("ab" + letter * 900)
    assert all(part.startswith((letter, "ab")) for part in found)
    assert all(part.endswith(letter) for part in found)


@given(text=st.text(), at=st.integers(-2, 80))
def test_a_boundary_is_in_the_text_and_not_after_the_place(text: str, at: int) -> None:
    found = boundary_before(text, at)
    assert 0 <= found <= max(0, min(at, len(text)))
    assert boundary_before(text, found) == found


@given(text=st.text(st.characters()), language=st.sampled_from(["en", "ja", "xx"]))
def test_every_sentence_stands_in_the_text(text: str, language: str) -> None:
    assert all(part and part in text for part in parts(text, language))


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I promise that you will have it", "en"),
        ("Te prometo que estaré en la casa", "es"),
        ("Eu prometo que não vou esquecer você", "pt"),
        ("Я обещаю", "ru"),
        ("我答应你明天去北京", "zh"),
        ("明日、東京に行くと約束する", "ja"),
        ("12345 !?", "xx"),
    ],
)
def test_languages(text: str, language: str) -> None:
    assert language_of(text, "xx") == language


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "The promises I promised on the 19th", ["promis", "promis", "19th"]),
        ("ru", "У меня аллергия на орехи", ["аллерг", "орех"]),
        ("zh", "对花生过敏的", ["对花", "花生", "生过", "过敏", "敏的"]),
        ("ja", "ナッツを食べる", ["ナッツ", "食"]),
        ("xx", "e\u0301te\u0301 Nudeln", ["e\u0301te\u0301", "nudeln"]),
    ],
)
def test_terms(language: str, text: str, expected: list[str]) -> None:
    assert terms_of(text, language) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("Hi Mira!", "Good morning :)", "ok thanks", "Haha, lol", "Спасибо!", "¡Hola!"),
        *("好的，谢谢你！", "うん、ありがとう！"),
    ],
)
def test_filler(text: str) -> None:
    assert is_filler(text, ["mira"])


@pytest.mark.parametrize(
    "text", ["I quit.", "Meet me at 5", "Mira fell.", "我怀孕了。", "祖母が来る。", "Я уволился"]
)
def test_no_filler(text: str) -> None:
    assert not is_filler(text, ["mira"])


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("I'm allergic to walnuts.", "I saw some walnuts."),
        ("I promise to write.", "I like to write."),
        ("My mother died in March.", "The lamp died."),
        ("We meet on Friday at 10:30.", "We meet."),
        ("Мне 30 лет, я живу в Казани", "Там холодно"),
        ("我住在成都", "那里很冷"),
        ("誕生日は五月です", "寒いです"),
        ("Tengo que llamar mañana", "Hace frío"),
        ("Tenho medo de altura", "Faz frio"),
    ],
)
def test_salience(more: str, less: str) -> None:
    assert salience(more) > salience(less)


def test_names() -> None:
    assert names_in("We met Oda Lindqvist and Maud in Marrenburg.") == 4
    assert names_in("She said that I left.") == 0
