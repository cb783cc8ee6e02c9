"""Publications as callers have them, flattened by compiled code where that does what Python does.

`model.publication.flatten` looks at each value in Python, which takes longer than to match it. The
encoder of MessagePack and the flattening kernel look at all values without Python. The encoder
accepts more than a record may hold, and writes a date as a text, for example: so the types of the
values are checked first. A record that fails one of these three steps goes to `flatten`, which
accepts it or raises an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
import numpy as np

from sapwood.errors import InputError
from sapwood.limits import RECORD_DEPTH_MAX
from sapwood.matching.encoded_records import EncodedRecords
from sapwood.model.publication import Publication, Record, flatten
from sapwood.xml.document import Document

if TYPE_CHECKING:
    from sapwood.matching.columnar.flat_records import Flattener
    from sapwood.matching.documents.protocol import Readable

Matchable: TypeAlias = "Publication | Mapping[str, Any] | bytes | Document"
"""A publication, or its content: a possibly nested record, or a document as bytes or read."""

_NAMES: Final = frozenset({str})
_VALUES: Final = frozenset({bool, int, float, str, type(None)})
"""Types that the encoder writes without a change. In lists there may be other types, as no filter
sees what the encoder writes there."""

_MEMBERS: Final = _VALUES | {dict}

_ENCODER: Final = msgspec.msgpack.Encoder()


def encoded_record(record: dict[str, Any], flattener: Flattener) -> EncodedRecords | None:
    """The flat view of one record, or `None` if `flatten` has to look at it."""
    packed = _packed(record)
    return None if packed is None else flattener.flatten_one(packed)


def encoded_records(
    records: Sequence[dict[str, Any]], flattener: Flattener
) -> EncodedRecords | None:
    """The flat views of records, or `None` if `flatten` has to look at one of them."""
    parts: list[bytes] = []
    for record in records:
        packed = _packed(record) or _packed_flat(record)
        if packed is None:
            return None
        parts.append(packed)
    sizes = np.array([len(part) for part in parts], np.int64)
    ends = np.cumsum(sizes)
    found = flattener.flatten(b"".join(parts), ends - sizes, ends)
    return found.records if found.is_all_read else None


def _packed(record: dict[str, Any]) -> bytes | None:
    """A record in MessagePack; `None` if it does not survive the encoding, or has none."""
    if not _is_plain(record, RECORD_DEPTH_MAX):
        return None
    try:
        return _ENCODER.encode(record)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None  # A mapping in a list, half of a surrogate pair, a number beyond 64 bits.


def _packed_flat(record: dict[str, Any]) -> bytes | None:
    """The flat view of a record with arrays in MessagePack; `None` where it has none, or no view.

    The bytes are flattened again, to themselves, as all others are.
    """
    try:
        return _ENCODER.encode(flatten(record).record)
    except (ValueError, InputError):
        return None


def _is_plain(record: dict[str, Any], depth: int) -> bool:
    """True if a record has names and values of plain types, down to `depth` levels."""
    members = record.values()
    if not _NAMES.issuperset(map(type, record)):
        return False
    if _VALUES.issuperset(map(type, members)):
        return True
    if not depth or not _MEMBERS.issuperset(map(type, members)):
        return False
    return all(_is_plain(member, depth - 1) for member in members if type(member) is dict)


def parts_of(publication: Matchable) -> tuple[Record | None, Readable | None]:
    """The record and the document of a publication; `None` for a part that it does not have."""
    if isinstance(publication, Publication):
        record = None if publication.attributes is None else publication.record
        return record, publication.readable_document
    if isinstance(publication, Mapping):
        return flatten(publication).record, None
    if isinstance(publication, bytes | Document):
        return None, publication
    raise InputError(
        "what is matched is a Publication, a mapping, or a document as bytes or read, not "
        f"{type(publication).__name__}"
    )
