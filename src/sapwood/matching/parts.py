"""The parts of a publication, a record and a document, and the matches of both together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sapwood.errors import InputError
from sapwood.matching.protocol import SlotBatch
from sapwood.model.publication import Publication, Record, flatten
from sapwood.xml.document import Document

if TYPE_CHECKING:
    from sapwood.matching.documents.protocol import Readable


Matchable: TypeAlias = "Publication | Mapping[str, Any] | bytes | Document"
"""A publication, or what one carries: a possibly nested record, or a document as bytes or read."""


def parts_of(publication: Matchable) -> tuple[Record | None, Readable | None]:
    """The record and the document of what is to be matched; `None` for what it does not have."""
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


def no_match(given: Sequence[object]) -> SlotBatch:
    """No match of any of these."""
    return SlotBatch(np.zeros(len(given) + 1, np.int64), np.zeros(0, np.int32))


def match_present(
    given: Sequence[Any | None], match: Callable[[Sequence[Any]], SlotBatch]
) -> SlotBatch:
    """The matches of what is there; nothing for each `None`."""
    places = [at for at, item in enumerate(given) if item is not None]
    found = match([given[at] for at in places])
    matched = len(found.offsets) - 1
    if matched == len(given):
        return found
    # If it ended early, so does this, with the last item that was matched.
    counts = np.zeros(len(given) if matched == len(places) else places[matched - 1] + 1, np.int64)
    counts[places[:matched]] = np.diff(found.offsets)
    return SlotBatch(np.concatenate(([0], counts.cumsum())), found.slots)


def united(first: SlotBatch, second: SlotBatch) -> SlotBatch:
    """Both matches of each publication, ascending; no slot is in both."""
    rows = np.arange(len(first.offsets) - 1)
    owners = np.concatenate([np.repeat(rows, np.diff(batch.offsets)) for batch in (first, second)])
    slots = np.concatenate((first.slots, second.slots))
    order = np.lexsort((slots, owners))
    return SlotBatch(first.offsets + second.offsets, slots[order])
