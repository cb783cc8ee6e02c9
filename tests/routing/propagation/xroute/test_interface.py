"""The table of one side: what is booked, and what is refused."""

from __future__ import annotations

import pytest

from sapwood.covering.reference import ReferenceCovering
from sapwood.errors import InvariantError, PeerError
from sapwood.model.interest import Interest
from sapwood.routing.propagation.xroute.interface import Canceled, Interface, Registered
from sapwood.routing.propagation.xroute.search import Containment
from sapwood.routing.propagation.xroute.triples import Count, Operation, Triple
from tests.routing.propagation.xroute.networks import S

A, B, AB, ABC, D = S(0), S(1), S(0, 1), S(0, 1, 2), S(3)


def interface() -> Interface:
    """A side that has told of a twice, b three times, and d once."""
    made = Interface(Containment(ReferenceCovering()))
    for filter_, count in ((A, 2), (B, 3), (D, 1)):
        book(made, Triple(filter_, count, 0))
    return made


def book(side: Interface, *operation: Triple) -> Registered | Canceled:
    booked = side.book(operation)
    side.validate()
    return booked


def test_interface_lets_a_new_filter_stand_for_those_it_contains() -> None:
    side = interface()
    booked = book(side, Triple(AB, 1, 4), Triple(D, 1, 0))
    assert isinstance(booked, Registered)
    assert booked.is_new
    assert dict(booked.absorbed) == {A: Count(2, 0), B: Count(3, 0)}
    assert booked.touched == (AB, A, B)
    assert side.counts == {AB: Count(1, 9), D: Count(2, 0)}


def test_interface_counts_more_and_less_of_what_it_knows() -> None:
    side = interface()
    booked = book(side, Triple(B, -2, 1), Triple(A, 0, 4))
    assert booked == Registered(Triple(B, -2, 1), False, (), (Triple(A, 0, 4),))
    assert side.counts == {A: Count(2, 4), B: Count(1, 1), D: Count(1, 0)}


def test_interface_cancels_with_the_last_instance_whatever_was_hidden() -> None:
    side = interface()
    book(side, Triple(AB, 1, 0))
    booked = book(side, Triple(AB, -1, 0), Triple(A, 2, 0), Triple(D, 0, 3))
    assert booked == Canceled(AB, Count(1, 5), (Triple(A, 2, 0), Triple(D, 0, 3)))
    assert set(booked.touched) == {AB, A, D}
    assert side.counts == {D: Count(1, 3), A: Count(2, 0)}


def test_interface_of_clients_hides_nothing() -> None:
    clients = Interface()
    book(clients, Triple(A, 1, 0))
    booked = book(clients, Triple(AB, 1, 0))
    assert isinstance(booked, Registered)
    assert booked.absorbed == ()
    assert clients.counts == {A: Count(1, 0), AB: Count(1, 0)}


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        ((Triple(AB, 0, 1),), "less than nothing"),
        ((Triple(AB, -1, 0),), "less than nothing"),
        ((Triple(A, -3, 0),), "less than nothing"),
        ((Triple(A, 1, -1),), "less than nothing"),
        ((Triple(ABC, 1, 0), Triple(AB, 0, 1)), "has not told"),
        ((Triple(AB, 1, 0), Triple(A, 0, 1)), "has not told"),
        ((Triple(D, 1, 0), Triple(A, 0, -1)), "less than nothing"),
        ((Triple(D, 1, 0), Triple(A, -1, 0), Triple(A, -1, 0)), "less than nothing"),
        ((Triple(A, -2, 0), Triple(A, 1, 0)), "has not told"),
        ((Triple(A, -2, 0), Triple(S(5), 0, 1)), "less than nothing"),
    ],
)
def test_interface_objects_to_what_no_neighbor_can_mean(operation: Operation, words: str) -> None:
    side = interface()
    with pytest.raises(PeerError, match=words):
        side.book(operation)
    assert side.counts == interface().counts


def test_interface_takes_a_triple_that_goes_on_about_the_first() -> None:
    side = interface()
    book(side, Triple(A, 0, 3), Triple(A, 0, -2))
    assert side.counts[A] == Count(2, 1)


def test_interface_validate_notices_damage() -> None:
    side = interface()
    side.counts[A] = Count(0, 1)
    with pytest.raises(InvariantError, match="counts Count"):
        side.validate()
    del side.counts[A]
    with pytest.raises(InvariantError, match="search exactly"):
        side.validate()
    clients = Interface()
    hidden: dict[Interest, Count] = {A: Count(1, 1)}
    clients.counts.update(hidden)
    with pytest.raises(InvariantError, match="hidden among clients"):
        clients.validate()
