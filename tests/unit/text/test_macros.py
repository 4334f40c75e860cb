"""Macros: what each stands for, what is never touched, and that no text can misuse them."""

import re
import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talekeeper.domain.limits import LIMITS
from talekeeper.text.macros import MacroValues, expand, has_macros

VALUES = MacroValues(
    user="Alice",
    char="Bob",
    persona="{{user}} is a baker.",
    description="{{char}} keeps the inn. {{persona}}",
    personality="gruff",
    scenario="A rainy night.",
    examples="{{user}}: Hi.\n<BOT>: Hm.",
    original="Write {{char}}'s next reply.",
    now=datetime(2025, 12, 1, 19, 7, tzinfo=UTC),
    last_message="Where were you?",
    seed="chat-1",
)
NUMBERS = range(200)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{user}} meets {{char}}.", "Alice meets Bob."),
        ("{{USER}} {{User}} {{ user }} {{cHaR}}", "Alice Alice Alice Bob"),
        ("<USER> <user> <BOT> <bot> <CHAR> <Char>", "Alice Alice Bob Bob Bob Bob"),
        ("{{persona}}", "Alice is a baker."),
        ("{{description}}", "Bob keeps the inn. Alice is a baker."),
        ("{{personality}} / {{scenario}}", "gruff / A rainy night."),
        ("{{mesExamples}}", "Alice: Hi.\nBob: Hm."),
        ("{{mesexamples}}", "Alice: Hi.\nBob: Hm."),
        ("{{lastMessage}}", "Where were you?"),
        ("a{{newline}}b{{noop}}c", "a\nbc"),
        ("{{time}}|{{date}}|{{weekday}}", "7:07 PM|December 1, 2025|Monday"),
        ("{{isotime}}|{{isodate}}", "19:07|2025-12-01"),
        ("{{reverse:abc}} {{reverse::né}}", "cba én"),
        ("{{reverse:{{user}}!}}", "!ecilA"),
        ("a{{// a note}}b{{//}}c", "abc"),
        ("a{{// about {{user}} and {{unknown}} }}b", "ab"),
        ("a{{comment: shown, not sent}}b", "ab"),
        ("a{{hidden_key:dragon}}b", "ab"),
        ("{{//\nlong\nnote}}{{char}}", "Bob"),
        ("{{user}}と{{char}}は、{{user}}的朋友 — Привет, {{char}}! 👋🏽", None),
    ],
)
def test_what_each_stands_for(text: str, expected: str | None) -> None:
    if expected is None:
        expected = text.replace("{{user}}", "Alice").replace("{{char}}", "Bob")
    assert expand(text, VALUES) == expected


def test_the_group_is_its_members_and_alone_the_character() -> None:
    text = "{{group}}|{{charIfNotGroup}}|<GROUP>|<CHARIFNOTGROUP>|{{char}}"
    assert expand(text, VALUES) == "Bob|Bob|Bob|Bob|Bob"
    group = replace(VALUES, group=("Bob", "Charlie"))
    assert expand(text, group) == "Bob, Charlie|Bob, Charlie|Bob, Charlie|Bob, Charlie|Bob"


def test_a_default_user_name_exists_and_absent_values_are_empty() -> None:
    bare = MacroValues(char="Bob")
    assert expand("{{user}}", bare) == "User"
    for name in ("persona", "scenario", "original", "lastMessage", "time", "date", "isodate"):
        assert expand(f"[{{{{{name}}}}}]", bare) == "[]"


def test_original_works_once_per_text() -> None:
    assert expand("{{original}} Be kind. {{original}}", VALUES) == (
        "Write Bob's next reply. Be kind. "
    )
    assert expand("{{original}}", VALUES) == expand("{{original}}", VALUES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n\n{{trim}}\n\nb", "ab"),
        ("a\r\n{{trim}}\r\nb", "ab"),
        ("a \n{{trim}}\n b", "a  b"),
        ("\n{{trim}}\n{{trim}}\n", ""),
        ("a\n{{persona}}\n{{trim}}b", "ab"),  # the persona is empty here
        ("a\n{{noop}}{{trim}}b", "ab"),
        ("a\n\nb{{trim}}", "a\n\nb"),
        ("x{{reverse:a\n{{trim}}\nb}}y", "xbay"),
    ],
)
def test_trim_eats_the_line_ends_around_it(text: str, expected: str) -> None:
    assert expand(text, replace(VALUES, persona="")) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "{{unknown}}",
        "{{unknown:a,b}} {{users}} {{char2}} {{ch ar}}",
        "{user} {{user} {user}} }} {{",
        "{{random:a,b",
        "{{random}} {{pick}} {{roll}} {{reverse}} {{comment}}",
        "{{outlet::lore}} {{getvar::x}} {{idle_duration}}",
        "<b>bold</b> < USER > <users> a<b",
        "\\frac{{a}{b}}",
        "{{uſer}} {{ſcenario}} <uſer>",  # the long s folds to an ASCII letter
        "${{ env.NAME }} {% if x %}",
        "\ud800{{x}}",
    ],
)
def test_unknown_macros_stay_as_they_are(text: str) -> None:
    assert expand(text, VALUES) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{{user}}}", "{Alice}"),
        ("{{{{user}}}}", "{{Alice}}"),
        ("{{foo {{user}} }}", "{{foo Alice }}"),
        ("{{random:{{foo}}}}", "{{foo}}"),
        ("{{random:{{{{foo}}}}}}", "{{{{foo}}}}"),
        ("{{random:{x}}}", "{x}"),  # two braces close the macro, the third is text
        ("}}{{user}}{{", "}}Alice{{"),
        ("{{random:a,{{user}}", "{{random:a,Alice"),
        ("{{reverse:{{// gone }}ab}}", "ba"),
    ],
)
def test_braces_around_and_inside(text: str, expected: str) -> None:
    assert expand(text, VALUES) == expected


# -- chance


def options_of(text: str, macro: str = "") -> set[str]:
    return {expand(text, replace(VALUES, seed=f"{macro}{n}")) for n in NUMBERS}


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("{{random:a,b,c}}", {"a", "b", "c"}),
        ("{{random: a , b }}", {"a", "b"}),
        ("{{random::a::b::c}}", {"a", "b", "c"}),
        ("{{random::red, dark::green}}", {"red, dark", "green"}),
        (r"{{random:yes\, please,no}}", {"yes, please", "no"}),
        ("{{random:only}}", {"only"}),
        ("{{random:}}", {""}),
        ("{{random:a,,b}}", {"a", "", "b"}),
        ("{{random:雨,雪,晴れ}}", {"雨", "雪", "晴れ"}),
        ("{{pick:a,b,c}}", {"a", "b", "c"}),
        ("{{PICK::a::b}}", {"a", "b"}),
        ("{{random:{{user}},{{char}},x}}", {"Alice", "Bob", "x"}),
        ("{{random:{{reverse:ab}},{{unknown}}}}", {"ba", "{{unknown}}"}),
    ],
)
def test_every_option_can_come(text: str, options: set[str]) -> None:
    assert options_of(text) == options


def test_a_comma_in_a_name_does_not_divide_the_list() -> None:
    values = replace(VALUES, user="Alice, the Great", char="a::b")
    for n in NUMBERS:
        chosen = expand("{{random:{{user}},{{user}}}}", replace(values, seed=str(n)))
        assert chosen == "Alice, the Great"
        assert expand("{{random:{{char}},c}}", replace(values, seed=str(n))) in ("a::b", "c")


@pytest.mark.parametrize(
    ("formula", "results"),
    [
        ("{{roll:6}}", range(1, 7)),
        ("{{roll:d6}}", range(1, 7)),
        ("{{roll::1D4}}", range(1, 5)),
        ("{{roll d4}}", range(1, 5)),
        ("{{roll: 2d2 + 1}}", range(3, 6)),
        ("{{roll:d4-5}}", range(-4, 0)),
        ("{{roll:1}}", range(1, 2)),
    ],
)
def test_dice_show_every_face_and_no_other(formula: str, results: range) -> None:
    assert {int(rolled) for rolled in options_of(formula)} == set(results)


@pytest.mark.parametrize(
    "formula", ["x", "0", "d0", "0d6", "101d6", "1.5", "6d", "-3", "٣", "9" * 50]
)
def test_what_is_no_formula_rolls_nothing(formula: str) -> None:
    assert expand(f"[{{{{roll:{formula}}}}}]", VALUES) == "[]"


def test_dice_are_fair_enough() -> None:
    rolled = expand("{{roll:6}} " * 6000, VALUES).split()
    for face in "123456":
        assert 850 < rolled.count(face) < 1150


def test_random_differs_from_place_to_place_and_pick_stays_where_text_moves() -> None:
    text = "{{random:a,b,c,d,e,f,g,h}}" * 20
    assert len(set(expand(text, VALUES))) > 3
    pick = "{{pick:a,b,c,d,e,f,g,h}}"
    for n in NUMBERS:
        values = replace(VALUES, seed=str(n))
        assert expand(f"Longer now. {pick}", values).endswith(expand(pick, values))
    assert len(options_of(pick * 2)) > 20  # two picks of one list are two places


def test_another_seed_is_another_draw_and_the_same_seed_the_same() -> None:
    text = "{{random:1,2,3,4,5,6,7,8,9}}{{pick:1,2,3,4,5,6,7,8,9}}{{roll:9}}"
    assert len(options_of(text)) > 100
    assert expand(text, VALUES) == expand(text, VALUES)
    # Known draws: they must not change from one release, or one machine, to the next.
    assert expand(text, VALUES) == "242"


# -- texts in texts


def test_a_text_inside_itself_is_empty() -> None:
    values = replace(
        VALUES, persona="I am {{persona}}.", scenario="{{description}}", description="{{scenario}}!"
    )
    assert expand("{{persona}}", values) == "I am ."
    assert expand("{{scenario}}", values) == "!"
    assert expand("{{description}}", values) == "!"


def test_a_text_names_a_text_that_names_a_person_and_no_deeper() -> None:
    values = replace(
        VALUES,
        description="1 {{scenario}}",
        scenario="2 {{user}} {{personality}}",
        personality="3",
    )
    assert expand("{{description}}", values) == "1 2 Alice "
    assert expand("{{scenario}}", values) == "2 Alice 3"


def test_names_are_put_in_as_they_are() -> None:
    values = replace(VALUES, user="{{char}}", char="{{user}}", group=("<USER>", "{{roll:6}}"))
    assert expand("{{user}} {{char}} {{group}}", values) == "{{char}} {{user}} <USER>, {{roll:6}}"


def test_what_is_put_in_cannot_make_a_macro_with_what_stands_around_it() -> None:
    values = replace(VALUES, persona="{{", scenario="user}}", user="U}}")
    assert expand("{{persona}}{{scenario}}", values) == "{{user}}"
    assert expand("{{reverse:{{user}} x}}", values) == "x }}U"


def test_words_of_others_cannot_make_the_text_grow_without_bound() -> None:
    bomb = MacroValues(
        char="C" * 300,
        user="U" * 300,
        persona="{{scenario}}" * 5_000,
        scenario="{{last_message}}{{lastMessage}}" * 5_000,
        last_message="{{persona}}{{user}}" * 5_000,
    )
    start = time.perf_counter()
    for text in ("{{persona}}", "{{lastMessage}}" * 5_000, "{{user}}" * 20_000, "{{scenario}}"):
        assert len(expand(text, bomb)) <= len(text) + LIMITS.message_characters
    assert time.perf_counter() - start < 60


def test_reading_what_comes_to_nothing_is_bounded_too() -> None:
    values = MacroValues(char="Bob", persona="{{// " + "x" * 200_000 + "}}")
    start = time.perf_counter()
    assert expand("{{persona}}" * 20_000, values) == ""
    assert time.perf_counter() - start < 60


def test_a_long_honest_text_loses_nothing() -> None:
    text = "{{char}} looks at {{user}} and smiles. " * 5_000
    assert expand(text, VALUES) == "Bob looks at Alice and smiles. " * 5_000


# -- speed

HOSTILE = [
    "{{", "{", "}}", "{{a", "{{ ", "{{user", "{{random:", "{{random:a,", "{{reverse:é", "{{//", "<",
    "<user", "{{a}}", "{{user}}", "{{trim}}", "\n{{trim}}", "{{roll:100d6}}", "{{pick:a,b}}",
    "{{random   ", "{{{", "}", "{{}}", "{{:", "\\,", "{{comment:{{",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE, ids=ascii)
def test_hostile_text_takes_linear_time(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    start = time.perf_counter()
    expand(text, VALUES)
    has_macros(text)
    assert time.perf_counter() - start < 30  # 0.05 to 0.3 s; a quadratic method takes minutes


@pytest.mark.parametrize(
    "text",
    [
        "{{a" * 20_000 + "}}" * 20_000,
        "{{reverse:" * 9_000 + "}}" * 9_000,
        "{{reverse:" * 4 + "é" * 100_000 + "}}" * 4,
        "{{random:" + "," * 100_000 + "}}",
        "{{random:" + "::" * 50_000 + "}}",
        "{{" + " " * 100_000,
        "{{roll:" + "9" * 100_000 + "}}",
        "{{roll:6" + " " * 100_000 + "x}}",
        "{{user" + " " * 100_000 + "}}",
    ],
    ids=lambda text: ascii(text[:12]),
)
def test_hostile_nesting_takes_linear_time(text: str) -> None:
    start = time.perf_counter()
    expand(text, VALUES)
    assert time.perf_counter() - start < 30


def test_braces_alone_are_fast() -> None:
    text = "{{" * 50_000
    fastest = min(timed(text) for _ in range(5))
    assert fastest < 2


def timed(text: str) -> float:
    start = time.perf_counter()
    assert expand(text, VALUES) == text
    return time.perf_counter() - start


def test_a_text_without_macros_is_returned_itself() -> None:
    text = "Nothing here to expand. " * 1_000
    assert expand(text, VALUES) is text
    assert not has_macros(text)


# -- properties

PLAIN = st.text(alphabet=st.characters(exclude_characters="{}<>"), max_size=12)
NAMES = (
    "user char charIfNotGroup group persona description personality scenario mesExamples original "
    "newline noop trim time date weekday isotime isodate lastMessage"
)
SIMPLE = st.sampled_from(NAMES.split())
KNOWN = re.compile(
    rf"\{{\{{\s*(?:{NAMES.replace(' ', '|')})\s*\}}\}}"
    r"|\{\{\s*(?:random|pick|roll|reverse|comment|hidden_key)\s*:|\{\{\s*//"
    r"|<(?:user|bot|char|charifnotgroup|group)>",
    re.IGNORECASE | re.ASCII,
)
MACROS = st.recursive(
    st.one_of(
        PLAIN,
        SIMPLE.map(lambda name: f"{{{{{name}}}}}"),
        SIMPLE.map(lambda name: f"{{{{{name.upper()}}}}}"),
        st.sampled_from(["<USER>", "<bot>", "<Char>", "<GROUP>", "<charIfNotGroup>"]),
        st.sampled_from(["{{unknown}}", "{{x:y}}", "{{roll:2d6+1}}", "{{random::a::b}}"]),
    ),
    lambda inner: st.tuples(
        st.sampled_from(["random:", "pick::", "reverse:", "comment:", "hidden_key:", "// "]),
        st.lists(inner, max_size=3).map("".join),
    ).map(lambda call: f"{{{{{call[0]}{call[1]}}}}}"),
    max_leaves=4,
)
TEXTS = st.lists(MACROS, max_size=6).map("".join)
ANYTHING = st.text(alphabet="{}<>:/, \\\nuserchapind()é你😀", max_size=80)


@given(TEXTS)
def test_no_known_macro_is_left(text: str) -> None:
    expanded = expand(text, replace(VALUES, group=("Bob", "Charlie")))
    # Reversed, an unknown macro or a tag's letters may spell anything; nothing else may.
    if "reverse" not in text.lower():
        assert not KNOWN.search(expanded)


@given(TEXTS | ANYTHING)
def test_the_same_in_is_the_same_out(text: str) -> None:
    assert expand(text, VALUES) == expand(text, VALUES)


@given(TEXTS | ANYTHING)
def test_without_macros_nothing_changes(text: str) -> None:
    if not has_macros(text):
        assert expand(text, VALUES) == text
    if expand(text, VALUES) != text:
        assert has_macros(text)


@given(st.text(alphabet="abc{} :,\n你é😀", max_size=60))
def test_braces_without_known_names_are_never_touched(text: str) -> None:
    assert expand(text, VALUES) == text


@given(PLAIN, PLAIN)
def test_plain_text_around_a_macro_is_kept(before: str, after: str) -> None:
    assert expand(f"{before}{{{{user}}}}{after}", VALUES) == f"{before}Alice{after}"


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=200))
def test_values_are_kept_whatever_they_hold(user: str, char: str, message: str) -> None:
    values = MacroValues(user=user, char=char, last_message=message)
    assert expand("{{user}}|<BOT>", values) == f"{user}|{char}"
    if not has_macros(message):
        assert expand("{{lastMessage}}", values) == message


@given(ANYTHING, ANYTHING, ANYTHING)
def test_hostile_values_end(persona: str, scenario: str, text: str) -> None:
    values = MacroValues(
        char="{{persona}}", user="{{char}}", persona=persona, scenario=scenario + "{{persona}}"
    )
    expanded = expand(text + "{{persona}}{{scenario}}", values)
    assert len(expanded) <= len(text) + LIMITS.message_characters
