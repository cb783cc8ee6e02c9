from __future__ import annotations

import gc

import pytest

from sapwood.pipeline.collecting import uncollected


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
