"""The catalogue of protocols: where all strategies are registered, and put together by name.

A protocol's name is its words, joined by `+`: one for membership, some for propagation (what
travels, that it follows advertisements, that it is merged), one for forwarding, one for upkeep, in
any order. What goes without saying is left out: `given`, `every-hop` (under `flooding`: `flood`),
`replay`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias, TypeVar

from sapwood.covering.catalogue import (
    COVERING_INDEXES,
    DEFAULT_COVERING,
    DOCUMENT_COVERINGS,
    CoveringInfo,
    covering_named,
    interest_index,
)
from sapwood.covering.merging import PathUniverse, PatternMerger
from sapwood.covering.merging.records import EitherMerger, PerfectRecordMerger
from sapwood.errors import InputError, UnknownNameError
from sapwood.model.interest import Interest
from sapwood.routing.client_entries import SUBSCRIPTIONS
from sapwood.routing.forwarding.bloom.choice import BLOOM
from sapwood.routing.forwarding.delegation.choice import DELEGATION
from sapwood.routing.forwarding.every_hop import EveryHop
from sapwood.routing.forwarding.flood import Flood
from sapwood.routing.forwarding.prefix.choice import PREFIX
from sapwood.routing.forwarding.reuse.choice import REUSE
from sapwood.routing.membership.given import Given
from sapwood.routing.membership.mesh.choice import mesh_by
from sapwood.routing.membership.pastry.choice import IRBR, PASTRY
from sapwood.routing.membership.redundant.choice import redundant_by
from sapwood.routing.propagation.advertised import AdvertisedLinks
from sapwood.routing.propagation.covering import Covering
from sapwood.routing.propagation.entries import EntryPropagation
from sapwood.routing.propagation.flooding import Flooding
from sapwood.routing.propagation.identity import Identity
from sapwood.routing.propagation.merging import MergedLinks
from sapwood.routing.propagation.protocol import Propagation
from sapwood.routing.propagation.ranges.ranges import RangePropagation
from sapwood.routing.propagation.simple import Simple
from sapwood.routing.propagation.xroute.counting import CountingPropagation
from sapwood.routing.strategies import (
    DEFAULT_MEMBERSHIP,
    DEFAULT_UPKEEP,
    ForwardingStrategy,
    MakePropagation,
    MembershipStrategy,
    PropagationStrategy,
    Protocol,
    Rule,
    Strategy,
    UpkeepStrategy,
)
from sapwood.routing.tables import Follower
from sapwood.routing.upkeep.detour.choice import with_detours
from sapwood.routing.upkeep.failover.choice import FAILOVER, failover_over, is_planned
from sapwood.routing.upkeep.leases.choice import LEASES
from sapwood.routing.upkeep.recover.recover import Recover
from sapwood.routing.upkeep.replay import Replay
from sapwood.routing.upkeep.stabilize.choice import STABILIZE

S = TypeVar("S", bound=Strategy)


def _catalogue(*strategies: S) -> Mapping[str, S]:
    return MappingProxyType({strategy.name: strategy for strategy in strategies})


# Membership --------------------------------------------------------------------------------------

MEMBERSHIPS: Final = _catalogue(
    MembershipStrategy(
        name=DEFAULT_MEMBERSHIP,
        summary="links are given, and form a tree",
        make=Given,
        allows_loss=True,
    ),
    mesh_by(),
    redundant_by(),
    PASTRY,
)

# Propagation: what travels, and what changes that ------------------------------------------------

Links: TypeAlias = Callable[[str], Callable[[], Propagation[Interest]]]
"""Given the identity of a router, makes what makes the state of each of its links."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Travel(Strategy):
    """A word that says which subscriptions travel.

    One by one, as `links` says, or in another way, which is `make`.
    """

    links: Links | None = None
    make: MakePropagation | None = None
    allows_loss: bool = False
    forwarding: str = "every-hop"
    membership: str = DEFAULT_MEMBERSHIP
    routes_depend_on_order: bool = False


def _by_covering(name: str, summary: str, *, is_maximal: bool) -> Travel:
    """A word for covering, behind whose colon a pair of graph and index may be named."""

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
_COVERING_WORDS: Final = (_COVERING.name, _MAXIMAL.name)
"""Behind their colon goes what finds covers."""

_SIMPLE: Final = Travel(
    name="simple",
    summary="every subscription travels to every router",
    links=lambda _: Simple[Interest],
)

TRAVELS: Final = _catalogue(
    _COVERING,
    _MAXIMAL,
    Travel(
        name="identity",
        summary="of equal subscriptions one travels",
        links=lambda _: Identity,
    ),
    _SIMPLE,
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
        make=lambda identity, follower: CountingPropagation(
            identity, lambda: interest_index(COVERING_INDEXES["columnar"]), follower
        ),
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
)

ADVERTISEMENT: Final = Strategy(
    name="advertisement",
    summary="and only to where it is advertised",
    excludes=(
        Rule(
            frozenset({"flooding"}),
            "under flooding no subscription travels that could follow advertisements: leave out "
            "one of the two words",
        ),
        Rule(
            frozenset({"xroute"}),
            "XRoute's counts have to reach every router, whatever is advertised: leave out one of "
            "the two words",
        ),
    ),
)

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

# Forwarding and upkeep ---------------------------------------------------------------------------

FORWARDINGS: Final = _catalogue(
    ForwardingStrategy(
        name="every-hop",
        summary="every router matches publications against what its neighbors want",
        make=lambda _, engines, __: EveryHop(engines),
    ),
    ForwardingStrategy(
        name="flood",
        summary="every router sends publications over all its links",
        make=lambda _, engines, __: Flood(engines),
    ),
    REUSE,
    BLOOM,
    PREFIX,
    DELEGATION,
)

UPKEEPS: Final = _catalogue(
    UpkeepStrategy(
        name=DEFAULT_UPKEEP,
        summary="a link that is gone is forgotten, one that comes is told everything",
        make=Replay,
    ),
    UpkeepStrategy(
        name="recover",
        summary="what was acknowledged survives: a crash or a broken link only delays",
        make=Recover,
        persists=True,
    ),
    STABILIZE,
    LEASES,
)

# Putting together --------------------------------------------------------------------------------


class Catalogues(NamedTuple):
    """All strategies there are, slot by slot, by name."""

    memberships: Mapping[str, MembershipStrategy] = MEMBERSHIPS
    travels: Mapping[str, Travel] = TRAVELS
    forwardings: Mapping[str, ForwardingStrategy] = FORWARDINGS
    upkeeps: Mapping[str, UpkeepStrategy] = UPKEEPS

    def protocol(self, name: str, paths: PathUniverse | None = None) -> Protocol:
        """The protocol of a name; see the function of that name."""
        chosen = self._sorted(name)
        memberships, travels, forwardings, upkeeps = self
        if "travels" not in chosen and ADVERTISEMENT.name not in chosen:
            known = ", ".join((*travels, ADVERTISEMENT.name))
            raise InputError(
                f"protocol {name!r} does not say which subscriptions travel: add one of {known}"
            )
        travel = _chosen(travels, chosen.get("travels", (_SIMPLE.name, None)))
        budget = chosen.get(MERGING.name)
        propagation = _propagation(
            travel,
            None if budget is None else _merging(name, budget[1]),
            paths,
            is_advertised=ADVERTISEMENT.name in chosen,
        )
        membership = _chosen(memberships, chosen.get("memberships", (propagation.membership, None)))
        upkeep = _upkeep(upkeeps, chosen)
        return Protocol(
            membership,
            propagation,
            _chosen(forwardings, chosen.get("forwardings", (propagation.forwarding, None))),
            upkeep if membership.name == DEFAULT_MEMBERSHIP else _round(upkeep),
        )

    def _sorted(self, name: str) -> dict[str, tuple[str, str | None]]:
        """The words of a name with what is behind their colons, by what they are about.

        Raises `UnknownNameError` for a word that there is not, `InputError` for two about one
        thing, or for an argument where there can be none.
        """
        known: dict[str, Mapping[str, Strategy]] = {
            **self._asdict(),
            ADVERTISEMENT.name: _catalogue(ADVERTISEMENT),
            MERGING.name: _catalogue(MERGING),
            FAILOVER.name: _catalogue(FAILOVER),
        }
        chosen: dict[str, tuple[str, str | None]] = {}
        for part in _parts(name):
            word, colon, argument = part.partition(":")
            about = next((about for about, words in known.items() if word in words), None)
            if about is None:
                raise UnknownNameError("protocol", name, PROTOCOLS)
            if about in chosen:
                pair = " and ".join(dict.fromkeys((chosen[about][0], word)))
                raise InputError(f"protocol {name!r}: {_ONE_OF[about].format(pair)}")
            takes_one = known[about][word].choose is not None
            if colon and not takes_one and about != MERGING.name:
                raise InputError(f"protocol {name!r}: {word} takes nothing behind a colon")
            chosen[about] = (word, argument if colon else None)
        return chosen


def _parts(name: str) -> list[str]:
    """The words of a name with their arguments.

    A covering of documents behind a plus belongs to the pair in front of it:
    `covering:flat-1,columnar+subscription-tree`.
    """
    found: list[str] = []
    for part in name.split("+"):
        is_pair = bool(found) and found[-1].partition(":")[0] in _COVERING_WORDS
        if is_pair and ":" in found[-1] and part in DOCUMENT_COVERINGS:
            found[-1] += f"+{part}"
        else:
            found.append(part)
    return found


def _upkeep(
    upkeeps: Mapping[str, UpkeepStrategy], chosen: Mapping[str, tuple[str, str | None]]
) -> UpkeepStrategy:
    """What keeps state right, failover in front of it where that is asked for."""
    word = chosen.get("upkeeps", (DEFAULT_UPKEEP, None))
    inner = _chosen(upkeeps, word)
    if FAILOVER.name not in chosen:
        return inner
    _, argument = chosen[FAILOVER.name]
    return failover_over(inner, argument, is_default=word[0] == DEFAULT_UPKEEP)


def _round(upkeep: UpkeepStrategy) -> UpkeepStrategy:
    """The same where links form circles: who waits for a link that is down goes round it."""
    return with_detours(upkeep, Recover) if upkeep.make is Recover else upkeep


def _chosen(strategies: Mapping[str, S], word: tuple[str, str | None]) -> S:
    """The strategy of a word, with what stands behind its colon, if anything does."""
    name, argument = word
    strategy = strategies[name]
    if argument is None:
        return strategy
    assert strategy.choose is not None, "words that take no argument have none"
    chosen = strategy.choose(argument)
    assert isinstance(chosen, type(strategy)), "an argument chooses among strategies of one kind"
    return chosen


_ONE_OF: Final = MappingProxyType(
    {
        "memberships": "{} say who the neighbors are, and only one can",
        "travels": "{} say which subscriptions travel, and only one can",
        "forwardings": "{} say where publications go, and only one can",
        "upkeeps": "{} say how state is kept right, and only one can",
        ADVERTISEMENT.name: "{} is there twice",
        MERGING.name: "{} is there twice",
        FAILOVER.name: "{} is there twice",
    }
)


def _merging(name: str, text: str | None) -> tuple[str, float]:
    """The word merging as it is written, and the budget behind it, 0 where there is none."""
    if text is None:
        return MERGING.name, 0.0
    try:
        budget = float(text)
    except ValueError:
        budget = -1.0
    if not 0 <= budget < 1:
        raise InputError(f"protocol {name!r}: behind +merging goes a share, as in +merging:0.1")
    return f"{MERGING.name}:{text}", budget


def _propagation(
    travel: Travel,
    merging: tuple[str, float] | None,
    paths: PathUniverse | None,
    *,
    is_advertised: bool,
) -> PropagationStrategy:
    """What travels, with what changes that; whether they go together is the protocol's business."""
    parts: list[Strategy] = [travel]
    names, summary, links = [travel.name], travel.summary, travel.links
    if merging is not None:
        word, budget = merging
        parts.append(MERGING)
        names.append(word)
        share = f"up to {budget:.0%} is added" if budget else "nothing is added"
        summary = f"{MERGING.summary}, as far as {share}"
        links = None if links is None else _merged(links, budget, paths)
    if is_advertised:
        parts.append(ADVERTISEMENT)
        names = [ADVERTISEMENT.name, *(name for name in names if name != _SIMPLE.name)]
        summary = f"{summary.removesuffix(' to every router')}, {ADVERTISEMENT.summary}"
        links = None if links is None else _advertised(links)
    make = travel.make if links is None else _one_by_one(links)
    assert make is not None, "subscriptions travel one by one or in another way"
    return PropagationStrategy(
        name="+".join(names),
        summary=summary,
        requires=tuple(chain.from_iterable(part.requires for part in parts)),
        excludes=tuple(chain.from_iterable(part.excludes for part in parts)),
        of=tuple(part.words[0] for part in parts),
        make=make,
        clients_advertise=is_advertised,
        routes_depend_on_order=merging is not None or travel.routes_depend_on_order,
        allows_loss=travel.allows_loss,
        forwarding=travel.forwarding,
        membership=travel.membership,
    )


def _one_by_one(links: Links) -> MakePropagation:
    def make(identity: str, follower: Follower[Interest]) -> EntryPropagation[Interest]:
        return EntryPropagation(SUBSCRIPTIONS, identity, links(identity), follower)

    return make


def _advertised(inner: Links) -> Links:
    return lambda identity: AdvertisedLinks(inner(identity))


def _merged(inner: Links, budget: float, paths: PathUniverse | None) -> Links:
    """Links on which what the inner ones would propagate is merged within a budget."""
    documents = () if paths is None else (PatternMerger(paths, budget),)
    merger = EitherMerger((PerfectRecordMerger(), *documents))

    return lambda identity: MergedLinks(inner(identity), merger, identity)


CATALOGUES: Final = Catalogues()

PROTOCOLS: Final[Mapping[str, Protocol]] = MappingProxyType(
    {
        name: CATALOGUES.protocol(name)
        for name in (
            "covering",
            "maximal",
            "identity",
            "simple",
            "flooding",
            "covering+merging",
            "xroute",
            "advertisement+covering",
            "advertisement+covering+merging",
            "advertisement+identity",
            "advertisement",
            "covering+recover",
            "covering+stabilize",
            IRBR,
        )
    }
)
"""The protocols that are listed; any others are put together by their words."""


def protocol(name: str, paths: PathUniverse | None = None) -> Protocol:
    """The protocol of that name.

    Behind `covering:` and `maximal:` goes the name of a pair of graph and index
    (`sapwood.covering.catalogue`), behind `merging:` a budget: the share of what a merger accepts
    that none of its members accepts.
    Mergers of documents are judged against `paths`; without it, and for records, only those are
    made that add nothing.

    Raises `UnknownNameError` with the names there are, `InputError` with the reason for words that
    do not go together.
    """
    return CATALOGUES.protocol(name, paths)


def can_be_meshed(inner: Protocol) -> bool:
    """Whether a protocol can route on overlays with circles, as it is or on many trees."""
    try:
        return not is_planned(meshed(inner))
    except InputError:
        return False


def meshed(inner: Protocol) -> Protocol:
    """The same protocol on each of many trees, so that links may form circles."""
    if inner.allows_circles:
        return inner
    return replace(inner, membership=MEMBERSHIPS["mesh"], upkeep=_round(inner.upkeep))
