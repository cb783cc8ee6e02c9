"""The view of one neighbor: its operations, step by step, and the damage that `validate` sees."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from sapwood.covering.reference import ReferenceCovering
from sapwood.errors import InvariantError
from sapwood.model.interest import Interest
from sapwood.routing.propagation.xroute.interface import Canceled, Registered
from sapwood.routing.propagation.xroute.search import Containment
from sapwood.routing.propagation.xroute.triples import Count, Operation, Triple
from sapwood.routing.propagation.xroute.view import View
from tests.routing.propagation.xroute.networks import S

A, AB, ABC, BD, D = S(0), S(0, 1), S(0, 1, 2), S(1, 3), S(3)
Known = dict[Interest, Count]


class Told:
    """A view of two sides, and the sides' counts, kept by hand."""

    def __init__(self) -> None:
        self.view = View(Containment(ReferenceCovering()))
        self.sides: list[Known] = [{}, {}]

    def register(self, side: int, filter_: Interest, count: int = 1) -> list[Operation]:
        counts = self.sides[side]
        is_new = filter_ not in counts
        known = counts.get(filter_, Count(0, 0))
        counts[filter_] = known.plus(count, 0)
        booked = Registered(Triple(filter_, count, 0), is_new, (), ())
        told = self.view.take(booked)
        self.view.validate(self.sides)
        return told

    def cancel(self, side: int, filter_: Interest) -> list[Operation]:
        told = self.view.take(Canceled(filter_, self.sides[side].pop(filter_), ()))
        self.view.validate(self.sides)
        return told


def test_view_tells_of_a_substitute_what_it_stands_for() -> None:
    told = Told()
    assert told.register(0, ABC) == [(Triple(ABC, 1, 0),)]
    assert told.register(0, A, 2) == [(Triple(ABC, 0, 2),)], "new, and substituted"
    assert told.register(1, A) == [(Triple(ABC, 0, 1),)], "supplementary"
    assert told.register(1, A, 3) == [(Triple(ABC, 0, 3),)], "duplicate"
    assert told.view.propagated == {ABC: Count(1, 6)}


def test_view_cancels_without_a_word_of_what_another_stands_for() -> None:
    told = Told()
    for side, filter_ in ((0, ABC), (0, AB), (1, A)):
        told.register(side, filter_)
    assert told.cancel(0, AB) == [(Triple(ABC, 0, -1),)]
    assert told.view.entries[A].head.filter == ABC


def test_view_tells_what_a_top_hid_when_it_goes() -> None:
    told = Told()
    for side, filter_, count in ((0, A, 2), (1, D, 1), (0, ABC, 1), (1, AB, 3), (1, BD, 1)):
        told.register(side, filter_, count)
    assert told.view.propagated == {ABC: Count(1, 5), BD: Count(1, 1)}
    [(main, *appended)] = told.cancel(0, ABC)
    assert main == Triple(ABC, -1, 0)
    assert appended == [Triple(AB, 3, 2)], "which stands for the other orphan now"
    assert told.view.propagated == {AB: Count(3, 2), BD: Count(1, 1)}


def test_view_keeps_a_top_that_another_side_still_has() -> None:
    told = Told()
    told.register(0, ABC, 2)
    told.register(1, ABC)
    told.register(1, A)
    assert told.cancel(0, ABC) == [(Triple(ABC, -2, 0),)]
    assert told.view.propagated == {ABC: Count(1, 1)}


def test_view_starts_with_all_that_the_sides_know() -> None:
    view = View(Containment(ReferenceCovering()))
    sides: list[Known] = [{A: Count(2, 0), BD: Count(1, 4)}, {ABC: Count(1, 1), A: Count(1, 0)}]
    told = view.start(item for side in sides for item in side.items())
    view.validate(sides)
    assert told == [(Triple(BD, 1, 4),), (Triple(ABC, 1, 4),)]


def _lose(view: View) -> None:
    del view.entries[BD]


def _miscount(view: View) -> None:
    view.entries[ABC].hidden += 1


def _unlink(view: View) -> None:
    view.entries[A].substitute = view.entries[BD]


def _disown(view: View) -> None:
    view.entries[ABC].children.clear()
    view.entries[ABC].hidden = 0


def _make_top(view: View) -> None:
    view.entries[A].substitute = None


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (_lose, "exactly what its interfaces know"),
        (_miscount, "counts wrongly"),
        (_unlink, "not below|does not know it"),
        (_disown, "does not know it"),
        (_make_top, "are tops"),
    ],
)
def test_view_validate_notices_damage(damage: Callable[[View], None], words: str) -> None:
    told = Told()
    for filter_ in (ABC, A, BD):
        told.register(0, filter_)
    damage(told.view)
    with pytest.raises(InvariantError, match=words):
        told.view.validate(told.sides)


def test_view_validate_notices_a_circle() -> None:
    told = Told()
    for filter_ in (ABC, AB, A):
        told.register(0, filter_)
    view, sides = told.view, told.sides
    above, below = view.entries[AB], view.entries[A]
    view.entries[ABC].children.clear()
    above.substitute, below.substitute = below, above
    above.children, below.children = {A: below}, {AB: above}
    view.entries[ABC].hidden = 0
    counts: Mapping[Interest, Count] = {ABC: Count(1, 0), AB: Count(1, -1), A: Count(1, -1)}
    above.hidden, below.hidden = 0, 0
    with pytest.raises(InvariantError, match="no top above it"):
        view.validate([counts])
    assert sides[0].keys() == counts.keys()
