"""Deliveries: values that are decoded when somebody looks."""

from __future__ import annotations

import copy
import pickle

import pytest

from sapwood.errors import FrameError
from sapwood.model.publication import Publication
from sapwood.session.delivery import Delivery
from sapwood.wire.publications import encode_publication

RECORD = Delivery("p", {"a": {"b": 1}, "c": None}, ("s", "t"))
DOCUMENT = Delivery("q", {}, ("s",), b"<a/>", has_record=False)
BOTH = Delivery("r", {}, ("s",), b"<a/>")


def received(delivery: Delivery) -> Delivery:
    """The same delivery as it comes from a broker."""
    return Delivery.of(encode_publication(delivery.publication()), delivery.subscriptions)


@pytest.mark.parametrize("made", [RECORD, DOCUMENT, BOTH])
def test_a_delivery_is_the_publication_that_was_encoded(made: Delivery) -> None:
    got = received(made)
    assert got.subscriptions == made.subscriptions
    assert got.publication() == made.publication()
    assert (got.id, got.attributes, got.document) == (made.id, made.attributes, made.document)
    assert got.has_record == made.has_record == (made.publication().attributes is not None)
    assert got == made
    assert repr(got) == repr(made)
    assert eval(repr(got), {"Delivery": Delivery}) == made


@pytest.mark.parametrize("made", [RECORD, DOCUMENT])
def test_a_delivery_is_copied_as_a_value(made: Delivery) -> None:
    for one in (made, received(made)):
        assert copy.deepcopy(one) == made
        assert pickle.loads(pickle.dumps(one)) == made


def test_deliveries_differ_in_what_they_hold() -> None:
    others = [Delivery("x", {}, ("s",)), DOCUMENT, received(DOCUMENT), "q"]
    assert [received(BOTH) == other for other in others] == [False] * 4
    assert received(RECORD) != Delivery("p", {"a": {"b": 1}, "c": None}, ("s",))


def test_bytes_that_are_no_publication_are_a_fault_when_they_are_looked_at() -> None:
    broken = Delivery.of(b"\xc0", ("s",))
    assert broken.subscriptions == ("s",)
    for _ in range(2):
        with pytest.raises(FrameError, match="a delivery holds no publication"):
            _ = broken.id


def test_a_delivery_is_a_publication_again() -> None:
    assert RECORD.publication() == Publication("p", {"a": {"b": 1}, "c": None})
