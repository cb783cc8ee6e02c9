"""Publications of a log as a batch, with and without compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.matching.publication_batch import PublicationBatch
from sapwood.model.publication import Publication
from sapwood.store.batches import StoredPublications, ids_in, pieces, stored_publications
from sapwood.wire.publications import encode_publication
from sapwood.wire.runs import FRAMES
from tests import strategies

IDS = st.text(min_size=1, max_size=300).filter(lambda text: text.isprintable())


def joined(publications: list[Publication]) -> tuple[bytes, Any]:
    bodies = [encode_publication(one) for one in publications]
    return b"".join(bodies), np.cumsum([len(body) for body in bodies], dtype=np.int64)


@given(st.lists(st.tuples(IDS, strategies.nested_records()), min_size=1, max_size=6))
def test_a_stored_batch_is_the_publications_that_were_stored(given_: list[Any]) -> None:
    publications = [Publication(*one) for one in given_]
    bodies, ends = joined(publications)
    found = stored_publications(bodies, ends)
    assert list(found) == publications
    assert list(found[1:]) == publications[1:]
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1]))
    assert ids_in(bodies, starts) == [one.id.encode() for one in publications]


@given(st.lists(st.text("ab\0", min_size=3, max_size=4), min_size=1, max_size=9), st.booleans())
def test_ids_are_found_whether_they_are_equally_long_or_not(ids: list[str], same: bool) -> None:
    ids = [id_[:3] for id_ in ids] if same else ids
    bodies, ends = joined([Publication(id_, {"a": 1}) for id_ in ids])
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1]))
    assert ids_in(bodies, starts) == [id_.encode() for id_ in ids]
    assert ids_in(bodies, starts[:0]) == []


@given(st.binary(min_size=1, max_size=40), st.data())
def test_pieces_are_the_bytes_that_stand_there(data: bytes, drawn: st.DataObject) -> None:
    size = drawn.draw(st.integers(1, len(data)))
    starts = drawn.draw(st.lists(st.integers(0, len(data) - size), max_size=5))
    found = pieces(data, np.array(starts, np.int64), size)
    assert found.tolist() == [data[start : start + size] for start in starts]
    assert found.tobytes() == b"".join(data[start : start + size] for start in starts)


def test_documents_are_decoded_one_by_one() -> None:
    publications = [Publication("p", {"a": None}, b"<a/>"), Publication("q", None, b"<b/>")]
    found = stored_publications(*joined(publications))
    assert isinstance(found, StoredPublications)
    assert list(found) == publications


def test_records_are_a_batch_for_compiled_code_where_kernels_are_at_hand() -> None:
    from sapwood.matching.readiness import RECORDS

    RECORDS.load()
    FRAMES.load()
    publications = [Publication("p", {"a": 1}), Publication("q" * 40, {"a": {"b": None}})]
    found = stored_publications(*joined(publications))
    assert isinstance(found, PublicationBatch)
    assert list(found) == publications
    assert list(found.records) == [{"a": 1}, {}]


def test_no_publications_are_none() -> None:
    assert list(stored_publications(b"", np.zeros(0, np.int64))) == []


@pytest.mark.parametrize("size", [1, 31, 32, 255, 256, 512])
def test_ids_of_every_length_are_found(size: int) -> None:
    publications = [Publication("i" * size, {"a": 1}), Publication("j" * size, {})]
    bodies, ends = joined(publications)
    starts = np.array([0, ends[0]], np.int64)
    assert ids_in(bodies, starts) == [b"i" * size, b"j" * size]
