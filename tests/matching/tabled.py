"""Tables of records, as strategies and from values; and the records that they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from sapwood.matching.tables import Column, Kind, RecordTable
from sapwood.model.publication import Record, Value
from tests.strategies import attribute_names, numbers, texts

_INTEGERS: Final = st.one_of(
    numbers().filter(lambda number: isinstance(number, int)),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from((2**53 + 1, -(2**53) - 1, 2**62 + 1, 2**63 - 512)),
)
_FLOATS: Final = st.one_of(
    numbers().map(float),
    st.floats(allow_nan=False),
    st.sampled_from((-0.0, 0.1, float("inf"), float("-inf"), 2.0**63, -(2.0**63))),
)
_VALUES: Final = {
    Kind.BOOLEAN: st.booleans(),
    Kind.INTEGER: _INTEGERS,
    Kind.FLOAT: _FLOATS,
    Kind.TEXT: texts(),
    Kind.LONG_TEXT: texts(),
}
"""Of each kind what a column may hold."""


class Tabled(NamedTuple):
    """A table, and its rows as records of their own."""

    table: RecordTable
    records: list[Record]


def column_of(
    kind: Kind, values: Sequence[Any], first: int = 0, *, with_validity: bool = True
) -> Column:
    """The column of some values (`None`: absent) after so many that are none of its rows."""
    spare: Any = {Kind.BOOLEAN: True, Kind.INTEGER: 7, Kind.FLOAT: float("nan")}.get(kind, "spare")
    all_values = [spare] * first + list(values)
    validity = None
    if with_validity:
        validity = _bits(value is not None for value in all_values)
    held = [spare if value is None else value for value in all_values]
    if kind is Kind.BOOLEAN:
        return Column(kind, _bits(held), None, validity, first)
    if kind is Kind.INTEGER:
        return Column(kind, np.array(held, np.int64), None, validity, first)
    if kind is Kind.FLOAT:
        return Column(kind, np.array(held, np.float64), None, validity, first)
    written = [text.encode() for text in held]
    width = np.int32 if kind is Kind.TEXT else np.int64
    offsets = np.zeros(len(written) + 1, width)
    np.cumsum([len(text) for text in written], out=offsets[1:])
    return Column(kind, np.frombuffer(b"".join(written), np.uint8), offsets, validity, first)


def _bits(flags: Iterable[bool]) -> npt.NDArray[np.uint8]:
    return np.packbits(np.array(list(flags), np.bool_), bitorder="little")


@st.composite
def tables(draw: st.DrawFn, rows_max: int = 5) -> Tabled:
    """A table of some columns, each of which begins somewhere in its arrays."""
    rows, skipped, left = (draw(st.integers(0, most)) for most in (rows_max, 2, 2))
    columns: dict[str, Column] = {}
    values: dict[str, list[Value | None]] = {}
    for name in draw(st.lists(attribute_names(), unique=True, max_size=4)):
        kind = draw(st.sampled_from(Kind))
        can_be_absent = draw(st.booleans())
        one = st.none() | _VALUES[kind] if can_be_absent else _VALUES[kind]
        size = skipped + rows + left
        values[name] = draw(st.lists(one, min_size=size, max_size=size))
        columns[name] = column_of(
            kind, values[name], draw(st.integers(0, 9)), with_validity=can_be_absent
        )
    whole = RecordTable.of(columns, skipped + rows + left)
    table = whole[skipped : skipped + rows]
    assert isinstance(table, RecordTable)
    records: list[Record] = [
        {name: value for name, held in values.items() if (value := held[row]) is not None}
        for row in range(skipped, skipped + rows)
    ]
    return Tabled(table, records)
