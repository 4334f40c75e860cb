"""How many tokens a text takes, by named tokenizers that need no download.

It does not know models, messages or budgets: which tokenizer fits a model, and what a message
costs besides its text, is the caller's.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from hashlib import blake2b
from threading import Lock
from types import MappingProxyType
from typing import Any, Protocol

from talekeeper.domain.errors import InvalidInput
from talekeeper.text.estimate import estimate_tokens

__all__ = ["TOKENIZERS", "CachingTokenizer", "Tokenizer", "tokenizer_named"]


class Tokenizer(Protocol):
    """Counts tokens. Safe to share between threads; the same text has always the same count."""

    @property
    def name(self) -> str:
        """The name it is chosen by in settings, and stored beside its counts."""

    @property
    def approximate(self) -> bool:
        """Whether the counts are estimates. Who shows such a count says so."""

    def count(self, text: str) -> int:
        """Tokens of the text alone, without what a message costs besides; 0 for an empty text.

        Any ``str`` has a count: lone surrogates are counted as U+FFFD, and what spells a special
        token (``<|endoftext|>``) is counted as the plain text it is. Takes time linear in the
        length. The counts of two texts need not add up to the count of their concatenation.
        """


class CachingTokenizer:
    """A Tokenizer made of a function that counts; remembers the counts of longer texts.

    Texts up to ``uncached`` characters are counted anew each time. Looking a count up costs 1.3 µs
    (and a place in the cache): as much as counting 40 characters exactly, or estimating one. The
    newest ``entries`` counts are kept, about 130 bytes each.
    """

    def __init__(
        self,
        name: str,
        measure: Callable[[str], int],
        *,
        approximate: bool,
        uncached: int,
        entries: int = 16_384,
    ) -> None:
        self.name = name
        self.approximate = approximate
        self._measure = measure
        self._uncached = uncached
        self._entries = entries
        self._counts: OrderedDict[bytes, int] = OrderedDict()
        self._lock = Lock()

    def count(self, text: str) -> int:
        """Tokens of the text; see :meth:`Tokenizer.count`."""
        if len(text) <= self._uncached:
            return self._measure(text)
        # The digest, not the text, is the key: chats are long, and the cache is not to hold them.
        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        with self._lock:
            if (known := self._counts.get(key)) is not None:
                self._counts.move_to_end(key)
                return known
        tokens = self._measure(text)
        with self._lock:
            self._counts[key] = tokens
            if len(self._counts) > self._entries:
                self._counts.popitem(last=False)
        return tokens


class _BytePairCounter:
    """Counts with a vocabulary from ``rs_bpe``, loaded at the first count (0.1 s, up to 70 MB)."""

    def __init__(self, vocabulary: str) -> None:
        self._vocabulary = vocabulary
        self._count: Callable[[str], int] | None = None
        self._lock = Lock()

    def __call__(self, text: str) -> int:
        count = self._count or self._load()
        try:
            return count(text)
        except UnicodeEncodeError:
            return count(_without_lone_surrogates(text))

    def _load(self) -> Callable[[str], int]:
        with self._lock:
            if self._count is None:
                self._count = getattr(_vocabularies(), self._vocabulary)().count
            return self._count


def _vocabularies() -> Any:
    """The module with the vocabularies. InvalidInput where it cannot be imported."""
    try:
        from rs_bpe.bpe import openai
    except ImportError as error:
        raise InvalidInput(
            "The package 'rs-bpe', which counts tokens exactly, cannot be imported here: "
            f"{error}. Install it, or use the tokenizer 'approximate'."
        ) from error
    return openai


def _without_lone_surrogates(text: str) -> str:
    # Through UTF-16, so that two halves that stand together become the character they mean.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _exact(name: str) -> Tokenizer:
    # 200 characters are counted in 5 µs; most messages of a chat are shorter, and would crowd out
    # the texts for which the cache matters.
    return CachingTokenizer(name, _BytePairCounter(name), approximate=False, uncached=200)


_EXACT = ("o200k_base", "cl100k_base")
_BY_NAME: Mapping[str, Tokenizer] = MappingProxyType(
    {
        **{name: _exact(name) for name in _EXACT},
        "approximate": CachingTokenizer(
            "approximate", estimate_tokens, approximate=True, uncached=20
        ),
    }
)

TOKENIZERS: tuple[str, ...] = tuple(_BY_NAME)
"""The names there are: ``o200k_base``, ``cl100k_base``, ``approximate``."""


def tokenizer_named(name: str) -> Tokenizer:
    """The tokenizer of that name, one for the whole process, so that its cache is shared.

    InvalidInput for an unknown name (lists those there are), and for an exact tokenizer whose
    package cannot be imported on this machine.
    """
    if name not in _BY_NAME:
        raise InvalidInput(
            f"There is no tokenizer {name!r}; the tokenizers are {', '.join(TOKENIZERS)}."
        )
    if name in _EXACT:
        _vocabularies()
    return _BY_NAME[name]
