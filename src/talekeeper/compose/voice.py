"""Turning stored texts into sent ones: macros, name prefixes and their tokens."""

from dataclasses import dataclass

from talekeeper.compose.request import Material, Request
from talekeeper.domain.chat import LiveMessage, ToolCall
from talekeeper.domain.limits import LIMITS
from talekeeper.text.macros import MacroValues, expand
from talekeeper.text.tokens import Tokenizer, tokenizer_named

__all__ = ["Voice"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Voice:
    """Expands and counts texts for one composition."""

    material: Material
    request: Request
    tokenizer: Tokenizer

    @classmethod
    def of(cls, material: Material, request: Request) -> "Voice":
        """The voice of a composition. InvalidInput for a tokenizer that does not exist."""
        tokenizer = tokenizer_named(material.settings.tokenizer)
        return cls(material=material, request=request, tokenizer=tokenizer)

    def expand(
        self, text: str, place: str, *, speaker: str | None = None, original: str = ""
    ) -> str:
        """``text`` with its macros filled in; ``place`` seeds the ones that pick at random.

        ``speaker`` is what ``{{char}}`` becomes when it is not the character that will reply.
        """
        if "{{" not in text and "<" not in text:
            return text
        material, card = self.material, self.material.speaker
        return expand(
            text,
            MacroValues(
                user=material.user_name,
                char=speaker or material.speaker_name,
                persona=material.persona.description if material.persona else "",
                description=card.description,
                personality=card.personality,
                scenario=card.scenario,
                examples=card.mes_example,
                group=self.group(),
                original=original,
                now=self.request.now,
                last_message=self._last_message(),
                seed=f"{material.seed}/{place}",
            ),
        )

    def group(self) -> tuple[str, ...]:
        """What ``{{group}}`` lists: nobody where there is only one character."""
        members = self.material.members
        return tuple(members) if len(members) > 1 else ()

    def _last_message(self) -> str:
        """The newest message; an input is one already, so that recording it changes nothing."""
        if self.request.input is not None:
            return self.request.input
        return self.material.lines[-1].text if self.material.lines else ""

    def count(self, text: str) -> int:
        """Tokens of ``text`` with the overhead of a message."""
        return self.tokenizer.count(text) + LIMITS.message_overhead

    def say(self, line: LiveMessage) -> tuple[str, int]:
        """(text, tokens) of a recorded message as it is sent; without overhead."""
        name = self.material.spoken.get(line.character_id or "", line.speaker)
        speaker = name if line.role == "assistant" else None
        text = self.expand(line.text, f"message:{line.number}/{line.active}", speaker=speaker)
        if self._prefixed(line) and text:
            text = f"{name}: {text}"
        if text is line.text and line.tokenizer == self.tokenizer.name:
            tokens = line.tokens
        else:
            tokens = self.tokenizer.count(text)
        if line.tool_calls:
            tokens += sum(self.call_tokens(call) for call in line.tool_calls)
        return text, tokens + len(line.parts) * self.material.settings.image_tokens

    def call_tokens(self, call: ToolCall) -> int:
        """Tokens of a tool call inside a message."""
        counted = self.tokenizer.count(call.name) + self.tokenizer.count(call.arguments)
        return counted + 2 * LIMITS.message_overhead

    def _prefixed(self, line: LiveMessage) -> bool:
        """Whether "Name: " goes before the text, so that the model knows who spoke."""
        names = self.material.settings.names
        if names == "never" or line.role in ("tool", "system"):
            return False
        if names == "always":
            return True
        if line.role == "user":
            return line.speaker not in (self.material.user_name, "User")
        if len(self.material.members) > 1:
            return True
        return line.character_id not in self.material.spoken and not self._own(line.speaker)

    def _own(self, name: str) -> bool:
        """Whether a name is the replying character's."""
        card = self.material.speaker
        return name in (card.name, card.nickname, *self.material.members)
