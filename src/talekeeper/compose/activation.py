"""Which entries of lorebooks fire. The rules and their order are those of SillyTavern.

Nothing here is drawn by chance: what has a probability is decided by a hash of the chat, the
message and the entry, so that a preview is the reality. It knows no store, clock or budget.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from talekeeper.compose.chance import drawn, one_of_each_group
from talekeeper.compose.lore_index import CompiledBook, Ready
from talekeeper.compose.scene import Activation, Fired, Scene, Silence, Why
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.lore import Entry, Extra
from talekeeper.text.keys import Key, KeyIndex

__all__ = ["activate"]


def activate(books: Sequence[CompiledBook], scene: Scene) -> Activation:
    """Decide for all entries of these books."""
    hunts = [_Hunt(book, scene) for book in books]
    level = 0
    texts: list[str] = []
    while True:
        fresh: list[Fired] = []
        for hunt in hunts:
            if level and not hunt.book.book.recursive:
                continue
            if level:
                hunt.hear(texts)
            fresh += hunt.fire(level)
        texts = [scene.expand(one.entry.content) for one in fresh if _tells_on(hunts, one)]
        level += 1
        waiting = any(hunt.waits_for(level) for hunt in hunts)
        if level > LIMITS.recursion_levels or not (texts or (waiting and _anything(hunts))):
            break
    return Activation(
        fired=tuple(one for hunt in hunts for one in hunt.fired.values()),
        silent={hunt.book.book.id: hunt.silent() for hunt in hunts},
        why_not={
            (hunt.book.book.id, number): why
            for hunt in hunts
            for number, why in hunt.refused.items()
        },
        notes=tuple(note for hunt in hunts for note in hunt.notes()),
    )


def _anything(hunts: Sequence["_Hunt"]) -> bool:
    return any(hunt.fired for hunt in hunts)


def _tells_on(hunts: Sequence["_Hunt"], one: Fired) -> bool:
    """Whether what fired is searched for further keywords."""
    if one.entry.prevent_recursion:
        return False
    return any(hunt.book.book.recursive for hunt in hunts if hunt.book.book.id == one.book)


class _Hunt:
    """The search for the entries of one book."""

    def __init__(self, book: CompiledBook, scene: Scene) -> None:
        self.book = book
        self.fired: dict[int, Fired] = {}
        self.refused: dict[int, Silence] = {}
        self._scene = scene
        self._slow: set[int] = set()
        self._closed: set[str] = set()
        self._newest: dict[int, int] = {}
        self._recursed: set[int] = set()
        self._extras: dict[Extra, set[int]] = {}
        self._macros = _with_macros(book, scene)
        names = book.book.names
        for at, (speaker, text) in enumerate(scene.messages[: book.depth]):
            for key in book.index.find(f"{speaker}: {text}" if names else text, self._slow):
                self._newest.setdefault(key, at)

    def hear(self, texts: Sequence[str]) -> None:
        """Search what fired for keywords."""
        for text in texts:
            self._recursed |= self.book.index.find(text, self._slow)

    def waits_for(self, level: int) -> bool:
        """Whether an entry may fire at this level of recursion that could not before."""
        if not self.book.book.recursive:
            return False
        return any(
            self.book.ready[number].entry.delay_until_recursion == level
            for key in self._newest
            for number in self.book.by_key[key]
        )

    def _candidates(self, level: int) -> Iterator[Fired]:
        """The entries that would fire now, were it not for groups and chance."""
        book = self.book
        keys = self._newest.keys() | self._recursed
        numbers = {number for key in keys for number in book.by_key[key]}
        numbers.update(self._extra_candidates())
        numbers.update(number for number, key in self._macros if key)
        if not level:
            numbers.update(book.always)
        for number in sorted(numbers):
            if number in self.fired or self.refused.get(number) in ("group", "probability"):
                continue
            one = book.ready[number]
            found = self._judged(number, one, level)
            if isinstance(found, Fired):
                self.refused.pop(number, None)
                yield found
            elif found != "not_activated":
                self.refused[number] = found

    def _extra_candidates(self) -> Iterator[int]:
        """Entries that search more than the conversation."""
        for number in self.book.searching_more:
            one = self.book.ready[number]
            if self._matched(one, one.keys):
                yield number

    def _judged(self, number: int, one: Ready, level: int) -> Fired | Silence:
        """The rules, in their order."""
        entry, scene = one.entry, self._scene
        refused = _refused(one, scene, level)
        if refused is not None:
            return refused
        digest = self.book.digest_of(number)
        firing = scene.before.get((self.book.book.id, number))
        passed = None
        if firing is not None and firing.digest == digest:
            passed = scene.number - firing.number
        if passed is not None and _cooling(one, passed):
            return "cooldown"
        why, matched = self._why(number, one, passed, level)
        if why is None:
            secondary = bool(matched)
            return "secondary" if secondary else "not_activated"
        keys = tuple(self.book.index.keys[key].text for key in matched)
        share = len(matched) / len(one.keys) if one.keys else 1.0
        return Fired(
            book=self.book.book.id,
            entry=entry,
            why=why,
            keys=keys,
            relevance=1.0 if why in ("constant", "forced") else share,
            level=level,
            digest=digest,
            first_to_go=one.conditions.first_to_go,
        )

    def _why(
        self, number: int, one: Ready, passed: int | None, level: int
    ) -> tuple[Why | None, tuple[int, ...]]:
        """Why an entry fires, if it does, and which of its keys occur."""
        entry, conditions = one.entry, one.conditions
        matched = self._matched(one, one.keys)
        if conditions.forced:
            return "forced", matched
        if entry.constant:
            return "constant", matched
        if passed is not None and passed > 0 and (passed < entry.sticky or conditions.latch):
            return "sticky", matched
        if not matched and (number, True) not in self._macros:
            return None, ()
        others = self._matched(one, one.secondary)
        if one.secondary and not _logic(entry, len(others), len(one.secondary)):
            return None, matched
        if not all(self._matched(one, some) for some in one.additional):
            return None, matched
        if self._matched(one, one.excluding):
            return None, matched
        heard = level and not any(self._in_talk(one, key) for key in matched)
        return "recursion" if heard else "key", matched

    def _matched(self, one: Ready, keys: Iterable[int]) -> tuple[int, ...]:
        return tuple(key for key in keys if self._occurs(one, key))

    def _occurs(self, one: Ready, key: int) -> bool:
        if self._in_talk(one, key):
            return True
        if key in self._recursed and not one.entry.exclude_recursion:
            return True
        return any(key in self._in_extra(extra) for extra in one.entry.extras)

    def _in_talk(self, one: Ready, key: int) -> bool:
        newest = self._newest.get(key)
        return newest is not None and newest < self.book.depth_of(one.entry)

    def _in_extra(self, extra: Extra) -> set[int]:
        if extra not in self._extras:
            text = self._scene.expand(self._scene.extras.get(extra, ""))
            self._extras[extra] = self.book.index.find(text, self._slow) if text else set()
        return self._extras[extra]

    def fire(self, level: int) -> list[Fired]:
        """Fire what groups and chance let fire; what still lasts is not drawn again."""
        fresh: list[Fired] = []
        found = list(self._candidates(level))
        found, gone = one_of_each_group(found, self._closed, self._scene)
        self.refused.update(dict.fromkeys(gone, "group"))
        for one in found:
            likely = one.entry.probability
            chance = 100 * drawn(self._scene.seed, one.book, one.entry.id)
            if likely < 100 and one.why != "sticky" and chance >= likely:
                self.refused[one.entry.id] = "probability"
                continue
            self.fired[one.entry.id] = one
            fresh.append(one)
        return fresh

    def silent(self) -> dict[Silence, int]:
        """How many entries did not fire, by reason."""
        counts = Counter[Silence](self.refused.values())
        counts["disabled"] += self.book.disabled
        rest = self.book.size - len(self.fired) - counts.total()
        counts["not_activated"] += rest
        return {reason: count for reason, count in counts.items() if count > 0}

    def notes(self) -> Iterator[str]:
        """Plain sentences about patterns that took too long."""
        for key in sorted(self._slow):
            text, book = self.book.index.keys[key].text, self.book.book.name
            yield f"The keyword {text[:60]!r} of {book!r} takes too long to search; passed over."


def _with_macros(book: CompiledBook, scene: Scene) -> frozenset[tuple[int, bool]]:
    """(entry, True) for those of which a key with macros occurs in the conversation."""
    found: set[tuple[int, bool]] = set()
    for number in book.macros:
        one = book.ready[number]
        entry = one.entry
        keys = [scene.expand(key) for key in one.with_macros]
        index = KeyIndex(
            [
                Key(key, entry.match == "word", entry.case_sensitive, entry.match == "regex")
                for key in keys
                if key.strip()
            ]
        )
        for speaker, text in scene.messages[: book.depth_of(entry)]:
            if index.find(f"{speaker}: {text}" if book.book.names else text, set()):
                found.add((number, True))
                break
    return frozenset(found)


def _refused(one: Ready, scene: Scene, level: int) -> Silence | None:
    """Why an entry cannot fire whatever is said."""
    entry, conditions = one.entry, one.conditions
    if not entry.enabled:
        return "disabled"
    if entry.triggers and scene.trigger not in entry.triggers:
        return "trigger"
    if entry.characters is not None and not _for_speaker(one, scene):
        return "character"
    if scene.count < entry.delay:
        return "delay"
    if entry.delay_until_recursion > level:
        return "not_activated"
    if conditions.forced is False or scene.spoken < conditions.only_after:
        return "decorator"
    if conditions.only_every and scene.spoken % conditions.only_every:
        return "decorator"
    return None


def _for_speaker(one: Ready, scene: Scene) -> bool:
    wanted = one.entry.characters
    if wanted is None or not (wanted.names or wanted.tags):
        return True
    names = {name.casefold() for name in wanted.names}
    tags = {tag.casefold() for tag in wanted.tags}
    fits = scene.speaker.casefold() in names or any(tag.casefold() in tags for tag in scene.tags)
    return fits != wanted.exclude


def _cooling(one: Ready, passed: int) -> bool:
    """Whether an entry rests, so many messages after it fired: when it no longer lasts."""
    if one.conditions.latch is False:
        return True
    sticky, cooldown = one.entry.sticky, one.entry.cooldown
    return cooldown > 0 and passed > 0 and sticky <= passed < sticky + cooldown


def _logic(entry: Entry, matched: int, all_of_them: int) -> bool:
    """What the secondary keys decide."""
    return {
        "and_any": matched > 0,
        "and_all": matched == all_of_them,
        "not_any": matched == 0,
        "not_all": matched < all_of_them,
    }[entry.logic]
