"""Characters and personas: whom the model plays, and who the user plays."""

from dataclasses import dataclass, field

__all__ = ["CARD_TEXTS", "Card", "Character", "DepthPrompt", "Persona"]

CARD_TEXTS = (
    "description",
    "personality",
    "scenario",
    "first_mes",
    "mes_example",
    "system_prompt",
    "post_history_instructions",
)
"""The card fields that are single texts; names as in the card specifications V1 to V3."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DepthPrompt:
    """A text sent ``depth`` messages above the end of the conversation."""

    text: str
    depth: int = 4
    role: str = "system"


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """What a character card says, whatever its version. Texts are raw: macros are kept.

    Field names are those of the card specifications. What is not understood stays in the
    card's own document, which the store keeps beside this value.
    """

    name: str
    nickname: str = ""
    description: str = ""
    personality: str = ""
    scenario: str = ""
    first_mes: str = ""
    mes_example: str = ""
    system_prompt: str = ""
    post_history_instructions: str = ""
    creator: str = ""
    character_version: str = ""
    creator_notes: str = ""
    alternate_greetings: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    depth_prompt: DepthPrompt | None = None
    book_entries: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Character:
    """What the model plays. ``version`` grows with each change.

    ``learns`` is the switch *Learn from Chat*: off, no memories are read or written when it speaks.
    """

    id: str
    card: Card = field(repr=False)
    version: int = 1
    learns: bool = True

    @property
    def name(self) -> str:
        """The name shown and used in prompts where the card has no nickname."""
        return self.card.name

    @property
    def spoken_name(self) -> str:
        """What ``{{char}}`` becomes: the nickname where there is one (card specification V3)."""
        return self.card.nickname or self.card.name


@dataclass(frozen=True, kw_only=True, slots=True)
class Persona:
    """Who the user plays."""

    id: str
    name: str
    description: str = ""
