"""The stable beginning of a prompt, and its fixed end: card, persona, instructions, nudges."""

from collections.abc import Iterator

from talekeeper.compose.request import Material
from talekeeper.compose.voice import Voice
from talekeeper.domain.block import Block, Kind, Mode
from talekeeper.domain.limits import LIMITS
from talekeeper.text.examples import split_examples

__all__ = ["MAIN_PROMPT", "NUDGES", "depth_blocks", "head_blocks", "tail_blocks"]

MAIN_PROMPT = (
    "You are {{char}} in an ongoing role-play with {{user}}. Write only {{char}}'s next message, "
    "in {{char}}'s voice and in the language of the conversation. Stay true to what was said "
    "before."
)

NUDGES: dict[Mode, str] = {
    "reply": "[Write only {{char}}'s next message.]",
    "continue": "[Continue the last message from where it stops. Do not repeat any of it.]",
    "impersonate": "[Write {{user}}'s next message, in {{user}}'s voice.]",
}

_SEPARATOR_TOKENS = 2


def head_blocks(voice: Voice) -> Iterator[Block]:
    """Main prompt, persona, character, scenario, examples: all protected, in this order."""
    material = voice.material
    card, persona, owner = material.speaker, material.persona, _owner(material)
    overhead = LIMITS.message_overhead
    main = material.settings.main_prompt or MAIN_PROMPT
    source = f"{owner}/system_prompt" if card.system_prompt else "settings/main_prompt"
    texts: list[tuple[Kind, str, str, str]] = [
        ("main_prompt", source, "{}", card.system_prompt or main)
    ]
    if persona:
        texts.append(
            ("persona", f"persona:{persona.id}", "About {{{{user}}}}:\n{}", persona.description)
        )
    texts += [
        ("description", f"{owner}/description", "About {{{{char}}}}:\n{}", card.description),
        ("personality", f"{owner}/personality", "{{{{char}}}}'s personality: {}", card.personality),
        ("scenario", f"{owner}/scenario", "Scenario: {}", card.scenario),
    ]
    texts += [
        ("example", f"{owner}/mes_example/{index}", "Example of how {{{{char}}}} talks:\n{}", text)
        for index, text in enumerate(split_examples(card.mes_example))
    ]
    for kind, place, frame, raw in texts:
        if not raw.strip():
            continue
        text = voice.expand(frame.format(raw.strip()), place, original=main).strip()
        if text:
            block = _block(kind, place, text, voice.tokenizer.count(text) + overhead)
            yield block._replace(head=True)
            overhead = _SEPARATOR_TOKENS


def tail_blocks(voice: Voice, mode: Mode) -> Iterator[Block]:
    """Post-history instructions, nudge, prefill: protected."""
    material = voice.material
    card, settings = material.speaker, material.settings
    source = f"{_owner(material)}/post_history_instructions"
    after = card.post_history_instructions or settings.post_history
    if not card.post_history_instructions:
        source = "settings/post_history"
    if after.strip():
        text = voice.expand(after.strip(), source, original=settings.post_history).strip()
        if text:
            yield _block("post_history", source, text, voice.count(text))
    if mode != "reply" or len(material.members) > 1:
        text = voice.expand(NUDGES[mode], f"nudge/{mode}")
        yield _block("nudge", f"nudge/{mode}", text, voice.count(text))
    if mode == "reply" and settings.prefill.strip():
        text = voice.expand(settings.prefill, "settings/prefill")
        yield _block("prefill", "settings/prefill", text, voice.count(text), role="assistant")


def depth_blocks(voice: Voice) -> Iterator[Block]:
    """The author's note and the card's own note, each to be placed at its depth."""
    note = voice.material.settings.authors_note
    own = voice.material.speaker.depth_prompt
    texts: list[tuple[Kind, str, str, int, str]] = [
        ("authors_note", "settings/authors_note", note.text, note.depth, note.role)
    ]
    if own:
        place = f"{_owner(voice.material)}/depth_prompt"
        texts.append(("depth_prompt", place, own.text, own.depth, own.role))
    for kind, place, raw, depth, role in texts:
        text = voice.expand(raw.strip(), place).strip()
        if text:
            yield Block(
                kind=kind,
                source=place,
                role=role if role in ("system", "user", "assistant") else "system",
                text=text,
                tokens=voice.count(text),
                group=place,
                depth=depth,
            )


def _owner(material: Material) -> str:
    return f"character:{material.speaker_id or material.speaker.name}"


def _block(kind: Kind, source: str, text: str, tokens: int, *, role: str = "system") -> Block:
    return Block(
        kind=kind,
        source=source,
        role=role,
        text=text,
        tokens=tokens,
        group=source,
        protected=True,
    )
