"""GenerationSettings: per account, overridable per chat."""

import math
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from talekeeper.domain.errors import InvalidInput
from talekeeper.domain.limits import LIMITS, Plan
from talekeeper.domain.wording import wrong

__all__ = ["AuthorsNote", "GenerationSettings", "NamePrefix", "Shares"]

NamePrefix = Literal["auto", "always", "never"]

_ROUNDING = 1e-9

_Share = Annotated[float, Field(ge=0.0, le=1.0)]
_Tokens = Annotated[int, Field(ge=1, le=100_000_000)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AuthorsNote(_Frozen):
    """A note of the user's, sent ``depth`` messages above the end. Empty: not sent."""

    text: str = ""
    depth: Annotated[int, Field(ge=0, le=10_000)] = 4
    role: Literal["system", "user", "assistant"] = "system"


class Shares(_Frozen):
    """The part of the budget each layer may take; what is unused goes to history."""

    summary: _Share = LIMITS.summary_share
    memories: _Share = LIMITS.memory_share
    lore: _Share = LIMITS.lore_share
    recall: _Share = LIMITS.recall_share
    digest: _Share = LIMITS.digest_share

    def check(self) -> None:
        """InvalidInput where they add up to more than there is."""
        together = math.fsum(self.model_dump().values())
        if together > 1 + _ROUNDING:
            raise InvalidInput(
                f"The shares add up to {together:.4g}, but there is only 1: lower one of them."
            )


class GenerationSettings(_Frozen):
    """How a prompt is composed. Defaults work offline, for any model.

    ``model`` and ``context_limit`` (tokens) may be unknown. ``live_cap`` off lets only the
    budget bound the history. ``tools`` says whether the model can call tools: a character saves
    memories with them. ``main_prompt`` empty means Talekeeper's own.
    """

    model: Annotated[str, Field(min_length=1)] | None = None
    context_limit: _Tokens | None = None
    reserve: Annotated[int, Field(ge=0, le=100_000_000)] = LIMITS.reserve
    tokenizer: str = "o200k_base"
    strategy: str = "summarize"
    tools: bool = True
    live_cap: bool = True
    names: NamePrefix = "auto"
    main_prompt: str = ""
    post_history: str = ""
    prefill: str = ""
    authors_note: AuthorsNote = AuthorsNote()
    shares: Shares = Shares()
    image_tokens: _Tokens = LIMITS.image_tokens

    @property
    def budget(self) -> int:
        """Tokens a prompt may take. InvalidInput where the reserve leaves nothing."""
        if self.reserve >= self.context:
            raise InvalidInput(
                f"The reserve ({self.reserve}) must be smaller than the context limit "
                f"({self.context}). Lower the one or raise the other."
            )
        return self.context - self.reserve

    def live_cap_tokens(self, plan: Plan) -> int:
        """The live window's cap in tokens: the plan's, or a share of the context if smaller."""
        return min(plan.live_tokens, int(LIMITS.live_share * self.context))

    @property
    def context(self) -> int:
        """The context limit in tokens, the default where none is set."""
        return self.context_limit or LIMITS.context_limit

    def changed(self, **overrides: object) -> "GenerationSettings":
        """A copy with some fields replaced, in a group (a mapping) only those that it names.

        InvalidInput names the first field that is wrong.
        """
        if not overrides:
            return self
        values = self.model_dump()
        for name, given in overrides.items():
            before = values.get(name)
            if isinstance(given, Mapping) and isinstance(before, Mapping):
                given = {**before, **given}
            values[name] = given
        try:
            return type(self).model_validate(values)
        except ValidationError as error:
            name = ".".join(str(part) for part in error.errors()[0]["loc"])
            raise InvalidInput(f"Setting {name!r} {wrong(error)}.") from error
