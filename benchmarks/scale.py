"""The sizes a run works with."""

from dataclasses import dataclass

__all__ = ["FULL", "QUICK", "Scale"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Scale:
    """Sizes in messages unless named otherwise."""

    short: int = 1_000
    long: int
    composes: int
    """Compositions measured for each chat."""
    postgres: int
    typical: int
    """Messages of the file with typical messages and swipes."""
    brief: int
    """Messages of the file with short messages."""
    big_bytes: int
    forked: int
    turns: int
    """Simulated turns for prefix reuse."""
    records: int
    """Messages added to each chat."""
    chats: int
    """Chats in the list."""
    memories: int
    """Memories in one database, of accounts with 100 each."""
    kills: int
    """Workers killed while they settle."""
    settled: int
    """Messages of the long chat that is settled."""
    episodes: int
    """Episodes with human summaries."""
    stretches: int
    """Stretches summarised in each of them."""


FULL = Scale(
    long=100_000,
    composes=300,
    postgres=30_000,
    typical=20_000,
    brief=20_000,
    big_bytes=200_000_000,
    forked=50_000,
    turns=1_000,
    records=300,
    chats=1_000,
    memories=1_000_000,
    kills=200,
    settled=100_000,
    episodes=20,
    stretches=5,
)

QUICK = Scale(
    long=3_000,
    composes=40,
    postgres=2_000,
    typical=1_500,
    brief=1_500,
    big_bytes=4_000_000,
    forked=2_000,
    turns=60,
    records=40,
    chats=50,
    memories=20_000,
    kills=10,
    settled=2_000,
    episodes=4,
    stretches=2,
)
