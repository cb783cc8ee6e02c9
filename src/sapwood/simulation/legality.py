"""Legality of tables (Shen 5.3), judged from outside.

Shares nothing with the strategies that it judges: it reads what each router *holds*, what clients
stated at each router, and the messages under way; not what routers believe to have sent.

* *Local* (definitions 8, 9): for an edge from b to a, what a holds from b, with the messages under
  way taken in, in their order, serves what b knows from all other sides, and has nothing else. The
  sets of the work, entries and messages in flight, lose the order of a withdrawal and a repetition.
* *Global* (definition 10): with nothing under way, what a holds from b serves what clients behind b
  have stated, and has nothing else.

What serves what depends on the propagation strategy. Simple routing: exactly the same entries.
Identity: of each class of equal filters one. Covering: some, so that every one is covered; maximal:
of these none that another one covers. Advertisements: of those that an advertisement on the other
side intersects; and of advertisements themselves the maximal ones, each once, or, under
`advertisement:simple`, all. Mergers are entries that no client stated, and are not judged here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from sapwood.errors import InputError
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.routing.membership.given import Given
from sapwood.routing.messages import (
    Advertise,
    Message,
    Replace,
    Subscribe,
    SubscribeMany,
    Unadvertise,
    Unsubscribe,
    UnsubscribeMany,
)
from sapwood.routing.router import Router
from sapwood.routing.tables import Entries, LocalEntry
from sapwood.simulation.world import World

Filters = dict[str, AdvertisedContent]
"""Filters by key."""

_UNSPOKEN: Final = frozenset({"merging", "xroute", "flooding"})
"""Words of protocols that send mergers, counts, or no subscriptions."""


@dataclass(frozen=True, slots=True)
class Illegal:
    """An edge whose holder has wrong entries, or lacks due ones."""

    sender: str
    holder: str
    noun: str
    wrong: tuple[str, ...]
    lacking: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.holder} from {self.sender}, {self.noun}s: "
            f"too much {list(self.wrong)}, lacking {list(self.lacking)}"
        )


def locally_illegal(world: World) -> list[Illegal]:
    """The edges whose two ends do not fit together, messages under way taken in."""
    found: list[Illegal] = []
    telling, promising = _rules(world)
    for sender, holder in _edges(world):
        coming = world.network.under_way(sender, holder)
        adverts = dict(_held(world, holder, sender, "advertisement"))
        _fold(adverts, coming, "advertisement")
        known = _known(world, sender, holder, "advertisement")
        found.extend(_judged((sender, holder), "advertisement", promising, known, adverts))
        table = dict(_held(world, holder, sender, "subscription"))
        _fold(table, coming, "subscription")
        known = _known(world, sender, holder, "subscription")
        wanted = _wanted(world, known, _held(world, sender, holder, "advertisement"))
        found.extend(_judged((sender, holder), "subscription", telling, wanted, table))
    return found


def globally_illegal(world: World) -> list[Illegal]:
    """The edges whose holder does not have what clients behind the sender have stated.

    The world must be at rest, and its links up.
    """
    found: list[Illegal] = []
    telling, promising = _rules(world)
    for sender, holder in _edges(world):
        behind = tuple(world.topology.tree(holder).behind(holder, sender))
        before = [name for name in world.topology.routers if name not in set(behind)]
        adverts = _held(world, holder, sender, "advertisement")
        stated = _stated(world, behind, "advertisement")
        if not _is_advertised(world):
            stated = {}
        found.extend(_judged((sender, holder), "advertisement", promising, stated, adverts))
        here = _stated(world, before, "advertisement")
        wanted = _wanted(world, _stated(world, behind, "subscription"), here)
        table = _held(world, holder, sender, "subscription")
        found.extend(_judged((sender, holder), "subscription", telling, wanted, table))
    return found


def speaks_of(world: World) -> bool:
    """True if there is a rule for what the routers of a world state to each other."""
    cores = [getattr(router, "membership", None) for router in world.routers.values()]
    if not cores or not all(isinstance(core, Given) for core in cores):
        return False
    return _UNSPOKEN.isdisjoint(_words(world))


def _edges(world: World) -> Iterator[tuple[str, str]]:
    for link in world.topology.links:
        is_there = link.a in world.routers and link.b in world.routers
        if is_there and world.network.is_joined(link.a, link.b):
            yield link.a, link.b
            yield link.b, link.a


def _judged(
    edge: tuple[str, str], noun: str, rule: str, wanted: Filters, held: Filters
) -> Iterator[Illegal]:
    """The fault of a table, if it does not serve all of `wanted` or has anything else."""
    wrong = [key for key, content in held.items() if wanted.get(key) != content]
    right = [content for key, content in held.items() if wanted.get(key) == content]
    lacking = [key for key, content in wanted.items() if not _serves(rule, key, content, held)]
    if rule == "identity":
        seen: set[AdvertisedContent] = set()
        for key, content in held.items():
            if content in seen:
                wrong.append(key)
            seen.add(content)
    if rule == "maximal once":
        rivals = [(key, one) for key, one in held.items() if wanted.get(key) == one]
        wrong.extend(key for key, one in held.items() if _is_spare(key, one, rivals))
    if rule == "maximal":
        wrong.extend(key for key, one in held.items() if _is_below(one, right))
    if rule in {"covering", "maximal", "maximal once"} and lacking:
        lacking = [key for key in lacking if not any(one.covers(wanted[key]) for one in right)]
    if wrong or lacking:
        yield Illegal(*edge, noun, tuple(sorted(set(wrong))), tuple(lacking))


def _is_below(own: AdvertisedContent, others: Iterable[AdvertisedContent]) -> bool:
    """True if one of `others` covers `own`, and is not covered by it."""
    return any(one.covers(own) and not own.covers(one) for one in others if one != own)


def _is_spare(
    key: str, own: AdvertisedContent, rivals: Iterable[tuple[str, AdvertisedContent]]
) -> bool:
    """True if a rival covers `own`; of two that cover each other the later key is spare."""
    return any(
        one.covers(own) and (other < key or not own.covers(one))
        for other, one in rivals
        if other != key
    )


def _serves(rule: str, key: str, content: AdvertisedContent, held: Filters) -> bool:
    match rule:
        case "identity":
            return content in held.values()
        case _:
            return held.get(key) == content


def _wanted(world: World, known: Filters, advertised: Filters) -> Filters:
    """The subscriptions that have to travel towards some advertisements."""
    if not _is_advertised(world):
        return known
    return {
        key: content
        for key, content in known.items()
        if any(promised.intersects(cast("Interest", content)) for promised in advertised.values())
    }


def _held(world: World, holder: str, sender: str, noun: str) -> Filters:
    table = _entries(world, holder, noun).received.get(sender, {})
    return {key: entry.filter for key, entry in table.items()}


def _known(world: World, sender: str, holder: str, noun: str) -> Filters:
    """The entries of a router from all sides but one, as far as it has to propagate them."""
    if noun == "advertisement" and not _is_advertised(world):
        return {}
    entries = _entries(world, sender, noun)
    known = _telling(entries.by_key)
    for neighbor, table in entries.received.items():
        if neighbor != holder:
            known.update((key, entry.filter) for key, entry in table.items())
    return known


def _stated(world: World, routers: Iterable[str], noun: str) -> Filters:
    """The statements of the clients of some routers."""
    stated: Filters = {}
    for router in routers:
        stated.update(_telling(_entries(world, router, noun).by_key))
    return stated


def _telling(entries: Mapping[str, LocalEntry[Any]]) -> Filters:
    """The statements that may have to be propagated: those that accept something."""
    wanted = {key: entry.filter for key, entry in entries.items()}
    return {
        key: one
        for key, one in wanted.items()
        if not isinstance(one, Interest) or one.intersects(one)
    }


def _fold(table: Filters, coming: Iterable[Message], noun: str) -> None:
    """Take messages into a table, in their order."""
    for message in coming:
        match message:
            case Subscribe(key, content) if noun == "subscription":
                table[key] = content
            case Replace(key, content, _, replaced) if noun == "subscription":
                table[key] = content
                for other in replaced:
                    table.pop(other, None)
            case SubscribeMany(keys, filters) if noun == "subscription":
                table.update(zip(keys, filters.values, strict=True))
            case Unsubscribe(key) if noun == "subscription":
                table.pop(key, None)
            case UnsubscribeMany(keys) if noun == "subscription":
                for key in keys:
                    table.pop(key, None)
            case Advertise(key, content) if noun == "advertisement":
                table[key] = content
            case Unadvertise(key) if noun == "advertisement":
                table.pop(key, None)
            case _:
                pass


def _router(world: World, name: str) -> Given:
    router = world.routers[name]
    core = router.membership if isinstance(router, Router) else None
    if not isinstance(core, Given):
        raise InputError(f"router {name} has no tables of one tree, of which legality speaks")
    return core


def _entries(world: World, name: str, noun: str) -> Entries[Any]:
    core = _router(world, name)
    return core.subscriptions.entries if noun == "subscription" else core.advertisements.entries


def _words(world: World) -> tuple[str, ...]:
    return _router(world, next(iter(world.routers))).protocol.propagation.words


def _is_advertised(world: World) -> bool:
    return "advertisement" in _words(world)


def _rules(world: World) -> tuple[str, str]:
    """The rules by which sent entries serve known ones, for subscriptions and advertisements."""
    words = _words(world)
    telling = next(
        (word for word in words if word in ("identity", "covering", "maximal")), "simple"
    )
    names = _router(world, next(iter(world.routers))).protocol.name.split("+")
    return telling, "simple" if "advertisement:simple" in names else "maximal once"
