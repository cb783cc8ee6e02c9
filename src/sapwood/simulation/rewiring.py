"""Random changes of an overlay: routers that join and leave, links that are added and removed.

Changes are drawn round by round. Where routers route on one tree, what joins or leaves is a leaf,
and a link that is removed has its two parts joined by another one in a later round, when the
overlay has come to rest: a router that learns of the new way first would take it for a circle.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from random import Random
from typing import Final

from sapwood.language import parse_filter
from sapwood.overlay.rewiring import Partitioned
from sapwood.overlay.topology import Overlay
from sapwood.simulation.history import SubscriptionName
from sapwood.simulation.scenario import (
    Action,
    AddLink,
    AddRouter,
    Places,
    RemoveLink,
    RemoveRouter,
    SubscribeAction,
)

CHANGES_MAX: Final = 3
"""Changes in one round: enough to cross each other, few enough to leave ways that are sound."""

_EARLY: Final = "early"
"""The client that subscribes at a router that has joined, before that has a link."""


class Rewiring:
    """Draws changes for an overlay, which it follows; with `circles` there may be circles.

    #: _touched are the routers whose links the last round changed, and those that it added
    #: _parted are the ends of links that were removed, whose parts a later round joins
    """

    def __init__(self, generator: Random, overlay: Overlay, *, circles: bool) -> None:
        self._generator = generator
        self._circles = circles
        self._places = Places(overlay)
        self._latencies = sorted({link.latency_s for link in overlay.links}) or [0.01]
        self._joined = 0
        self._touched: dict[str, None] = {}
        self._parted: list[tuple[str, str]] = []

    @property
    def overlay(self) -> Overlay:
        """The overlay after all changes that were drawn."""
        return self._places.overlay

    @property
    def still(self) -> Partitioned | None:
        """The routers, and the links between them, that the last round left alone."""
        routers = tuple(name for name in self.overlay.routers if name not in self._touched)
        links = (link for link in self.overlay.links if not {link.a, link.b} & set(self._touched))
        return Partitioned(routers, tuple(links)) if routers else None

    @property
    def must_rest(self) -> bool:
        """True if the overlay has to come to rest before the next round."""
        return bool(self._parted)

    def draw(self, seconds: float) -> list[tuple[float, Action]]:
        """The changes of one round, in the order of time, within some seconds."""
        self._touched = {}
        count = self._generator.randint(0, CHANGES_MAX)
        times = sorted(self._generator.random() * seconds for _ in range(count))
        timed: list[tuple[float, Action]] = [(0.0, action) for action in self.rejoin()]
        for time in times:
            kinds = (self._join, self._leave, self._link, self._unlink)
            timed.extend((time, action) for action in self._generator.choice(kinds)())
        return timed

    def rejoin(self) -> list[Action]:
        """Links that join the parts of the overlay that earlier rounds separated."""
        actions: list[Action] = []
        while self._parted:
            parts = (self.overlay.tree(end).routers for end in self._parted.pop())
            actions.extend(self._added(*map(self._generator.choice, parts)))
        return actions

    def _join(self) -> list[Action]:
        """A router joins, at one other or, where there may be circles, at two."""
        others = self._untouched(lambda _: True)
        if not others:
            return []
        self._joined += 1
        router = f"n{self._joined}"
        count = self._generator.randint(1, 2) if self._circles else 1
        actions: list[Action] = [self._follow(AddRouter(router))]
        if self._generator.random() < 0.5:
            name = SubscriptionName(router, _EARLY, "s")
            actions.append(
                SubscribeAction(name, parse_filter(f"x >= {self._generator.randrange(4)}"))
            )
        for other in self._generator.sample(others, min(count, len(others))):
            actions.extend(self._added(router, other))
        self._touched[router] = None
        return actions

    def _leave(self) -> list[Action]:
        """A router leaves: any, or a leaf."""
        overlay = self.overlay
        others = self._untouched(lambda name: self._circles or len(overlay.neighbors(name)) < 2)
        if not others or len(overlay.routers) == 1:
            return []
        router = self._generator.choice(others)
        self._touched.update(dict.fromkeys((router, *overlay.neighbors(router))))
        return [self._follow(RemoveRouter(router))]

    def _link(self) -> list[Action]:
        """Two routers are linked that were not, where there may be circles."""
        overlay = self.overlay
        apart = [
            (a, b) for a, b in combinations(overlay.routers, 2) if b not in overlay.neighbors(a)
        ]
        if not self._circles or not apart:
            return []
        return self._added(*self._generator.choice(apart))

    def _unlink(self) -> list[Action]:
        """A link is removed."""
        links = [one for one in self.overlay.links if not {one.a, one.b} & set(self._touched)]
        if not links:
            return []
        link = self._generator.choice(links)
        self._touched.update(dict.fromkeys((link.a, link.b)))
        if not self._circles:
            self._parted.append((link.a, link.b))
        return [self._follow(RemoveLink(link.a, link.b))]

    def _added(self, a: str, b: str) -> list[Action]:
        self._touched.update(dict.fromkeys((a, b)))
        return [self._follow(AddLink(a, b, self._generator.choice(self._latencies)))]

    def _untouched(self, admits: Callable[[str], bool]) -> list[str]:
        return [name for name in self.overlay.routers if name not in self._touched and admits(name)]

    def _follow(self, action: Action) -> Action:
        self._places.check(action)
        return action
