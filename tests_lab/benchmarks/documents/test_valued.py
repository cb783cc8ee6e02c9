"""Value predicates are drawn so that some document meets them."""

from __future__ import annotations

import pytest

from sapwood.errors import InputError
from sapwood_lab.benchmarks.documents.valued import with_values

DOCUMENTS = (b"<a x='1'><b>t</b></a>", b"<a x='2' y=' '><c z='it&apos;s'/></a>")


def test_with_values_adds_one_equality_that_an_element_of_that_name_can_meet() -> None:
    assert set(with_values(("/a//b", "/c", "/*"), DOCUMENTS, 6)) == {
        "/a[@x='1']//b",
        "/a[@x='2']//b",
        "/a//b[text()='t']",
        "/*[@x='1']",
        "/*[@x='2']",
        "/*[text()='t']",
    }


def test_with_values_says_how_many_there_are_at_most() -> None:
    with pytest.raises(InputError, match="no more than 2 of these"):
        list(with_values(("/a",), DOCUMENTS, 3))
    with pytest.raises(InputError, match="no more than 0"):
        next(with_values(("/a",), (b"<a/>",), 1))
