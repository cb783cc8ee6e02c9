"""Digests in one piece of memory are the sequence of bytes that they stand for."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sapwood.routing.digests import DigestBatch, as_sent, longest

DIGESTS = st.lists(st.binary(max_size=5), max_size=6)


@given(DIGESTS, st.data())
def test_a_batch_of_digests_is_the_sequence_that_it_was_made_of(
    every: list[bytes], data: st.DataObject
) -> None:
    batch = DigestBatch.of(every)
    assert DigestBatch.of(batch) is batch
    assert batch == every
    assert batch == tuple(every)
    assert batch.sizes.tolist() == [len(one) for one in every]
    assert longest(batch) == longest(every) == max(map(len, every), default=0)
    assert as_sent(batch) == (every if any(every) else ())
    some = data.draw(st.slices(len(every)))
    part = batch[some]
    assert part == every[some]
    assert part.starts.flags.c_contiguous
    places = [at for at in range(len(every)) if data.draw(st.booleans())]
    assert batch.take(places) == [every[place] for place in places]


@given(DIGESTS, st.data())
def test_digests_are_put_in_the_places_of_others(every: list[bytes], data: st.DataObject) -> None:
    places = [at for at in range(len(every)) if data.draw(st.booleans())]
    fresh = [data.draw(st.binary(max_size=5)) for _ in places]
    batch = DigestBatch.of(every)
    put = batch.put(np.array(places, np.int64), DigestBatch.of(fresh))
    expected = dict(enumerate(every)) | dict(zip(places, fresh, strict=True))
    assert put == [*expected.values()]
    assert batch == every


def test_batches_of_other_digests_differ() -> None:
    batch = DigestBatch.of([b"k7", b""])
    assert batch != [b"k7"]
    assert batch != [b"", b"k7"]
    assert batch != 2
    assert repr(batch) == "DigestBatch([b'k7', b''])"
