"""Terms of a text, to compare texts by: stems of words, pairs of characters for East Asia.

It does not know how often a term occurs elsewhere, nor what is compared.
"""

import re
from collections import Counter
from functools import lru_cache
from threading import Lock

import snowballstemmer

from talekeeper.text.stopwords import STOP_CHARACTERS, STOP_WORDS

__all__ = ["language_of", "terms_of"]

_KANA = re.compile("[\u3041-\u3096\u30a1-\u30fa]")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_CYRILLIC = re.compile("[\u0400-\u04ff]")
_LETTERS = re.compile(r"[^\W\d_]+")
_SAMPLE = 4_000
"""Characters by which the language of a text is told."""

_LATIN = ("en", "es", "pt")
_STEMMERS = {
    "en": snowballstemmer.stemmer("english"),
    "ru": snowballstemmer.stemmer("russian"),
    "es": snowballstemmer.stemmer("spanish"),
    "pt": snowballstemmer.stemmer("portuguese"),
}
_LOCK = Lock()
"""A stemmer holds the word it works on."""

# A word with its marks and apostrophe, a number, or a run of one East Asian script.
_PIECE = re.compile(
    "(?P<han>[\u3400-\u4dbf\u4e00-\u9fff\u3005]+)"
    "|(?P<hiragana>[\u3041-\u309f]+)"
    "|(?P<word>[\u30a1-\u30ff]+|(?:(?![\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff])\\w"
    "[\u0300-\u036f]*+)+)"
)
_LONGEST = 40
"""Letters of a word that count; longer ones are no words."""


def language_of(text: str, otherwise: str = "en") -> str:
    """The two-letter code of the language a text is most likely in.

    One of en, ru, es, pt, zh, ja; ``otherwise`` where nothing tells.
    """
    text = text[:_SAMPLE]
    if text.isascii():
        return _latin(text, otherwise)
    kana, han = len(_KANA.findall(text)), len(_HAN.findall(text))
    cyrillic = len(_CYRILLIC.findall(text))
    if (kana + han) * 3 > sum(map(str.isalpha, text)):
        return "ja" if kana * 10 > han else "zh"
    if cyrillic * 2 > sum(map(str.isalpha, text)):
        return "ru"
    return _latin(text, otherwise)


def _latin(text: str, otherwise: str) -> str:
    words = Counter(_LETTERS.findall(text.casefold()))
    hits = {
        code: sum(times for word, times in words.items() if word in STOP_WORDS[code])
        for code in _LATIN
    }
    best = max(_LATIN, key=lambda code: (hits[code], code == otherwise))
    return best if hits[best] > 1 else otherwise


def terms_of(text: str, language: str) -> list[str]:
    """The terms in their order, with repeats; words of grammar are left out."""
    stop = STOP_WORDS.get(language, frozenset())
    found: list[str] = []
    for match in _PIECE.finditer(text.casefold()):
        piece = match[0]
        if match.lastgroup == "word":
            if piece not in stop and (len(piece) > 1 or piece.isdigit()):
                found.append(_stem(piece[:_LONGEST], language))
        elif match.lastgroup == "han":
            found += _pairs(piece, language)
    return found


# A stem takes 40 µs, and chats repeat their words; 32,768 of them are about 6 MB.
@lru_cache(maxsize=32_768)
def _stem(word: str, language: str) -> str:
    if language not in _STEMMERS or not word.isalpha():
        return word
    with _LOCK:
        stem: str = _STEMMERS[language].stemWord(word)
    return stem


def _pairs(run: str, language: str) -> list[str]:
    """Each two neighbours; a single character stands for itself."""
    stop = STOP_CHARACTERS if language == "zh" else frozenset()
    if len(run) == 1:
        return [] if run in stop else [run]
    pairs = (run[at : at + 2] for at in range(len(run) - 1))
    return [pair for pair in pairs if not (pair[0] in stop and pair[1] in stop)]
