"""Counts of what happened between the routers of a world."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from sapwood.overlay.topology import Hop


@dataclass(slots=True)
class Tally:
    """Counts of what happened between the routers."""

    #: inputs that all routers took, and how many of them were ticks
    inputs: int = 0
    ticks: int = 0
    #: messages put on links, by kind
    messages: Counter[str] = field(default_factory=Counter)
    #: publication id -> the links it crossed, in order of arrival
    crossings: dict[str, list[Hop]] = field(default_factory=dict)
    #: what routers counted that run no more: see `Router.counters`
    counted: Counter[str] = field(default_factory=Counter)
    #: publications that could not be handed over because the home router was down
    unsent: int = 0
    #: links that a router closed because its neighbor broke a rule
    links_closed: int = 0
    #: links that routers added or removed themselves
    links_rewired: int = 0
    #: routers that crashed
    crashes: int = 0
