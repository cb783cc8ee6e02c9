"""The catalogue of protocols: all strategies, and the making of a protocol from its name.

A protocol's name is its words, joined by `+`: one for membership, one or more for propagation (what
travels, that it follows advertisements, that it is merged), one for forwarding, one for upkeep, in
any order. Defaults are left out: `given`, `every-hop` (under `flooding`: `flood`), `replay`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import Final, NamedTuple

from sapwood.covering.catalogue import DOCUMENT_COVERINGS
from sapwood.covering.merging import PathUniverse, PatternMerger
from sapwood.covering.merging.records import EitherMerger, PerfectRecordMerger
from sapwood.errors import InputError, UnknownNameError
from sapwood.model.interest import Interest
from sapwood.routing.client_entries import SUBSCRIPTIONS
from sapwood.routing.forwarding.bloom.choice import BLOOM
from sapwood.routing.forwarding.delegation.choice import DELEGATION
from sapwood.routing.forwarding.every_hop import EveryHop
from sapwood.routing.forwarding.flood import Flood
from sapwood.routing.forwarding.numbered.choice import NUMBERED
from sapwood.routing.forwarding.prefix.choice import PREFIX
from sapwood.routing.forwarding.reuse.choice import REUSE
from sapwood.routing.forwarding.types.choice import TYPES
from sapwood.routing.membership.given import Given
from sapwood.routing.membership.mesh.choice import mesh_by
from sapwood.routing.membership.pastry.choice import IRBR, PASTRY, PLAIN, RPF, SCRIBE
from sapwood.routing.membership.redundant.choice import redundant_by
from sapwood.routing.propagation.advertised import AdvertisedLinks
from sapwood.routing.propagation.choice import (
    ADVERTISEMENT,
    ADVERTISINGS,
    COVERING_WORDS,
    MERGING,
    SIMPLE,
    TRAVELS,
    Advertising,
    Links,
    Travel,
)
from sapwood.routing.propagation.entries import EntryPropagation
from sapwood.routing.propagation.merging import MergedLinks
from sapwood.routing.strategies import (
    DEFAULT_MEMBERSHIP,
    DEFAULT_UPKEEP,
    ForwardingStrategy,
    MakePromises,
    MakePropagation,
    MembershipStrategy,
    PropagationStrategy,
    Protocol,
    S,
    Strategy,
    UpkeepStrategy,
    by_name,
    no_promises,
)
from sapwood.routing.tables import Follower
from sapwood.routing.upkeep.detour.choice import with_detours
from sapwood.routing.upkeep.failover.choice import FAILOVER, failover_over, is_planned
from sapwood.routing.upkeep.leases.choice import LEASES
from sapwood.routing.upkeep.recover.recover import Recover
from sapwood.routing.upkeep.replay import Replay
from sapwood.routing.upkeep.stabilize.choice import STABILIZE

# Membership --------------------------------------------------------------------------------------

MEMBERSHIPS: Final = by_name(
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

# Forwarding and upkeep ---------------------------------------------------------------------------

FORWARDINGS: Final = by_name(
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
    NUMBERED,
    TYPES,
)

UPKEEPS: Final = by_name(
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
    """All strategies, slot by slot, by name."""

    memberships: Mapping[str, MembershipStrategy] = MEMBERSHIPS
    travels: Mapping[str, Travel] = TRAVELS
    forwardings: Mapping[str, ForwardingStrategy] = FORWARDINGS
    upkeeps: Mapping[str, UpkeepStrategy] = UPKEEPS

    def protocol(self, name: str, paths: PathUniverse | None = None) -> Protocol:
        """The protocol of a name; see the module's function `protocol`."""
        chosen = self._sorted(name)
        memberships, travels, forwardings, upkeeps = self
        if "travels" not in chosen and ADVERTISEMENT.name not in chosen:
            known = ", ".join((*travels, ADVERTISEMENT.name))
            raise InputError(
                f"protocol {name!r} does not say which subscriptions travel: add one of {known}"
            )
        travel = _chosen(travels, chosen.get("travels", (SIMPLE.name, None)))
        budget, word = chosen.get(MERGING.name), chosen.get(ADVERTISEMENT.name)
        propagation = _propagation(
            travel,
            None if budget is None else _merging(name, budget[1]),
            paths,
            advertising=None if word is None else _chosen(ADVERTISINGS, word),
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
        """The words of a name with their arguments behind the colon, by slot.

        Raises `UnknownNameError` for an unknown word, `InputError` for two words of one slot, or
        for an argument of a word that takes none.
        """
        known: dict[str, Mapping[str, Strategy]] = {
            **self._asdict(),
            ADVERTISEMENT.name: ADVERTISINGS,
            MERGING.name: by_name(MERGING),
            FAILOVER.name: by_name(FAILOVER),
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

    A covering of documents behind a plus belongs to the pair before it:
    `covering:flat-1,columnar+subscription-tree`.
    """
    found: list[str] = []
    for part in name.split("+"):
        is_pair = bool(found) and found[-1].partition(":")[0] in COVERING_WORDS
        if is_pair and ":" in found[-1] and part in DOCUMENT_COVERINGS:
            found[-1] += f"+{part}"
        else:
            found.append(part)
    return found


def _upkeep(
    upkeeps: Mapping[str, UpkeepStrategy], chosen: Mapping[str, tuple[str, str | None]]
) -> UpkeepStrategy:
    """The upkeep of the chosen words, with failover in front of it where that is chosen."""
    word = chosen.get("upkeeps", (DEFAULT_UPKEEP, None))
    inner = _chosen(upkeeps, word)
    if FAILOVER.name not in chosen:
        return inner
    _, argument = chosen[FAILOVER.name]
    return failover_over(inner, argument, is_default=word[0] == DEFAULT_UPKEEP)


def _round(upkeep: UpkeepStrategy) -> UpkeepStrategy:
    """The same upkeep where links form circles: routers go round a link that is down."""
    return with_detours(upkeep, Recover) if upkeep.make is Recover else upkeep


def _chosen(strategies: Mapping[str, S], word: tuple[str, str | None]) -> S:
    """The strategy of a word, with the argument behind its colon, if there is one."""
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
    """The word `merging` as it is written, and the budget behind it, 0 where there is none."""
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
    advertising: Advertising | None,
) -> PropagationStrategy:
    """The propagation of the chosen words; `Protocol` checks that they go together."""
    parts: list[Strategy] = [travel]
    names, summary, links = [travel.name], travel.summary, travel.links
    if merging is not None:
        word, budget = merging
        parts.append(MERGING)
        names.append(word)
        share = f"up to {budget:.0%} is added" if budget else "nothing is added"
        summary = f"{MERGING.summary}, as far as {share}"
        links = None if links is None else _merged(links, budget, paths)
    if advertising is not None:
        parts.append(advertising)
        names = [advertising.name, *(name for name in names if name != SIMPLE.name)]
        summary = f"{summary.removesuffix(' to every router')}, {advertising.summary}"
        links = None if links is None else _advertised(links)
    make = travel.make if links is None else _one_by_one(links)
    if advertising is not None and links is None:
        make = travel.make_advertised or make
    assert make is not None, "subscriptions travel one by one or in another way"
    return PropagationStrategy(
        name="+".join(names),
        summary=summary,
        requires=tuple(chain.from_iterable(part.requires for part in parts)),
        excludes=tuple(chain.from_iterable(part.excludes for part in parts)),
        of=tuple(part.words[0] for part in parts),
        make=make,
        clients_advertise=advertising is not None,
        promises=_promises(advertising, is_merged=merging is not None),
        routes_depend_on_order=merging is not None or travel.routes_depend_on_order,
        allows_loss=travel.allows_loss,
        by_proximity=travel.by_proximity,
        forwarding=travel.forwarding,
        membership=travel.membership,
    )


def _promises(advertising: Advertising | None, *, is_merged: bool) -> MakePromises:
    """The way in which advertisements travel."""
    if advertising is None:
        return no_promises
    return (is_merged and advertising.merged) or advertising.links


def _one_by_one(links: Links) -> MakePropagation:
    def make(identity: str, follower: Follower[Interest]) -> EntryPropagation[Interest]:
        return EntryPropagation(SUBSCRIPTIONS, identity, links(identity), follower)

    return make


def _advertised(inner: Links) -> Links:
    return lambda identity: AdvertisedLinks(inner(identity))


def _merged(inner: Links, budget: float, paths: PathUniverse | None) -> Links:
    """Links that merge what the inner ones would propagate, within a budget."""
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
            "advertisement+xroute",
            "advertisement+xroute+types",
            "covering+recover",
            "covering+stabilize",
            IRBR,
            SCRIBE,
            RPF,
            f"{RPF}:{PLAIN}",
        )
    }
)
"""The protocols that are listed; any other is made from its words."""


def protocol(name: str, paths: PathUniverse | None = None) -> Protocol:
    """The protocol of that name.

    The argument of `covering:` and `maximal:` is the name of a pair of graph and index
    (`sapwood.covering.catalogue`), that of `merging:` a budget: the share of what a merger accepts
    that none of its members accepts. Mergers of documents are judged against `paths`; without
    `paths`, and for records, only mergers that add nothing are made.

    Raises `UnknownNameError` with the known names, `InputError` with the reason for words that do
    not go together.
    """
    return CATALOGUES.protocol(name, paths)


def can_be_meshed(inner: Protocol) -> bool:
    """True if a protocol can route on overlays with circles, as it is or on many trees."""
    try:
        return not is_planned(meshed(inner))
    except InputError:
        return False


def meshed(inner: Protocol) -> Protocol:
    """The same protocol on each of many trees, so that links may form circles."""
    if inner.allows_circles:
        return inner
    return replace(inner, membership=MEMBERSHIPS["mesh"], upkeep=_round(inner.upkeep))
