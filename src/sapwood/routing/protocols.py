"""The catalogue of protocols: named choices of propagation, forwarding and upkeep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from types import MappingProxyType
from typing import Final

from sapwood.covering.catalogue import (
    COVERING_INDEXES,
    CoveringInfo,
    covering_named,
    interest_index,
)
from sapwood.covering.documents.merging import PathUniverse, PatternMerger
from sapwood.covering.merging import EitherMerger, PerfectRecordMerger
from sapwood.errors import InputError, UnknownNameError
from sapwood.model.interest import Interest
from sapwood.routing.propagation.xroute.counted import Counted
from sapwood.routing.forwarding.every_hop import match_links
from sapwood.routing.forwarding.flood import flood
from sapwood.routing.forwarding.protocol import Forwarding
from sapwood.routing.propagation.advertised import Advertised
from sapwood.routing.propagation.covering import Covering
from sapwood.routing.propagation.flooding import Flooding
from sapwood.routing.propagation.identity import Identity
from sapwood.routing.propagation.merging import Merging
from sapwood.routing.propagation.protocol import Propagation
from sapwood.routing.propagation.simple import Simple
from sapwood.routing.propagation.xroute.search import MakeIndex
from sapwood.routing.spread import Spread
from sapwood.routing.statements import SUBSCRIPTIONS
from sapwood.routing.upkeep.replay import HardState
from sapwood.routing.upkeep.protocol import Upkeep


@dataclass(frozen=True, slots=True)
class Protocol:
    """One choice in each place.

    `kinds` are the filter languages it routes; `exact` means that it delivers exactly the pairs a
    brute-force matcher finds. `propagation` makes the state of one link, `upkeep` that of one
    router. `advertised` means that subscriptions travel only towards advertisements, so that
    clients have to advertise what they publish. With `counting` subscriptions travel as counts,
    and this makes the covering indexes for it; nothing is propagated one by one then. `merging`
    takes the place of `propagation` where links need keys of their own: given the identity of a
    router it makes what makes them. `meshed` means that links may form circles, and routers route
    on a tree for each of them.
    """

    name: str
    summary: str
    kinds: tuple[str, ...]
    exact: bool
    propagation: Callable[[], Propagation[Interest]]
    forwarding: Forwarding
    upkeep: Callable[[], Upkeep]
    advertised: bool = False
    counting: MakeIndex | None = None
    merging: Callable[[str], Callable[[], Propagation[Interest]]] | None = None
    meshed: bool = False

    def spread(self, identity: str) -> Spread[Interest] | Counted:
        """The subscriptions of one router, whose identity is unique for all time."""
        if self.counting is not None:
            return Counted(identity, self.counting)
        make = self.propagation if self.merging is None else self.merging(identity)
        return Spread(SUBSCRIPTIONS, identity, make)


def _protocol(
    name: str,
    summary: str,
    propagation: Callable[[], Propagation[Interest]],
    forwarding: Forwarding,
) -> Protocol:
    return Protocol(
        name=name,
        summary=summary,
        kinds=("records", "documents"),
        exact=True,
        propagation=propagation,
        forwarding=forwarding,
        upkeep=HardState,
    )


def _advertised(name: str, summary: str, inner: Protocol) -> Protocol:
    merging = inner.merging
    return replace(
        inner,
        name=name,
        summary=f"{summary}, and only to where it is advertised",
        propagation=partial(Advertised, inner.propagation),
        merging=None
        if merging is None
        else lambda identity: partial(Advertised, merging(identity)),
        advertised=True,
    )


_COVERING: Final = _protocol(
    "covering",
    "subscriptions travel unless one that covers them already did",
    Covering,
    match_links,
)


def _merged(inner: Protocol, name: str, budget: float, paths: PathUniverse | None) -> Protocol:
    """An inner protocol of which what it would propagate is merged within a budget."""
    documents = () if paths is None else (PatternMerger(paths, budget),)
    merger = EitherMerger((PerfectRecordMerger(), *documents))

    def of_router(identity: str) -> Callable[[], Propagation[Interest]]:
        serials = count(1)
        return lambda: Merging(inner.propagation(), merger, f"{identity}.m{next(serials)}")

    share = f"up to {budget:.0%} is added" if budget else "nothing is added"
    summary = f"what covering would send is merged, as far as {share}"
    return replace(inner, name=name, summary=summary, merging=of_router)


_MERGING: Final = _merged(_COVERING, "covering+merging", 0.0, None)
_IDENTITY: Final = _protocol(
    "identity", "of equal subscriptions one travels", Identity, match_links
)
_SIMPLE: Final = _protocol(
    "simple", "every subscription travels to every router", Simple, match_links
)
_FLOODING: Final = _protocol(
    "flooding",
    "publications travel to every router and are filtered at the edge",
    Flooding,
    flood,
)

_XROUTE: Final = replace(
    _protocol(
        "xroute",
        "covered subscriptions travel as counts, in one message each",
        Flooding,
        match_links,
    ),
    counting=lambda: interest_index(COVERING_INDEXES["columnar"]),
)

_ADVERTISEMENT: Final = "advertisement"
_MESH: Final = "mesh"

PROTOCOLS: Final[Mapping[str, Protocol]] = MappingProxyType(
    {
        protocol.name: protocol
        for protocol in (
            _COVERING,
            _IDENTITY,
            _SIMPLE,
            _FLOODING,
            _MERGING,
            _XROUTE,
            _advertised(f"{_ADVERTISEMENT}+covering", _COVERING.summary, _COVERING),
            _advertised(f"{_ADVERTISEMENT}+covering+merging", _MERGING.summary, _MERGING),
            _advertised(f"{_ADVERTISEMENT}+identity", _IDENTITY.summary, _IDENTITY),
            _advertised(_ADVERTISEMENT, "every subscription travels", _SIMPLE),
        )
    }
)


def protocol(name: str, paths: PathUniverse | None = None) -> Protocol:
    """The protocol of that name, or one that is put together by its name.

    `covering:` and the name of a pair of graph and index (`sapwood.covering.catalogue`) is covering
    with that pair. `+merging` can stand behind it, with a budget as in `+merging:0.1`: the share of
    what a merger accepts that none of its members accepts. `advertisement+` can stand before all.
    Mergers of documents are judged against `paths`; without it, and for records, only those are
    made that add nothing. `mesh+` can stand before anything, for overlays with circles (`meshed`).

    Raises `UnknownNameError` with the names there are, `InputError` for a budget that is none.
    """
    if name.startswith(f"{_MESH}+"):
        return meshed(protocol(name.removeprefix(f"{_MESH}+"), paths))
    known = PROTOCOLS.get(name)
    if known is not None and (paths is None or known.merging is None):
        return known
    rest = name.removeprefix(f"{_ADVERTISEMENT}+")
    base, plus, budget = rest.partition("+merging")
    kind, colon, pair = base.partition(":")
    if kind != "covering":
        raise UnknownNameError("protocol", name, PROTOCOLS)
    found = _covering(covering_named(pair)) if colon else _COVERING
    if plus:
        found = _merged(found, rest, _budget(name, budget), paths)
    if rest == name:
        return found
    return _advertised(name, found.summary, found)


def meshed(inner: Protocol) -> Protocol:
    """The same protocol on each of many trees, so that links may form circles."""
    if inner.meshed:
        return inner
    summary = f"{inner.summary}; on a tree for each router"
    return replace(inner, name=f"{_MESH}+{inner.name}", summary=summary, meshed=True)


def _covering(pair: CoveringInfo) -> Protocol:
    return _protocol(
        f"covering:{pair.name}",
        f"{PROTOCOLS['covering'].summary}; covers are found by {pair.name}",
        lambda: Covering(pair.make()),
        match_links,
    )


def _budget(name: str, text: str) -> float:
    """The budget behind `+merging`, 0 where there is none."""
    if not text:
        return 0.0
    try:
        budget = float(text.removeprefix(":"))
    except ValueError:
        budget = -1.0
    if not (text.startswith(":") and 0 <= budget < 1):
        raise InputError(f"protocol {name!r}: behind +merging goes a share, as in +merging:0.1")
    return budget
