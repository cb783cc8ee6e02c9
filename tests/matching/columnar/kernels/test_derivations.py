"""Derivations from texts, compiled, against the readings of the model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings

from sapwood.matching.columnar.batch import name_table
from sapwood.matching.columnar.derived import CONSTANT_BYTES_MAX, Derived, Function
from sapwood.matching.columnar.kernels.derivations import FOLDED_BYTES
from sapwood.matching.columnar.kernels.reading import BOOLEAN, INTEGER, TEXT
from sapwood.matching.keys import text_bytes
from sapwood.model.publication import Value
from tests.examples import examples
from tests.matching.columnar.kernels.entries import derived_from
from tests.matching.columnar.patterned import pattern_texts

NAMES = name_table(["a", *(Derived(function, "a") for function in Function)])


def derived(function: Function, text: bytes) -> Value | bytes:
    """The value that a kernel derives from a text that others stand around."""
    letters = np.frombuffer(bytearray(b"\xce\xa3a9" + text + b"a9\xce\xa3"), np.uint8)
    folded = np.full(FOLDED_BYTES + 8, 0xEE, np.uint8)
    kind, whole, end = derived_from(NAMES, int(function), letters, 4, 4 + len(text), folded)
    assert (folded[FOLDED_BYTES:] == 0xEE).all()
    assert kind in (BOOLEAN, INTEGER, TEXT)
    return folded[:end].tobytes() if kind == TEXT else whole if kind == INTEGER else False


@settings(max_examples=examples(400))
@given(text=pattern_texts())
@example("ΑΣ")
@example("ΑΣ.Σ'")
@example(".Σ")
@example("Σ" * 200)
@example("a" + "\u0301" * 300 + "Σ")
@example("İ" * 100)
@example("𐐀𐐨")
@example("\ud800A\udfff")
def test_texts_become_what_the_model_says(text: str) -> None:
    for function in Function:
        expected = Derived(function, "a").value(text)
        found = derived(function, text_bytes(text))
        if isinstance(expected, str):
            whole = text_bytes(expected)
            assert isinstance(found, bytes)
            assert whole.startswith(found)
            assert len(found) > CONSTANT_BYTES_MAX or found == whole
        else:
            assert found == expected
            assert type(found) is type(expected)


@pytest.mark.parametrize(
    "text",
    [
        b"\xff",
        b"A\xc1\x81",
        b"\xa9\xa9",
        b"\xc3",
        b"\xed\xa0",
        b"\xf5\x80\x80\x80B",
        b"\xe0\x80\x80",
    ],
)
def test_bytes_that_are_no_text_stay_as_they_are(text: bytes) -> None:
    surroundings = text.decode("utf-8", "surrogateescape")
    lower = surroundings.lower().encode("utf-8", "surrogateescape")
    assert derived(Function.LOWER, text) == lower
    backwards = surroundings[::-1].encode("utf-8", "surrogateescape")
    assert derived(Function.REVERSED, text) == backwards
    assert derived(Function.INTEGER, text) is False
    assert derived(Function.TIMESTAMP, text) is False
