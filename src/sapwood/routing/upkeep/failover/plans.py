"""The plan of each router: its upstream, and its backups; given, and checked, beforehand.

An overlay has a *root*; each other router has an *upstream*, the neighbor on the way there, and
may have *backups*, to be tried in this order. Whatever fails, routers that go to their upstream or
to a backup never form a circle if all these together form none: that is checked here, for a
circle that only certain failures bring about would not be noticed in time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from sapwood.errors import InputError, UnknownNameError
from sapwood.overlay.topology import Overlay


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of one router: its upstream, and its backups as (name, address).

    `upstream` is empty where there is none, or where it is known only when the link is there: the
    neighbor that the router has dialed. An address, in the terms of the shell, may be empty where
    the name is enough, and stands for the name where that is not known. `address` is the router's
    own.
    """

    upstream: str = ""
    backups: tuple[tuple[str, str], ...] = ()
    address: str = ""


NO_PLAN: Final = Plan()


def plans_for(
    overlay: Overlay, backups: Mapping[str, Iterable[str]] | None = None, root: str | None = None
) -> dict[str, Plan]:
    """The plans of all routers of an overlay, which is a tree, or several.

    `backups` are by router; the `root` of its tree is the first router where none is given. Raises
    `InputError` for a backup that is no router of the overlay, or is the router itself or its
    upstream, and for a circle, with the routers on it.
    """
    given = {router: tuple(some) for router, some in (backups or {}).items()}
    upstream: dict[str, str] = {}
    reached: dict[str, None] = {}
    for start in ((root,) if root is not None else ()) + tuple(overlay.routers):
        waiting = [overlay.known(start)] if start not in reached else []
        reached.update(dict.fromkeys(waiting))
        for router in waiting:
            below = [other for other in overlay.neighbors(router) if other not in reached]
            upstream.update(dict.fromkeys(below, router))
            reached.update(dict.fromkeys(below))
            waiting.extend(below)
    for router, some in given.items():
        if router not in overlay.routers:
            raise UnknownNameError("router", router, overlay.routers)
        for backup in some:
            if backup not in overlay.routers:
                raise UnknownNameError(f"backup of {router!r}: router", backup, overlay.routers)
            if backup in (router, upstream.get(router)):
                what = "itself" if backup == router else "its upstream"
                raise InputError(f"{backup!r} is no backup of {router!r}, but {what}: name another")
    _refuse_circles({r: (*_one(upstream.get(r)), *given.get(r, ())) for r in overlay.routers})
    return {
        router: Plan(upstream.get(router, ""), tuple((name, "") for name in given.get(router, ())))
        for router in overlay.routers
    }


def _one(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)


def _refuse_circles(above: Mapping[str, tuple[str, ...]]) -> None:
    """Raise `InputError` if routers, going up in some way, come back to where they were."""
    done: set[str] = set()
    for start in above:
        way = [start]
        rests = [iter(above[start])]
        while way:
            other = next(rests[-1], None)
            if other is None:
                done.add(way.pop())
                rests.pop()
            elif other in way:
                circle = " -> ".join((*way[way.index(other) :], other))
                raise InputError(
                    f"upstream routers and backups form a circle: {circle}; a backup must not be "
                    "behind the router itself, whatever fails: leave one of these out"
                )
            elif other not in done:
                way.append(other)
                rests.append(iter(above[other]))
