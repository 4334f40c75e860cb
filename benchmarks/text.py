"""Texts for benchmarks: seeded, multilingual, made of our own sentence templates.

Knows tokens, but neither messages nor files.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from talekeeper.text.tokens import tokenizer_named

__all__ = ["LANGUAGES", "Writer"]

_POOL = 600
"""Different sentences kept for each language."""

_Slots = tuple[Sequence[str], Sequence[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class _Language:
    """Templates with the slots {a} (who), {b} (what) and {c} (where); ``joint`` joins sentences."""

    weight: int
    joint: str
    templates: Sequence[str]
    slots: _Slots


LANGUAGES: Mapping[str, _Language] = {
    "en": _Language(
        6,
        " ",
        (
            "{a} put {b} down {c} and did not say a word for a long while.",
            '"If {a} ever finds {b} {c}, we leave before sunrise," she whispered.',
            "*{a} laughs, shakes off the rain and hides {b} {c}* 🌧️",
            "I still remember how {a} carried {b} all the way, and how quiet it was {c}.",
            "Do you think {a} would trade {b} for one more evening {c}?",
            "{a} had promised to look after {b}; nobody had promised anything {c}.",
        ),
        (
            ("the ferryman", "my aunt Ruth", "Captain Ilse", "the youngest of us", "old Bram"),
            ("the brass compass", "a letter without a stamp", "two jars of honey", "the lantern"),
            ("behind the mill", "at the harbour", "under the stairs", "in the glasshouse"),
        ),
    ),
    "ru": _Language(
        1,
        " ",
        (
            "{a} молча положил {b} {c}, и все поняли, что разговор окончен.",
            "— Ты правда думаешь, что {a} вернёт {b}? — спросила она {c}.",
            "*{a} улыбается и прячет {b} {c}* ❄️",
            "Я до сих пор помню, как {a} искал {b} {c} до самого утра.",
        ),
        (
            ("старый паромщик", "наш капитан", "мой брат", "смотритель маяка", "часовщик"),
            ("медный компас", "письмо без марки", "тёплый шарф", "ключ от чердака"),
            ("за мельницей", "у причала", "под лестницей", "в зимнем саду"),
        ),
    ),
    "zh": _Language(
        1,
        "",
        (
            "{a}把{b}放在{c}，很久没有说话。",
            "“要是{a}在{c}找到{b}，我们天亮前就走。”她低声说。",
            "*{a}笑了笑，把{b}藏到{c}* 🏮",
            "我一直记得{a}在{c}找{b}的那个晚上。",
        ),
        (
            ("老船夫", "姨妈", "伊尔莎船长", "灯塔看守人", "钟表匠"),
            ("铜罗盘", "没有邮票的信", "两罐蜂蜜", "阁楼的钥匙"),
            ("磨坊后面", "码头上", "楼梯下面", "温室里"),
        ),
    ),
    "ja": _Language(
        1,
        "",
        (
            "{a}は{b}を{c}に置いて、しばらく何も言わなかった。",
            "「{a}が{c}で{b}を見つけたら、夜明け前に出よう」と彼女はささやいた。",
            "*{a}は笑って、{b}を{c}に隠す* 🌸",
            "{a}が{c}で{b}を探していた夜のことを、今でも覚えている。",
        ),
        (
            ("渡し守", "叔母のルツ", "イルゼ船長", "灯台守", "時計屋"),
            ("真鍮の羅針盤", "切手のない手紙", "二つの蜂蜜の瓶", "屋根裏の鍵"),
            ("水車小屋の裏", "港", "階段の下", "温室"),
        ),
    ),
    "es": _Language(
        1,
        " ",
        (
            "{a} dejó {b} {c} y no dijo nada durante un buen rato.",
            "—¿De verdad crees que {a} va a devolver {b}? —preguntó ella {c}.",
            "*{a} sonríe y esconde {b} {c}* 🔥",
            "Todavía recuerdo cómo {a} buscaba {b} {c} hasta el amanecer.",
        ),
        (
            ("el barquero", "mi tía Rut", "la capitana Ilse", "el farero", "el relojero"),
            ("la brújula de latón", "una carta sin sello", "dos tarros de miel", "la llave"),
            ("detrás del molino", "en el puerto", "bajo la escalera", "en el invernadero"),
        ),
    ),
}
"""By ISO 639-1 code. English is half of what is written, as in most collections of such chats."""


@dataclass(frozen=True, slots=True)
class _Pool:
    sentences: Sequence[str]
    joint: str
    mean: float
    """Tokens of a sentence on average."""


class Writer:
    """Writes texts of about a given number of tokens; the same seed writes the same texts.

    Each text is in one language and practically unique, so that no cache of counts helps.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._pools = [_pool(language) for language in LANGUAGES.values()]
        self._weights = [language.weight for language in LANGUAGES.values()]

    def text(self, tokens: int) -> str:
        """A text of about ``tokens`` tokens (o200k_base), at least one sentence."""
        pool = self._random.choices(self._pools, self._weights)[0]
        count = max(1, round(tokens / pool.mean))
        return pool.joint.join(self._random.choices(pool.sentences, k=count))

    def choice(self, chances: Mapping[int, int]) -> int:
        """A number drawn by weight: {number: weight}."""
        return self._random.choices(list(chances), list(chances.values()))[0]


def _pool(language: _Language) -> _Pool:
    every = [
        template.format(
            a=who[:1].upper() + who[1:] if template.startswith("{a}") else who, b=b, c=c
        )
        for template, who, b, c in product(language.templates, *language.slots)
    ]
    sentences = random.Random(1).sample(every, min(_POOL, len(every)))
    count = tokenizer_named("o200k_base").count
    text = language.joint.join(sentences)
    return _Pool(sentences, language.joint, count(text) / len(sentences))
