from __future__ import annotations

import gc

import pyarrow as pa
import pytest

from sapwood.pipeline.spark.arrow_rows import rows_of, uncollected


def test_the_collector_is_off_in_the_block_and_as_it_was_after_it() -> None:
    assert gc.isenabled()
    with uncollected():
        assert not gc.isenabled()
        with uncollected():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(KeyError), uncollected():
        raise KeyError
    assert gc.isenabled()


def test_batches_are_rows_one_after_the_other() -> None:
    first = pa.RecordBatch.from_pydict({"key": ["a", "b"], "number": [1, None]})
    empty = pa.RecordBatch.from_pydict({"key": [], "number": []})
    assert list(rows_of([first, empty, first])) == 2 * [("a", 1), ("b", None)]
    assert not list(rows_of([]))
