"""Records as arrays: what kernels read of them.

Writing a value into an array from Python costs as much as matching it. So the work is done by whole
records: their names are looked up at once, and again as one when the same names come in the same
order; their values are packed by one call that depends only on the types.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.errors import InvalidValueError
from sapwood.limits import INTEGER_MAX, INTEGER_MIN
from sapwood.matching.keys import text_bytes
from sapwood.model.publication import Record

BOOLEAN: Final = 0
INTEGER: Final = 1
FLOAT: Final = 2
TEXT: Final = 3

TEXT_END: Final = 0xFF
"""Ends every text but the last; no byte of UTF-8."""

_FORMATS: Final = ("q", "q", "d", "8x")
_REMEMBERED_MAX: Final = 1024
"""Sequences of names, and of types, that are remembered: some hundred kilobytes. Publishers repeat
themselves; where they do not, remembering costs little."""

_WORD_BYTES: Final = 8

_Written: TypeAlias = tuple[bytes, bytes, bytes, bytes, bytes | None]
"""Of a record: its head as a batch, attributes, kinds, values, and texts if there are any."""

_Picker: TypeAlias = Callable[[Sequence[Any]], Sequence[Any]]


class Batch(NamedTuple):
    """`n` records with `i` values.

    `words` are 64-bit integers, one after the other: n; where each record's values begin, and where
    the last one's end (n + 1); the attribute of each value, or -1 (i); its kind (i); and the value
    (i): an integer, the bits of a float, 0 for a text. The texts are in `texts`, in this order, in
    UTF-8, each but the last followed by `TEXT_END`.
    """

    words: bytes
    texts: bytes


class Found(NamedTuple):
    """What a segment says about a batch.

    Record `i` matches `slots[offsets[i]:offsets[i + 1]]`, in no particular order, and may match the
    conjunctions `doubts[doubt_offsets[i]:doubt_offsets[i + 1]]`, which have pattern checks.
    `repeats` tells that a slot may be there more than once.
    """

    offsets: npt.NDArray[np.int64]  # [n + 1]
    slots: npt.NDArray[np.int32]
    doubt_offsets: npt.NDArray[np.int64]  # [n + 1]
    doubts: npt.NDArray[np.int32]
    repeats: bool

    @classmethod
    def of(cls, told: npt.NDArray[np.int32], records: int) -> Found:
        """Read what a kernel told.

        That is: whether slots repeat; for each record how many slots it has and how many doubts
        (records, records); all slots; all doubts.
        """
        offsets, doubt_offsets = (np.zeros(records + 1, np.int64) for _ in range(2))
        np.cumsum(told[1 : records + 1], out=offsets[1:])
        np.cumsum(told[records + 1 : 2 * records + 1], out=doubt_offsets[1:])
        first = 2 * records + 1
        last = first + int(offsets[-1])
        return cls(offsets, told[first:last], doubt_offsets, told[last:], bool(told[0]))


class _Form(NamedTuple):
    """How to write values of certain types."""

    head: bytes  # of a batch of one record
    kinds: bytes
    pack: Callable[..., bytes]
    numbers: _Picker  # the values to pack
    texts: _Picker | None  # `None` if there are none, and all values are to be packed


class Encoder:
    """Writes records as batches.

    `attributes` (name to number) may grow; `forget` then tells so. Any number of threads may write.
    """

    def __init__(self, attributes: Mapping[str, int]) -> None:
        self._attributes = attributes
        #: names -> their numbers; depends on `_attributes`
        self._names: dict[tuple[str, ...], bytes] = {}
        #: types -> how to write them; depends on nothing
        self._forms: dict[tuple[type, ...], _Form] = {}

    def forget(self) -> None:
        """Names that had no number may have one now."""
        self._names.clear()

    def batch(self, records: Sequence[Record]) -> Batch:
        """The records as arrays; raises `InvalidValueError` for integers beyond 64 bits."""
        if len(records) == 1:
            form_head, numbers, kinds, values, text = self._written(records[0])
            return Batch(b"".join((form_head, numbers, kinds, values)), text or b"")
        starts, end = array("q", (len(records), 0)), 0
        written = [self._written(record) for record in records]
        for one in written:
            end += len(one[2]) // _WORD_BYTES
            starts.append(end)
        attributes = [one[1] for one in written]
        forms, packed = [one[2] for one in written], [one[3] for one in written]
        words = b"".join((starts.tobytes(), *attributes, *forms, *packed))
        return Batch(words, _SEPARATOR.join([one[4] for one in written if one[4] is not None]))

    def _written(self, record: Record) -> _Written:
        """What is to be written of one record."""
        names = tuple(record)
        numbers = self._names.get(names)
        if numbers is None:
            numbers = self._add_names(names)
        values = tuple(record.values())
        types = tuple(map(type, values))
        form = self._forms.get(types)
        if form is None:
            form = self._add_form(types)
        try:
            if form.texts is None:
                return form.head, numbers, form.kinds, form.pack(*values), None
            packed = form.pack(*form.numbers(values))
        except struct.error:
            raise _too_large(record) from None
        return form.head, numbers, form.kinds, packed, _joined(form.texts(values))

    def _add_names(self, names: tuple[str, ...]) -> bytes:
        known = self._attributes.get
        numbers = struct.Struct(f"={len(names)}q").pack(*[known(name, -1) for name in names])
        if len(self._names) >= _REMEMBERED_MAX:
            self._names.clear()
        self._names[names] = numbers
        return numbers

    def _add_form(self, types: tuple[type, ...]) -> _Form:
        kinds = [_kind(each) for each in types]
        texts = [at for at, kind in enumerate(kinds) if kind == TEXT]
        form = _Form(
            struct.Struct("=3q").pack(1, 0, len(kinds)),
            struct.Struct(f"={len(kinds)}q").pack(*kinds),
            struct.Struct("=" + "".join(_FORMATS[kind] for kind in kinds)).pack,
            _picker([at for at, kind in enumerate(kinds) if kind != TEXT]),
            _picker(texts) if texts else None,
        )
        if len(self._forms) >= _REMEMBERED_MAX:
            self._forms.clear()
        self._forms[types] = form
        return form


_SEPARATOR: Final = bytes((TEXT_END,))


def _kind(of: type) -> int:
    if issubclass(of, bool):
        return BOOLEAN
    if issubclass(of, str):
        return TEXT
    return INTEGER if issubclass(of, int) else FLOAT


def _picker(places: list[int]) -> _Picker:
    """Picks the elements at `places`, which ascend."""
    if len(places) > 1:
        return itemgetter(*places)
    return itemgetter(slice(places[0], places[0] + 1) if places else slice(0))


def _joined(texts: Sequence[str]) -> bytes:
    try:
        return _SEPARATOR.join(map(str.encode, texts))
    except UnicodeEncodeError:  # half of a surrogate pair
        return _SEPARATOR.join(map(text_bytes, texts))


def _too_large(record: Record) -> InvalidValueError:
    for name, value in record.items():
        if isinstance(value, int) and not INTEGER_MIN <= value <= INTEGER_MAX:
            return InvalidValueError(name, f"{value} needs more than 64 bits; send it as text")
    return InvalidValueError("record", "holds what is no text, number or boolean; flatten it first")
