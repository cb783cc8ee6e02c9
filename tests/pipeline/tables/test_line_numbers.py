from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.pipeline.tables.line_numbers import LineNumbers

pa = pytest.importorskip("pyarrow")


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(1, 4)), max_size=6),
    st.lists(st.integers(0, 5), min_size=1).filter(any),
)
def test_lines_are_numbered_in_each_piece_however_batches_are_cut(
    pieces: list[tuple[int, int, int]], cuts: list[int]
) -> None:
    pieces = list({(file, block): (file, block, size) for file, block, size in pieces}.values())
    rows = [(f"f{file}", 100 * block) for file, block, size in pieces for _ in range(size)]
    expected = [number for _, _, size in pieces for number in range(1, size + 1)]
    numbers = LineNumbers()
    found: list[int] = []
    at = step = 0
    while at < len(rows):
        some = rows[at : at + cuts[step % len(cuts)]]
        files = pa.array([file for file, _ in some], pa.string())
        found += numbers.number(files, pa.array([block for _, block in some], pa.int64())).tolist()
        at, step = at + len(some), step + 1
    assert found == expected
