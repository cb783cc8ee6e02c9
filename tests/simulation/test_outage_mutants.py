"""Planted bugs of timers that wait for a link: each must be found."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import pytest

from sapwood.errors import SapwoodError
from sapwood.routing.effects import Effect, Send, SendMany
from sapwood.routing.inputs import LinkDown, LinkUp
from sapwood.routing.upkeep.protocol import Action
from sapwood.routing.upkeep.stabilize import adaptive, stabilize, statements
from sapwood.routing.upkeep.stabilize.adaptive import Adaptive
from sapwood.routing.upkeep.stabilize.edges import Difference
from sapwood.routing.upkeep.stabilize.stabilize import Link, Stabilize
from sapwood.routing.upkeep.stabilize.timers import Outage
from tests.simulation import test_outages as checks

Patch = Callable[[pytest.MonkeyPatch], None]


def reads_no_counts(patch: pytest.MonkeyPatch) -> None:
    """Each hop counts as the first."""
    patch.setattr(adaptive, "hops_in", lambda _: 0)


def never_counts_afresh(patch: pytest.MonkeyPatch) -> None:
    """A hop that somebody else needed as well counts."""
    patch.setattr(adaptive, "counted_on", lambda hops, _: hops + 1)


def overlooks_own_clients(patch: pytest.MonkeyPatch) -> None:
    """A publication that a client at the link's end takes is useless."""
    before = Adaptive.comes

    def comes(self: Adaptive, effects: Sequence[Effect]) -> None:
        before(self, [one for one in effects if isinstance(one, Send)])

    patch.setattr(Adaptive, "comes", comes)


def counts_what_begins_here(patch: pytest.MonkeyPatch) -> None:
    """A publication of a client at the link's end has crossed a link."""
    before = Adaptive._counted
    patch.setattr(Adaptive, "_counted", lambda self, one, hops: before(self, one, hops or 0))


def never_gives_up(patch: pytest.MonkeyPatch) -> None:
    """Nothing is ever too much."""
    patch.setattr(Adaptive, "_spent", lambda _: [])


def gives_up_too_soon(patch: pytest.MonkeyPatch) -> None:
    """The threshold is that of a single router."""
    patch.setattr(Adaptive, "routers_without", lambda *_: 1)


def counts_the_other_side(patch: pytest.MonkeyPatch) -> None:
    """The routers behind a link are among those before it."""
    before = Stabilize.routers_without
    patch.setattr(Stabilize, "routers_without", lambda self, _: before(self, ""))


def answers_for_nobody(patch: pytest.MonkeyPatch) -> None:
    """Whoever waits for a neighbor that is not there waits for ever."""
    patch.setattr(Stabilize, "_answered", lambda _: iter(()))


def compares_later(patch: pytest.MonkeyPatch) -> None:
    """A link that is back waits for its timer."""
    patch.setattr(Stabilize, "_back", lambda *_: iter(()))


def waits_for_ever(patch: pytest.MonkeyPatch) -> None:
    """A link that is gone for good is waited for."""
    before = Stabilize.link_down

    def link_down(self: Stabilize, link: LinkDown, now: float) -> Iterable[Action]:
        return before(self, LinkDown(link.neighbor), now)

    patch.setattr(Stabilize, "link_down", link_down)


def loses_the_timer_of_an_outage(patch: pytest.MonkeyPatch) -> None:
    """A static timer is gone with its link."""
    patch.setattr(stabilize, "Outage", lambda due_s, **kind: Outage(due_s and math.inf, **kind))
    patch.setattr(Stabilize, "_see", lambda self, now: setattr(self, "_now", now))


def says_everything_again(patch: pytest.MonkeyPatch) -> None:
    """An end that has let go states everything, whatever the neighbor has kept."""
    before = Stabilize.link_up

    def link_up(self: Stabilize, link: LinkUp, now: float) -> Iterable[Action]:
        for action in before(self, link, now):
            self.links[link.neighbor].is_silent = False
            yield action

    patch.setattr(Stabilize, "link_up", link_up)


def withdraws_what_has_another_number(patch: pytest.MonkeyPatch) -> None:
    """An entry that differs in its number only is withdrawn and stated again."""
    patch.setattr(statements, "renumbered", lambda *_: {})


def sends_into_the_void(patch: pytest.MonkeyPatch) -> None:
    """Messages to a neighbor that is not there are sent."""

    def sent(_: Stabilize, send: Send | SendMany, __: float) -> Sequence[Effect]:
        return (send,)

    patch.setattr(Stabilize, "sent", sent)


def is_told_nothing_afresh(patch: pytest.MonkeyPatch) -> None:
    """A correction of a sender that has let go is not announced as one."""
    before = Stabilize._correct

    def correct(self: Stabilize, neighbor: str, link: Link, found: Difference) -> list[Action]:
        return before(self, neighbor, link, found)[1:]

    patch.setattr(Stabilize, "_correct", correct)


def hops_are_counted() -> None:
    checks.test_adaptive_lets_go_when_useless_hops_are_more_than_the_routers_times_the_threshold(
        "0", 2
    )


def routers_are_counted() -> None:
    checks.test_adaptive_lets_go_when_useless_hops_are_more_than_the_routers_times_the_threshold(
        "2", 8
    )


ASIDE = checks.test_a_hop_to_a_router_that_somebody_else_is_behind_was_not_useless
ELSEWHERE = checks.test_nothing_is_counted_that_somebody_else_takes
WAY = checks.test_the_count_is_the_way_behind_the_last_router_that_somebody_else_is_behind
CHANGED = checks.test_what_changed_while_a_link_was_down_is_all_that_is_said_when_it_is_back
KEPT = checks.test_an_end_that_has_let_go_is_told_again_what_it_had_and_the_other_keeps_what_it_has
STATIC = checks.test_static_lets_go_when_its_timer_is_due_and_strawman_at_once
GONE = checks.test_a_link_that_is_gone_for_good_is_not_waited_for


def sides_have_all_routers() -> None:
    checks.test_the_two_sides_of_each_link_have_all_routers("line:6")


BUGS: tuple[tuple[Patch, Callable[[], None]], ...] = (
    (reads_no_counts, hops_are_counted),
    (never_counts_afresh, ASIDE),
    (overlooks_own_clients, ELSEWHERE),
    (counts_what_begins_here, WAY),
    (never_gives_up, hops_are_counted),
    (gives_up_too_soon, routers_are_counted),
    (counts_the_other_side, sides_have_all_routers),
    (answers_for_nobody, CHANGED),
    (compares_later, CHANGED),
    (waits_for_ever, GONE),
    (loses_the_timer_of_an_outage, STATIC),
    (says_everything_again, KEPT),
    (withdraws_what_has_another_number, KEPT),
    (sends_into_the_void, CHANGED),
    (is_told_nothing_afresh, KEPT),
)


@pytest.mark.parametrize(("bug", "check"), BUGS, ids=lambda it: it.__name__)
@pytest.mark.one_in(3)
def test_a_planted_bug_is_found(
    bug: Patch, check: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    bug(monkeypatch)
    with pytest.raises((AssertionError, SapwoodError, KeyError)):
        check()
