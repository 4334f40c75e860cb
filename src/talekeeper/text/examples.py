"""Example dialogues of a card, taken apart. Knows no names and expands no macros."""

import re

__all__ = ["split_examples"]

_START = re.compile("<START>", re.IGNORECASE | re.ASCII)


def split_examples(mes_example: str) -> tuple[str, ...]:
    """The example dialogues in a card's ``mes_example``, in order.

    Each begins at ``<START>``, in any case (card specification V1); text before the first one is
    an example too. Examples are stripped of surrounding white space; empty ones are left out.
    """
    blocks = (block.strip() for block in _START.split(mes_example))
    return tuple(block for block in blocks if block)
