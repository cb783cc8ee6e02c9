"""Keys as rows of words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.covering.published.sfc.kernels import to_key, to_words, words


@given(st.integers(1, 400), st.data())
def test_words_hold_a_key_and_keep_the_order(key_bits: int, data: st.DataObject) -> None:
    a, b = (data.draw(st.integers(0, (1 << key_bits) - 1)) for _ in range(2))
    row, other = to_words(a, key_bits), to_words(b, key_bits)
    assert len(row) == words(key_bits)
    assert to_key(row, key_bits) == a
    assert (row.tolist() < other.tolist()) == (a < b)


def test_words_begin_with_the_first_bit_of_the_key() -> None:
    assert to_words(0b101, 3).tolist() == [0b101 << 61]
    assert to_words(1, 65).tolist() == [0, 1 << 63]
    assert [words(bits) for bits in (1, 64, 65, 128, 384)] == [1, 1, 2, 2, 6]
