"""The catalogue of propagation: the words for what travels, and those that modify it.

One word determines which subscriptions travel; `advertisement` beside it, that they follow
advertisements; `merging`, that what covering would send is merged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from sapwood.covering.catalogue import (
    COVERING_INDEXES,
    DEFAULT_COVERING,
    CoveringInfo,
    covering_named,
    interest_index,
)
from sapwood.errors import InputError
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.routing.forwarding.delegation.choice import DELEGATION
from sapwood.routing.forwarding.numbered.choice import NUMBERED
from sapwood.routing.membership.pastry.choice import IRBR, PASTRY, PLAIN, RPF, SCRIBE
from sapwood.routing.propagation.covering import Covering
from sapwood.routing.propagation.flooding import Flooding
from sapwood.routing.propagation.hops.hops import HopPropagation
from sapwood.routing.propagation.identity import Identity
from sapwood.routing.propagation.promises import MergedPromises, maximal_promises
from sapwood.routing.propagation.protocol import Propagation
from sapwood.routing.propagation.ranges.ranges import RangePropagation
from sapwood.routing.propagation.simple import Simple
from sapwood.routing.propagation.xroute.counting import CountingPropagation
from sapwood.routing.propagation.xroute.search import Containment
from sapwood.routing.propagation.xroute.view import View
from sapwood.routing.propagation.xroute.wanted import WantedView
from sapwood.routing.strategies import (
    DEFAULT_MEMBERSHIP,
    MakePromises,
    MakePropagation,
    Rule,
    Strategy,
    by_name,
)
from sapwood.routing.tables import Follower

Links: TypeAlias = Callable[[str], Callable[[], Propagation[Interest]]]
"""Given a router's identity, returns a function that makes the state of each of its links."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Travel(Strategy):
    """A word that determines which subscriptions travel.

    They travel one by one, on the link states of `links`, or in another way, that of `make`;
    `make_advertised` is the way where they follow advertisements, if it differs.
    """

    links: Links | None = None
    make: MakePropagation | None = None
    make_advertised: MakePropagation | None = None
    allows_loss: bool = False
    forwarding: str = "every-hop"
    membership: str = DEFAULT_MEMBERSHIP
    routes_depend_on_order: bool = False


def _by_covering(name: str, summary: str, *, is_maximal: bool) -> Travel:
    """A word for covering; its argument may name a pair of graph and index."""

    def found_by(pair: CoveringInfo) -> Links:
        return lambda _: lambda: Covering(pair.make(is_maximal=is_maximal))

    def choose(pair: str) -> Travel:
        chosen = covering_named(pair)
        return replace(
            plain,
            name=f"{name}:{chosen.name}",
            summary=f"{summary}; covers are found by {chosen.name}",
            links=found_by(chosen),
        )

    links = found_by(covering_named(DEFAULT_COVERING))
    plain = Travel(name=name, summary=summary, links=links, choose=choose)
    return plain


_COVERING: Final = _by_covering(
    "covering",
    "subscriptions travel unless one that covers them already did",
    is_maximal=False,
)
_MAXIMAL: Final = _by_covering(
    "maximal",
    "covering that withdraws what a newcomer covers: the maximal subscriptions are told",
    is_maximal=True,
)
COVERING_WORDS: Final = (_COVERING.name, _MAXIMAL.name)
"""The words whose argument names the pair that finds covers."""


def _by_hops(name: str, summary: str) -> Travel:
    """A word for subscriptions that are kept by neighbor on a circle."""
    rules = (
        Rule(
            frozenset({PASTRY.name}),
            "the ways of subscriptions are those of a circle of identifiers: leave out the word "
            "for membership",
        ),
        Rule(
            frozenset({NUMBERED.name}),
            "ways change on a circle, so publications are numbered: leave out the word for "
            "forwarding",
        ),
    )
    return Travel(
        name=name,
        summary=summary,
        make=HopPropagation,
        requires=rules,
        forwarding=NUMBERED.name,
        membership=PASTRY.name,
        routes_depend_on_order=True,
    )


_RPF_SUMMARY: Final = "subscriptions travel to every router on a circle, publications the way back"


def _rpf(form: str) -> Travel:
    """Reverse path forwarding in its plain form."""
    if form != PLAIN:
        raise InputError(f"protocol {RPF}:{form}: behind {RPF}: goes {PLAIN}, or nothing")
    return _by_hops(f"{RPF}:{PLAIN}", f"{_RPF_SUMMARY}, and others")


SIMPLE: Final = Travel(
    name="simple",
    summary="every subscription travels to every router",
    links=lambda _: Simple[Interest],
)


def _counted_by(view: Callable[[Containment], View]) -> MakePropagation:
    """XRoute, with link states made by `view`."""

    def make(identity: str, follower: Follower[Interest]) -> CountingPropagation:
        columnar = COVERING_INDEXES["columnar"]
        return CountingPropagation(identity, lambda: interest_index(columnar), follower, view)

    return make


TRAVELS: Final = by_name(
    _COVERING,
    _MAXIMAL,
    Travel(
        name="identity",
        summary="of equal subscriptions one travels",
        links=lambda _: Identity,
    ),
    SIMPLE,
    Travel(
        name="flooding",
        summary="publications travel to every router and are filtered at the edge",
        links=lambda _: Flooding[Interest],
        requires=(
            Rule(
                frozenset({"flood"}),
                "under flooding no router knows what others want, so publications have to be "
                "flooded: leave out the word for forwarding",
            ),
        ),
        allows_loss=True,
        forwarding="flood",
    ),
    Travel(
        name="xroute",
        summary="covered subscriptions travel as counts, in one message each",
        make=_counted_by(View),
        make_advertised=_counted_by(WantedView),
    ),
    Travel(
        name=IRBR,
        summary="subscriptions travel to identifier ranges, unless somebody nearby stands for them",
        make=RangePropagation,
        requires=(
            Rule(
                frozenset({PASTRY.name}),
                "ranges are those of a circle of identifiers: leave out the word for membership",
            ),
            Rule(
                frozenset({DELEGATION.name}),
                "what is known of ranges is known of no neighbor: leave out the word for "
                "forwarding",
            ),
        ),
        forwarding=DELEGATION.name,
        membership=PASTRY.name,
        routes_depend_on_order=True,
    ),
    _by_hops(SCRIBE, "subscriptions and publications travel to one rendezvous on a circle"),
    replace(_by_hops(RPF, _RPF_SUMMARY), choose=_rpf),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Advertising(Strategy):
    """A word for subscriptions that follow advertisements, which travel on `links`."""

    links: MakePromises
    #: the links of advertisements where subscriptions are merged, if they differ
    merged: MakePromises | None = None


def _advertising(argument: str) -> Advertising:
    """Advertisements that all travel; raises `InputError` for an unknown argument."""
    if argument != SIMPLE.name:
        raise InputError(
            f"advertisement:{argument} says no way for advertisements to travel: without an "
            "argument those travel that no other one covers, under advertisement:simple all do"
        )
    return replace(
        ADVERTISEMENT,
        name=f"{ADVERTISEMENT.name}:{argument}",
        summary=f"{ADVERTISEMENT.summary}, of which every router is told all",
        links=lambda _: Simple[AdvertisedContent],
        merged=None,
        choose=None,
    )


ADVERTISEMENT: Final = Advertising(
    name="advertisement",
    summary="and only to where it is advertised",
    links=lambda _: maximal_promises,
    merged=MergedPromises,
    choose=_advertising,
    excludes=(
        Rule(
            frozenset({"flooding"}),
            "under flooding no subscription travels that could follow advertisements: leave out "
            "one of the two words",
        ),
    ),
)

ADVERTISINGS: Final = by_name(ADVERTISEMENT)

MERGING: Final = Strategy(
    name="merging",
    summary="what covering would send is merged",
    requires=(
        Rule(
            frozenset({"covering"}),
            "merging takes the place of what covering would send: put it behind covering",
        ),
    ),
)
