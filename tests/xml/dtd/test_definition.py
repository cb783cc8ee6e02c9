"""A definition has a root that is declared and can end."""

from __future__ import annotations

import pytest

from sapwood.errors import InputError, UnknownNameError
from sapwood.xml.dtd import ContentKind, Dtd, ElementType, NameParticle

LEAF = ElementType("leaf", ContentKind.EMPTY)
TOP = ElementType("top", ContentKind.ELEMENTS, NameParticle("leaf"))


def test_dtd_knows_its_elements_by_name_and_how_high_they_are() -> None:
    dtd = Dtd("top", (TOP, LEAF))
    assert dtd.element("top") == TOP
    assert dict(dtd.heights) == {"leaf": 1, "top": 2}
    assert list(dtd.paths.up_to(9)) == [("top", "leaf")]
    with pytest.raises(UnknownNameError, match="known: top, leaf"):
        dtd.element("leav")


def test_dtd_refuses_a_root_that_is_not_declared() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'leaf'"):
        Dtd("lef", (TOP, LEAF))


def test_dtd_refuses_a_root_that_never_ends() -> None:
    with pytest.raises(InputError, match="make one of them optional"):
        Dtd("top", (TOP,))
