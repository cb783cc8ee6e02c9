"""Engines of both kinds by one list of names."""

from __future__ import annotations

import pytest

from sapwood.errors import InputError, UnknownNameError
from sapwood.matching.engine_names import Engines, chosen_engines

DEFAULT = Engines("columnar")


def test_names_are_told_apart_by_their_kind() -> None:
    assert chosen_engines((), DEFAULT) == DEFAULT
    assert chosen_engines(("xtrie",), DEFAULT) == Engines("columnar", "xtrie")
    assert chosen_engines(("xtrie", "kdtree"), DEFAULT) == Engines("kdtree", "xtrie")
    assert chosen_engines(("kdtree", "kdtree"), DEFAULT) == Engines("kdtree")


def test_what_cannot_be_chosen_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'xtrie'"):
        chosen_engines(("xtree",), DEFAULT)
    with pytest.raises(InputError, match="two engines for records"):
        chosen_engines(("kdtree", "counting"), DEFAULT)
