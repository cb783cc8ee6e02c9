"""Batches made by hand, and what comes of them spelled out one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import msgspec
import numpy as np
from hypothesis import strategies as st

from sapwood.matching.encoded_records import HEADER_BYTES, EncodedRecords, header
from sapwood.matching.publication_batch import PublicationBatch
from sapwood.model.publication import Publication
from sapwood.routing.effects import (
    Accepted,
    AcceptedMany,
    Deliver,
    DeliverMany,
    Effect,
    Remaining,
    Send,
    SendMany,
)
from sapwood.wire.publications import decode_publication, encode_publication
from tests.strategies import nested_records

SPACE = b"between"
"""Bytes that belong to no publication of a batch."""

_ENCODED = msgspec.msgpack.Encoder()


def batch_of(publications: Sequence[Publication]) -> PublicationBatch:
    """A batch of publications, as it is made of a read."""
    bodies = [encode_publication(one) for one in publications]
    maps = [_ENCODED.encode(dict(one.record)) for one in publications]
    starts = np.cumsum([0, *(len(SPACE) + len(body) for body in bodies)]) + len(SPACE)
    ends = starts[:-1] + np.array([len(body) for body in bodies], np.int64)
    offsets = np.cumsum([HEADER_BYTES, *map(len, maps)])
    documents = [one.read_document() for one in publications]
    bare = np.array([one.attributes is None for one in publications], np.bool_)
    return PublicationBatch(
        SPACE + b"".join(body + SPACE for body in bodies),
        starts[:-1].astype(np.int64),
        ends,
        EncodedRecords(header(len(maps)) + b"".join(maps), offsets),
        decode_publication,
        documents=documents if any(one is not None for one in documents) else None,
        bare=bare if bare.any() else None,
    )


@cache
def records(max_size: int = 6) -> st.SearchStrategy[list[Publication]]:
    """Publications with a record alone."""
    ids = st.text(st.characters(codec="ascii"), min_size=1, max_size=4)
    return st.lists(st.builds(Publication, ids, nested_records()), max_size=max_size)


def each(effects: Iterable[Effect]) -> Iterator[Effect]:
    """The effects one by one, those of batches as well; the rest of a batch stays as it is."""
    for effect in effects:
        match effect:
            case DeliverMany():
                yield from effect.each()
            case SendMany(neighbor, many):
                yield from (Send(neighbor, message) for message in many.messages())
            case AcceptedMany(client, publications):
                yield from (Accepted(client, one.id) for one in publications)
            case _:
                yield effect


def by_destination(effects: Iterable[Effect]) -> dict[str, list[Effect]]:
    """The effects for each client and neighbor, in order; `""` has the rest."""
    found: dict[str, list[Effect]] = defaultdict(list)
    for effect in each(effects):
        assert not isinstance(effect, Remaining), "batches of these tests are not cut"
        match effect:
            case Deliver(client):
                found[f"client {client}"].append(effect)
            case Accepted(client):  # said with the next flush, whatever else is said
                found[f"publisher {client}"].append(effect)
            case Send(neighbor):
                found[f"link {neighbor}"].append(effect)
            case _:
                found[""].append(effect)
    return dict(found)
