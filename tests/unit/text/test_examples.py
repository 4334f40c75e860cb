"""Example dialogues of a card."""

from hypothesis import given
from hypothesis import strategies as st

from talekeeper.text.examples import split_examples


def test_blocks_begin_at_start_in_any_case() -> None:
    text = "<START>\n{{user}}: Hi.\n{{char}}: Oh!\n<start>\n{{char}}: Again?\n<Start>\nlast"
    assert split_examples(text) == ("{{user}}: Hi.\n{{char}}: Oh!", "{{char}}: Again?", "last")


def test_text_before_the_first_start_is_an_example_too() -> None:
    assert split_examples("Alice: one\n<START>\nAlice: two") == ("Alice: one", "Alice: two")


def test_empty_blocks_are_left_out() -> None:
    assert split_examples("") == ()
    assert split_examples(" \n<START>\n\n<START>  <START>") == ()


def test_other_tags_and_other_letters_do_not_divide() -> None:
    # The long s and the Kelvin sign fold to ASCII letters; a tag is ASCII.
    assert split_examples("a<START >b<ſTART>c</START>d") == ("a<START >b<ſTART>c</START>d",)


@given(st.lists(st.text(alphabet="ab 你é\n{}<>", max_size=20), max_size=6))
def test_each_block_comes_back_stripped_and_in_order(blocks: list[str]) -> None:
    text = "".join(f"<START>{block}" for block in blocks)
    assert split_examples(text) == tuple(b.strip() for b in blocks if b.strip())
