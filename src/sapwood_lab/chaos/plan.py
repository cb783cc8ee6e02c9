"""The faults of a campaign and their times, drawn from a seed before anything is started.

A fault has a time from the start, a victim and how long it lasts. Brokers are killed and started
again, at an instant or before a statement of their store (`planted`), or stopped (SIGSTOP) and
continued; links and clients' connections are cut or stalled by proxies; a broker may write no more
(its files may not grow), as if the disk were full; publishers and subscribers are killed and
started again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal[
    "kill broker",
    "kill at point",
    "stop broker",
    "fill disk",
    "cut",
    "stall",
    "kill publisher",
    "kill subscriber",
]
Area: TypeAlias = Literal["keep", "append", "sync", "rest", "open"]

_WEIGHTS: Final[Mapping[Kind, int]] = MappingProxyType(
    {
        "stop broker": 2,
        "fill disk": 1,
        "cut": 3,
        "stall": 2,
        "kill publisher": 2,
        "kill subscriber": 3,
    }
)
"""Faults of each kind for ten kills of brokers."""

_KILLS: Final[tuple[Kind, ...]] = ("kill broker", "kill at point")

_STATEMENTS: Final[Mapping[Area, int]] = MappingProxyType(
    {"keep": 100, "append": 300, "sync": 100, "rest": 300, "open": 3000}
)
"""Up to how many statements of each area a broker passes before it dies: some commits, a start."""


@dataclass(frozen=True, slots=True)
class Point:
    """The point where a broker dies: in an area of its store, after `statements` statements."""

    area: Area
    statements: int


@dataclass(frozen=True, slots=True)
class Shape:
    """The brokers, numbered from 0, and the links between them; clients are spread in turn."""

    brokers: int
    links: tuple[tuple[int, int], ...]

    @property
    def is_tree(self) -> bool:
        """True if the links form no circle."""
        return len(self.links) == self.brokers - 1


TREE: Final = Shape(5, ((0, 1), (0, 2), (2, 3), (2, 4)))
MESH: Final = Shape(5, ((0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2)))


@dataclass(frozen=True, slots=True)
class Fault:
    """At `at_s` something happens to a victim, for `lasts_s`; `cut` and `stall` are for links.

    `point` is where a broker is killed, where that is no instant.
    """

    at_s: float
    kind: Kind
    victim: int
    lasts_s: float
    point: Point | None = None


def draw(
    seed: int,
    shape: Shape,
    *,
    kills: int,
    seconds: float,
    publishers: int,
    subscribers: int,
) -> Sequence[Fault]:
    """The faults of a campaign, by time: `kills` kills of brokers, and other faults in proportion.

    Every second kill is at a point, the first at an instant. One broker has one fault at a time,
    and is left alone for a moment between two.
    """
    random = Random(seed)  # noqa: S311 - the same seed, the same faults
    kinds: list[Kind] = [_KILLS[number % 2] for number in range(kills)]
    for kind, weight in _WEIGHTS.items():
        kinds += [kind] * max(1, kills * weight // 10)
    random.shuffle(kinds)
    victims = {"cut": len(shape.links), "stall": len(shape.links), "kill publisher": publishers}
    victims |= {"kill subscriber": subscribers}
    found: list[Fault] = []
    free: dict[tuple[bool, int], float] = {}
    for place, kind in enumerate(kinds):
        at = seconds * (place + random.random()) / len(kinds)
        victim = random.randrange(victims.get(kind, shape.brokers))
        lasts = random.choice((0.0, 0.05, 0.3, 1.0))
        is_broker = kind not in victims
        at = max(at, free.get((is_broker, victim), 0.0)) if is_broker else at
        point = _draw_point(random) if kind == "kill at point" else None
        found.append(Fault(at, kind, victim, lasts, point))
        if is_broker:
            free[True, victim] = at + lasts + 0.5
    return sorted(found, key=lambda fault: fault.at_s)


def _draw_point(random: Random) -> Point:
    """Any area; few statements as often as many, as the first ones are in every commit."""
    area = random.choice(tuple(_STATEMENTS))
    return Point(area, round(_STATEMENTS[area] ** random.random()) - 1)
