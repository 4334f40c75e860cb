"""Random lives of chats: everything that can be done to them, in any order."""

import json
from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from talekeeper import Context, NotFound, UnreadableFile
from talekeeper.domain.chat import Role
from tests.properties.importing import expected_outcome, take_over
from tests.properties.isolation import FOREIGN, Theirs
from tests.properties.reference import Said, Told, tokens_of
from tests.properties.stored import check_file
from tests.properties.summing import Summing, maybe, pick, who
from tests.properties.tales import Tale, TaleLine, header_line, message_line, tool_line
from tests.properties.world import (
    BASE,
    CHARACTERS,
    MOST_CHATS,
    PERSONAS,
    TITLE,
    Account,
    regime,
    same,
    tool_calls,
)

__all__ = ["Lives"]

STYLES = (
    "{word} {filler}",
    "{{{{user}}}}, {word}! {filler}",
    "{filler}: «{word}» — сказала {{{{char}}}}",
    "🦊{word}💬 {filler}",
    "{filler}。{word}、{{{{user}}}}さん",
)
style = st.sampled_from(STYLES)
filler = st.sampled_from((0, 1, 2, 4, 10))
call_ids = st.sampled_from(((), ("c1",), ("c1", "c2"), ("call_0",)))


# Whose keeper has no model for them is told so first.
OVER_THE_FENCE = sorted(
    name for name in FOREIGN if not name.startswith(("reply", "memories.draft", "memories.gener"))
)


class Lives(Summing):
    """What people, programs and files do."""

    # Saying

    @rule(name=who, number=pick, form=style, words=filler)
    def say(self, name: str, number: int, form: str, words: int) -> None:
        account, told = self.chat(name, number)
        said = self.new_text(form, words)
        before = self.composed(account, told, input=said)
        self.add(account, told, "user", said)
        after = self.composed(account, told)
        assert _without_sources(before) == _without_sources(after), (
            "recording the input changed the prompt"
        )

    @rule(name=who, number=pick, by=pick, form=style, words=filler, calls=call_ids, silent=maybe)
    def reply(
        self,
        name: str,
        number: int,
        by: int,
        form: str,
        words: int,
        calls: tuple[str, ...],
        silent: bool,
    ) -> None:
        account, told = self.chat(name, number)
        if told.members:
            speaker = told.members[by % len(told.members)]
            said = "" if calls and silent else self.new_text(form, words)
            self.add(account, told, "assistant", said, speaker=speaker, calls=tool_calls(calls))
            for key in calls[: by % 4]:
                self.add(account, told, "tool", self.new_text("{word}", 1), answers=key)

    @rule(name=who, number=pick, key=st.sampled_from((None, "c1", "c2", "call_0")), form=style)
    def interrupt(self, name: str, number: int, key: str | None, form: str) -> None:
        """The narrator, or a tool that answers whomever it pleases."""
        account, told = self.chat(name, number)
        role: Role = "system" if key is None else "tool"
        self.add(account, told, role, self.new_text(form, 1), answers=key)

    @rule(name=who, number=pick, turns=st.sampled_from((3, 8, 20, 26)), words=filler)
    def talk(self, name: str, number: int, turns: int, words: int) -> None:
        account, told = self.chat(name, number)
        for _ in range(turns if told.members else 0):
            self.add(account, told, "user", self.new_text("{word} {filler}", words % 4))
            said = self.new_text("{word} {filler}", words % 3)
            self.add(account, told, "assistant", said, speaker=told.members[0])

    @initialize(regimes=st.tuples(regime, regime), turns=st.sampled_from((0, 10, 20)), words=filler)
    def be_born(
        self, regimes: tuple[dict[str, Any], dict[str, Any]], turns: int, words: int
    ) -> None:
        """Some lives begin in the middle of a chat, with a summary."""
        self.begin(regimes)
        self.talk_on(turns, words, settling=True)

    @rule(turns=st.sampled_from((6, 12)), words=filler, settling=maybe)
    def talk_on(self, turns: int, words: int, settling: bool) -> None:
        """Long chats are where windows move."""
        self.talk("alice", 0, turns, words)
        if settling:
            self.settle("alice", 0)

    # Changing

    @rule(name=who, number=pick, at=pick, form=style, words=filler, calls=call_ids)
    def swipe(
        self, name: str, number: int, at: int, form: str, words: int, calls: tuple[str, ...]
    ) -> None:
        account, told = self.chat(name, number)
        said = _at(told.messages, at)
        if said is None:
            return
        new = self.new_text(form, words)
        asked = tool_calls(calls) if said.role == "assistant" else ()
        messages = account.keeper.messages
        found = self.do(messages.add_swipe(told.id, said.number, new, tool_calls=asked))
        said.texts.append(new)
        said.tokens.append(tokens_of(account.in_force(told), new))
        said.calls.append(asked)
        said.active = len(said.texts) - 1
        told.raw = None
        same(found, said)

    @rule(name=who, number=pick, at=pick, swipe=pick)
    def choose(self, name: str, number: int, at: int, swipe: int) -> None:
        account, told = self.chat(name, number)
        said = _at(told.messages, at)
        if said is not None:
            said.active = swipe % len(said.texts)
            messages = account.keeper.messages
            same(self.do(messages.choose_swipe(told.id, said.number, said.active)), said)
            told.raw = None

    @rule(name=who, number=pick, at=pick, swipe=pick, form=style, words=filler)
    def edit(self, name: str, number: int, at: int, swipe: int, form: str, words: int) -> None:
        account, told = self.chat(name, number)
        said = _at(told.messages, at)
        if said is not None:
            which, new = swipe % len(said.texts), self.new_text(form, words)
            messages = account.keeper.messages
            found = self.do(messages.edit(told.id, said.number, new, swipe=which))
            said.texts[which] = new
            said.tokens[which] = tokens_of(account.in_force(told), new)
            told.raw = None
            same(found, said)

    @rule(name=who, number=pick, at=pick, whole_turn=maybe)
    def delete(self, name: str, number: int, at: int, whole_turn: bool) -> None:
        account, told = self.chat(name, number)
        said = _at(told.messages, at)
        if said is None:
            return
        messages = account.keeper.messages
        turn = {m.number for m in told.messages if m.turn == said.turn}
        if whole_turn:
            gone = set(self.do(messages.delete_turn(told.id, said.number)))
            assert gone == turn
        else:
            gone = set(self.do(messages.delete(told.id, said.number)))
            assert gone == told.group(said)
        told.take_away(gone)
        told.raw = None

    @rule(name=who, number=pick, at=pick)
    def rewind(self, name: str, number: int, at: int) -> None:
        account, told = self.chat(name, number)
        last = at % (told.next_number + 1)
        above = [m for m in told.messages if m.number > last]
        gone = {number for m in above for number in (m.number, *told.group(m))}
        assert self.do(account.keeper.chats.rewind(told.id, last)) == len(gone)
        if gone:
            told.take_away(gone)
            told.raw = None

    @rule(name=who, number=pick, at=pick, out=maybe)
    def exclude(self, name: str, number: int, at: int, out: bool) -> None:
        account, told = self.chat(name, number)
        said = _at(told.messages, at)
        if said is None:
            return
        messages = account.keeper.messages
        change = messages.exclude if out else messages.include
        changed = set(self.do(change(told.id, said.number)))
        group = [told.numbered(number) for number in told.group(said)]
        assert changed == {message.number for message in group if message.excluded != out}
        for message in group:
            message.excluded = out
        if changed:
            told.raw = None

    @rule(name=who, number=pick, at=pick, out=maybe)
    def forget(self, name: str, number: int, at: int, out: bool) -> None:
        account, told = self.chat(name, number)
        said = _at(told.messages, at)
        if said is None:
            return
        before = self.composed(account, told)
        messages = account.keeper.messages
        change = messages.forget if out else messages.unforget
        changed = set(self.do(change(told.id, said.number)))
        group = [told.numbered(number) for number in told.group(said)]
        assert changed == {message.number for message in group if message.forget != out}
        for message in group:
            message.forget = out
        after = self.composed(account, told)
        if not (_told_elsewhere(before) or _told_elsewhere(after)):
            assert before == after, "forgetting changed the prompt"

    # Chats

    @rule(name=who, group=maybe, persona=st.sampled_from((None, *PERSONAS)), greet=maybe)
    def start_another(self, name: str, group: bool, persona: str | None, greet: bool) -> None:
        if len(self.accounts[name].chats) < MOST_CHATS:
            self.start(name, group=group, persona=persona, greet=greet)

    @rule(name=who, number=pick, at=pick)
    def fork(self, name: str, number: int, at: int) -> None:
        account, told = self.chat(name, number)
        said = _at(told.messages, at)
        if said is not None and len(account.chats) < MOST_CHATS:
            fork = self.do(account.keeper.chats.fork(told.id, said.number))
            assert fork.forked_from == (told.id, said.number)
            account.chats.append(told.copy(fork.id, said.number))
            self.touched.append((account, account.chats[-1]))

    @rule(name=who, number=pick)
    def delete_chat(self, name: str, number: int) -> None:
        account, told = self.chat(name, number)
        if len(account.chats) > 2:
            self.do(account.keeper.chats.delete(told.id))
            account.chats.remove(told)
            self.touched.clear()

    @rule(name=who, number=pick, character=st.sampled_from(CHARACTERS))
    def join_or_leave(self, name: str, number: int, character: str) -> None:
        account, told = self.chat(name, number)
        chats = account.keeper.chats
        if character not in told.members:
            self.do(chats.join(told.id, character))
            told.members.append(character)
        elif len(told.members) > 1:
            self.do(chats.leave(told.id, character))
            told.members.remove(character)

    @rule(name=who, number=pick, persona=st.sampled_from(PERSONAS))
    def switch_persona(self, name: str, number: int, persona: str) -> None:
        account, told = self.chat(name, number)
        self.do(account.keeper.chats.set_persona(told.id, persona))
        told.persona = persona

    @rule(name=who, number=pick, settings=regime, all_=maybe)
    def change_settings(self, name: str, number: int, settings: dict[str, Any], all_: bool) -> None:
        account, told = self.chat(name, number)
        change = account.keeper.settings.change
        if all_:
            back = {key: None for key in account.settings if key not in BASE}
            account.settings = BASE | settings
            self.do(change(**{**back, **account.settings}))
        else:
            back = dict.fromkeys(told.settings)
            told.settings = settings
            found = self.do(change(told.id, **{**back, **settings}))
            assert found == account.in_force(told)

    # Files

    @rule(
        name=who,
        number=pick,
        cut=st.sampled_from((None, 0, 0, 0, 1, 2, 4)),
        more=st.integers(0, 4),
        marked=maybe,
        newline=maybe,
        data=st.data(),
    )
    def import_file(
        self,
        name: str,
        number: int,
        cut: int | None,
        more: int,
        marked: bool,
        newline: bool,
        data: st.DataObject,
    ) -> None:
        """A new file; or an old one, without its last ``cut`` lines and with ``more``."""
        account = self.accounts[name]
        if cut is None or not self.tales:
            root, end = next(self.roots), b"\n" if number % 2 else b"\r\n"
            head = header_line(root, marked=marked)
            tale = Tale(root=root, lines=(head,), marked=marked, end=end)
            more = more * 2 + 1
        else:
            tale = self.tales[-1 - number % len(self.tales)]
            tale = replace(tale, lines=tale.lines[: max(1, len(tale.lines) - cut)])
        added = [self.tale_line(data) for _ in range(more)]
        lines = (*tale.lines, *added)
        self.import_tale(account, replace(tale, lines=lines, ends_with_newline=newline))

    def import_tale(self, account: Account, tale: Tale) -> None:
        """Import a file, here and there; one of which nothing can be read is refused."""
        if not tale.messages and any(line.raw == b"not a line" for line in tale.lines):
            refused = account.keeper.files.import_stream(BytesIO(tale.raw), "tale.jsonl")
            with pytest.raises(UnreadableFile):
                self.do(refused)
            return
        self.tales.append(tale)
        expected = expected_outcome(account.chats, tale)
        before = self.rows()
        source = BytesIO(tale.raw)
        report = self.do(account.keeper.files.import_stream(source, f"tale {tale.root}.jsonl"))
        assert expected in (None, report.outcome), f"{report.outcome}, not {expected}"
        if report.outcome == "present":
            assert before == self.rows(), "a file that is there changed something"
        assert report.id is not None
        made = self.do(account.keeper.chats.get(report.id))
        told = take_over(account.chats, tale, report, made.forked_from, account.in_force)
        self.touched.append((account, told))
        self.check_export(account, told)

    @rule(name=who, number=pick, at=pick, late=st.sampled_from((None, None, True, False)))
    def play_on(self, name: str, number: int, at: int, late: bool | None) -> None:
        """Out to SillyTavern, a line more there, and in again; ``late``: excluded meanwhile."""
        account, told = self.chat(name, number)
        # Several chats may have the mark of a file; and words beside calls that nobody answered
        # stand in two lines, of which the second holds no message.
        if told.root is not None or told.asks_in_vain:
            return
        out = BytesIO()
        self.do(account.keeper.files.export_chat(told.id, out))
        if late is not None:
            self.exclude(name, number, at, late)
        said = self.new_text("{word}", 1)
        more = message_line("user", [said], 0, hidden=False).raw
        source = BytesIO(out.getvalue() + b"\n" + more)
        report = self.do(account.keeper.files.import_stream(source, "played on.jsonl"))
        assert (report.outcome, report.added, report.id) == ("longer", 1, told.id)
        told.add(account.in_force(told), "user", "Anna", [said])
        told.raw = None
        self.check_export(account, told)

    def tale_line(self, data: st.DataObject) -> TaleLine:
        """A line of any kind."""
        kinds = ("user", "user", "assistant", "assistant", "assistant", "system", "tool", "blank")
        kind = data.draw(st.sampled_from(kinds))
        if kind == "blank":
            return TaleLine(data.draw(st.sampled_from((b"", b"not a line"))))
        if kind == "tool":
            keys = data.draw(st.lists(st.sampled_from(("c1", "t1", "t2")), min_size=1, unique=True))
            return tool_line([(key, self.new_text("{word}", 1)) for key in keys])
        texts = [self.new_text(data.draw(style), data.draw(filler))]
        if kind == "assistant":
            texts += [self.new_text("{word}", 2) for _ in range(data.draw(st.integers(0, 2)))]
        active = data.draw(st.integers(0, len(texts) - 1))
        return message_line(kind, texts, active, hidden=data.draw(st.integers(0, 5)) == 0)

    @rule(name=who, number=pick)
    def export(self, name: str, number: int) -> None:
        self.check_export(*self.chat(name, number))

    def check_export(self, account: Account, told: Told) -> None:
        """A chat comes back byte for byte; if it was changed, it says what it says now."""
        out = BytesIO()
        written = self.do(account.keeper.files.export_chat(told.id, out))
        assert written == len(out.getvalue())
        if told.raw is not None and "authors_note" not in told.settings:
            assert out.getvalue() == told.raw
        check_file(out.getvalue(), told)

    # Looking over the fence

    @rule(method=st.sampled_from(OVER_THE_FENCE), number=pick, at=pick)
    def look_over(self, method: str, number: int, at: int) -> None:
        alice, told = self.chat("alice", number)
        said = _at(told.messages, at)
        charlie = self.accounts["charlie"]
        theirs = Theirs(
            chat=told.id,
            number=said.number if said else 1,
            title=f"{TITLE} {told.id}",
            character=alice.character,
            persona=alice.persona,
            own=charlie.chats[0].id,
            memory=2,
            deleted=3,
            run=told.id,
            book=told.id,
        )
        try:
            self.do(FOREIGN[method](charlie.keeper, theirs))
        except NotFound:
            return
        raise AssertionError(f"{method} found something of another account")


def _at(messages: Sequence[Said], number: int) -> Said | None:
    """A message; the newer ones more often, and those of tools."""
    if number % 3 == 0:
        tools = [m for m in messages if m.answers is not None or any(m.calls)]
        messages = tools or messages
    if not messages:
        return None
    return messages[-1 - number % min(len(messages), 6 if number % 2 else len(messages))]


def _told_elsewhere(context: Context | None) -> bool:
    """Whether something stands for messages: a summary or a digest."""
    rows = context.receipt.rows if context else ()
    return any(row.kind in ("summary", "digest") for row in rows)


def _without_sources(context: Context | None) -> object:
    """A context as bytes, without what tells an input from a recorded message."""
    if context is None:
        return None
    shown = context.as_json()
    for row in shown["receipt"]:
        if row["kind"] == "input":
            row["source"] = "input"
    return json.dumps(shown, ensure_ascii=False)
