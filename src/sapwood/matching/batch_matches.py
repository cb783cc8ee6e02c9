"""The publications of a batch matched together: their records, or their documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sapwood.matching.index import Index
from sapwood.matching.protocol import ALL, SlotBatch
from sapwood.matching.publication_batch import PublicationBatch
from sapwood.matching.slot_batches import no_match, spread
from sapwood.model.publication import Publication

if TYPE_CHECKING:
    from sapwood.matching.documents.protocol import Readable


def match_records(
    index: Index, publications: Sequence[Publication], max_matches: int, limit: int = ALL
) -> SlotBatch:
    """The slots of an index that accept the record of each publication, in any order.

    Covers all publications or the first ones, as `Index.match_slots` does.
    """
    if not isinstance(publications, PublicationBatch):
        some = [None if one.attributes is None else one.record for one in publications]
        return index.match_slots(some, in_order=False, max_matches=max_matches, limit=limit)
    bare = publications.bare
    if bare is None:
        records = publications.records
        return index.match_slots(records, in_order=False, max_matches=max_matches, limit=limit)
    places = np.flatnonzero(~bare)
    if not len(places):
        return no_match(publications)
    records = publications.records.take(places)
    found = index.match_slots(records, in_order=False, max_matches=max_matches, limit=limit)
    return spread(found, places, len(publications))


def match_documents(
    index: Index, publications: Sequence[Publication], max_matches: int
) -> SlotBatch:
    """The slots of an index that accept the document of each publication, in any order."""
    documents: Sequence[Readable | None] | None
    if isinstance(publications, PublicationBatch):
        documents = publications.documents
    else:
        documents = [one.readable_document for one in publications]
    if documents is None:
        return no_match(publications)
    nothing = [None] * len(documents)
    return index.match_slots(nothing, documents, in_order=False, max_matches=max_matches)
