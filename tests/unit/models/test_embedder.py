"""What every embedder must do; and where the default one finds its table."""

import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from talekeeper.domain.errors import InvalidInput
from talekeeper.models.embedder import Embedder
from talekeeper.models.static import StaticEmbedder

MAKERS: dict[str, Callable[[], Embedder]] = {"static": StaticEmbedder}

TEXTS = (
    "I am allergic to walnuts.",
    "Nuts make me ill.",
    "The ship left at dawn.",
    "Я люблю макароны.",
    "我喜欢吃面条。",
    "昨日、海に行きました。",
    "¡Qué día tan bonito! 😀 e\u0301",
    "",
    "Line one\n\nline two",
)


@pytest.fixture(scope="module", params=sorted(MAKERS))
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return MAKERS[request.param]()


def test_one_row_for_each_text(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dimension)
    assert vectors.dtype == np.float32


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimension)


def test_rows_have_unit_length_and_empty_texts_are_zero(embedder: Embedder) -> None:
    lengths = np.linalg.norm(embedder.embed(TEXTS), axis=1)
    expected = [1.0 if text else 0.0 for text in TEXTS]
    assert lengths == pytest.approx(expected, abs=1e-5)


def test_the_batch_does_not_change_a_byte(embedder: Embedder) -> None:
    together = embedder.embed(TEXTS)
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    backwards = embedder.embed(TEXTS[::-1])[::-1]
    many = embedder.embed(TEXTS * 50)[-len(TEXTS) :]
    assert together.tobytes() == alone.tobytes() == backwards.tobytes() == many.tobytes()


def test_another_object_gives_the_same_bytes(embedder: Embedder) -> None:
    other = type(embedder)()
    assert other.model_id == embedder.model_id
    assert other.embed(TEXTS).tobytes() == embedder.embed(TEXTS).tobytes()


def test_threads_share_one(embedder: Embedder) -> None:
    fresh = type(embedder)()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: fresh.embed(TEXTS).tobytes(), range(16)))
    assert set(found) == {embedder.embed(TEXTS).tobytes()}


def test_near_meanings_are_nearer(embedder: Embedder) -> None:
    nuts, ill, ship = embedder.embed(TEXTS[:3])
    assert nuts @ ill > nuts @ ship


def test_the_caller_may_change_what_it_got(embedder: Embedder) -> None:
    before = embedder.embed(TEXTS).tobytes()
    embedder.embed(TEXTS)[:] = 7
    assert embedder.embed(TEXTS).tobytes() == before


@pytest.mark.parametrize("text", ["a\ud800b", "\udfff", "\x00", "\u202e\u200d\ufe0f", "𓀀", " \n"])
def test_any_string_has_a_row(embedder: Embedder, text: str) -> None:
    (row,) = embedder.embed([text])
    assert np.isfinite(row).all()
    assert np.linalg.norm(row) in (pytest.approx(1), 0)


@settings(max_examples=60)
@given(text=st.text(st.characters()))
def test_whatever_the_text(text: str) -> None:
    (row,) = SHARED_STATIC.embed([text])
    assert np.linalg.norm(row) in (pytest.approx(1, abs=1e-5), 0)


SHARED_STATIC = StaticEmbedder()


def test_a_very_long_word_takes_seconds_at_most(embedder: Embedder) -> None:
    begun = time.perf_counter()
    embedder.embed(["walnut" * 100_000])
    assert time.perf_counter() - begun < 30


def test_the_name_of_the_model_tells_package_and_weighting() -> None:
    assert SHARED_STATIC.model_id.startswith("wordllama-0.")
    assert SHARED_STATIC.model_id.endswith("-sif1")


def test_the_package_is_not_imported_and_nothing_is_asked_of_a_network() -> None:
    program = """
import sys
def watch(event, arguments):
    if event.split(".")[0] == "socket" and event != "socket.__new__":
        raise SystemExit(f"{event} {arguments}")
sys.addaudithook(watch)
from talekeeper.models.static import StaticEmbedder
assert "tokenizers" not in sys.modules
StaticEmbedder().embed(["walnuts"])
loaded = {"wordllama", "huggingface_hub", "requests"} & sys.modules.keys()
assert not loaded, loaded
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def _refusal() -> str:
    with pytest.raises(InvalidInput) as caught:
        StaticEmbedder().embed(["walnuts"])
    return str(caught.value)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    said = _refusal()
    assert "'wordllama' is not installed" in said
    assert "Install 'talekeeper' again" in said


def test_a_missing_table_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    about = tmp_path / "wordllama-9.9.dist-info" / "METADATA"
    about.parent.mkdir()
    about.write_text("Metadata-Version: 2.1\nName: wordllama\nVersion: 9.9\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert StaticEmbedder().model_id == "wordllama-9.9-sif1"
    assert "'l2_supercat_256.safetensors' of the package 'wordllama' is not there" in _refusal()
