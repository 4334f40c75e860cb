"""Summaries in random lives: settling, editing and rebuilding at any moment."""

from collections.abc import Iterator, Sequence
from itertools import count

from hypothesis import strategies as st
from hypothesis.stateful import rule
from sqlalchemy import Connection

from talekeeper import Keeper
from talekeeper.domain.summary import Summariser, Summary
from talekeeper.settle.settler import Settler
from talekeeper.settle.summarize import Made, SummaryRequest
from talekeeper.store import summaries as summary_rows
from talekeeper.store.database import Database
from talekeeper.store.keys import ChatKey
from talekeeper.testing import Ids, TickingClock
from tests.properties.reference import Told, words_in
from tests.properties.trees import check_settled, check_tree
from tests.properties.world import Account, World

__all__ = ["Summing", "maybe", "pick", "who"]

who = st.sampled_from(("alice", "alice", "charlie"))
pick = st.integers(0, 10_000)
maybe = st.booleans()


class WordMaker:
    """Keeps each word by which a text can be told, and nothing else."""

    summariser: Summariser = "local"
    model: str | None = None

    async def make(self, request: SummaryRequest) -> Made:
        """The words, in the order of the passages."""
        found = (sorted(words_in(passage.text)) for passage in request.passages)
        return Made(" ".join(word for words in found for word in words))


class Summing(World):
    """What settle and people do to summaries; after each step every tree is looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.seeds = count(100)

    async def keeper_of(self, database: Database, name: str, seed: int) -> Keeper:
        clock, ids = TickingClock(), Ids(next(self.seeds))
        self.settler = Settler(database, local=WordMaker(), clock=clock, new_id=ids)
        return await Keeper.of(
            database, name, settler=self.settler, clock=TickingClock(), new_id=Ids(seed)
        )

    def key(self, account: Account, told: Told) -> ChatKey:
        """A chat's key."""
        return ChatKey(account.keeper.chats._desk.account.id, told.id)

    def nodes(self, account: Account, told: Told) -> list[Summary]:
        """All nodes of a chat."""
        key = self.key(account, told)
        return self.do(self.database.read(lambda connection: summary_rows.all_of(connection, key)))

    def check_chats(self, connection: Connection) -> None:
        super().check_chats(connection)
        for account in self.accounts.values():
            for told in account.chats:
                nodes = summary_rows.all_of(connection, self.key(account, told))
                told.follow_edits(nodes)
                check_tree(told, nodes)

    @rule(name=who, number=pick)
    def settle(self, name: str, number: int) -> None:
        """All that is due; right after that nothing is."""
        account, told = self.chat(name, number)
        summaries = account.keeper.summaries
        assert not self.do(summaries.settle(told.id)).failed
        before = self.rows_of_summaries()
        assert self.do(summaries.settle(told.id)).made == 0
        assert before == self.rows_of_summaries(), "settling again changed something"
        check_settled(told, account.in_force(told), self.nodes(account, told))

    @rule(name=who, number=pick, most=st.integers(1, 3))
    def settle_some(self, name: str, number: int, most: int) -> None:
        """A worker that is called away."""
        account, told = self.chat(name, number)
        outcome = self.do(self.settler.settle(self.key(account, told), most=most))
        assert outcome.state in ("done", "more")
        assert outcome.made <= most

    @rule(name=who, number=pick, at=pick)
    def edit_summary(self, name: str, number: int, at: int) -> None:
        account, told = self.chat(name, number)
        nodes = self.nodes(account, told)
        if nodes:
            node, text = nodes[-1 - at % len(nodes)], self.new_text("{word} was mine.", 0)
            edited = self.do(account.keeper.summaries.edit(told.id, node.name, text))
            assert (edited.text, edited.edited, edited.changed) == (text, True, False)
            told.edits[node.name] = text
            told.asked.discard(node.name)

    @rule(name=who, number=pick, at=pick, all_=maybe, overwrite=maybe)
    def rebuild(self, name: str, number: int, at: int, all_: bool, overwrite: bool) -> None:
        account, told = self.chat(name, number)
        nodes = self.nodes(account, told)
        wanted = [node for node in nodes if overwrite or node.name not in told.edits]
        if not all_:
            wanted = wanted[at % len(wanted) :][:1] if wanted else []
            if not wanted:
                return
        rebuild = account.keeper.summaries.rebuild
        node = None if all_ else wanted[0].name
        assert self.do(rebuild(told.id, node, overwrite_edits=overwrite)) == len(wanted)
        told.asked |= {one.name for one in wanted} & told.edits.keys()

    def rows_of_summaries(self) -> Sequence[object]:
        """Every node of every chat, but for when it was made."""
        return list(self._rows())

    def _rows(self) -> Iterator[object]:
        for account in self.accounts.values():
            for told in account.chats:
                yield from self.nodes(account, told)
