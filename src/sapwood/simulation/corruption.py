"""Corrupted tables: a fault in the state of one router.

::

    [[corruption]]
    router = "r3"
    at = 2.0                        # seconds from the first publication
    kinds = ["drop", "insert"]      # left out: all
    share = 0.5                     # of what there is; at least one

An entry that is struck is changed as if messages had been lost, or had come that no router sent,
and the messages that the router would send about it are lost as well: so its tables fit together,
and fit neither those of its neighbors nor the statements of its clients. What clients state at
their own router, which neighbors there are and the code are right (Shen 5.3).

* `drop`    an entry of a neighbor is gone
* `insert`  there is one that the neighbor never stated, with a key that belongs to no subscription
* `alter`   an entry has another filter under its key, or another number
* `mislay`  an entry is held from another neighbor than from which it came
* `sketch`  the summary of tables that an upkeep compares is wrong
* `timer`   its timers are set to any time, or never
* `size`    its number of routers behind each link is wrong
* `marks`   the marks of time by which the ends of its links bound delays are wrong
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from random import Random
from types import MappingProxyType
from typing import Final, Protocol, TypeAlias, runtime_checkable

import numpy as np

from sapwood.errors import InputError, UnknownNameError
from sapwood.language import parse_filter
from sapwood.limits.healing import ROUTERS_COUNTED_MAX
from sapwood.overlay.fields import Fields
from sapwood.routing.inputs import Receive
from sapwood.routing.membership.given import Given
from sapwood.routing.messages import Advertise, Subscribe, Unadvertise, Unsubscribe
from sapwood.routing.router import Router
from sapwood.routing.upkeep.stabilize.sketched import SketchedTable
from sapwood.routing.upkeep.stabilize.stabilize import Stabilize
from sapwood.simulation.machine import Machine
from sapwood.simulation.scenario import CorruptTables
from sapwood.simulation.timekeeping import Timekeeping
from sapwood.simulation.vocabulary import draw_filter

_NUMBER_MAX: Final = 1000
_ELEMENT_BITS: Final = 64


@runtime_checkable
class Corruptible(Protocol):
    """A world whose routers can be changed behind their backs."""

    routers: dict[str, Machine]
    time: Timekeeping

    @property
    def now(self) -> float:
        """The time."""
        ...

    def disturbed(self) -> None:
        """Note a change of which no router was notified."""
        ...


Strike: TypeAlias = Callable[[Router, Random, float, Corruptible], None]
"""Changes a router: it, chance, the share to be struck, its world."""


def corrupt(world: Corruptible, action: CorruptTables) -> None:
    """Change the tables of a router; nothing happens if it does not run."""
    router = world.routers.get(action.router)
    if not isinstance(router, Router):
        return
    generator = Random(f"{action.seed}/{action.router}/corruption")  # noqa: S311 - reproducible
    for kind in action.kinds:
        KINDS[kind](router, generator, action.share, world)
    world.disturbed()


def decode_corruption(place: str, entry: object, seed: int) -> tuple[float, CorruptTables]:
    """The time and the action of a table in a file of faults."""
    fields = Fields(place, entry, ("router", "at", "kinds", "share"))
    return fields.number("at"), corruption_of(fields, seed)


def corruption_of(fields: Fields, seed: int) -> CorruptTables:
    """The corruption that an entry describes; raises `InputError` naming the wrong field."""
    kinds = tuple(fields.texts("kinds")) if "kinds" in fields else tuple(KINDS)
    for kind in kinds:
        if kind not in KINDS:
            raise UnknownNameError("kind of corruption", kind, KINDS)
    share = fields.number("share", 0.5, what="a share from 0 to 1")
    if share > 1:
        raise fields.error("share", "a share from 0 to 1", share)
    if not kinds:
        raise InputError(f"{fields.place}: `kinds` names no kind; leave it out for all")
    return CorruptTables(fields.text("router"), kinds, share, seed)


# Entries -------------------------------------------------------------------------------------


def _held(router: Router) -> list[tuple[str, str, str]]:
    """All entries that came over links: neighbor, noun, key."""
    core = _core(router)
    return [
        (neighbor, noun, key)
        for noun, table in router.tables.items()
        for neighbor in core.neighbors()
        for key, _, _ in table.held_from(neighbor)
    ]


def _core(router: Router) -> Given:
    core = router.membership
    if not isinstance(core, Given):
        raise InputError(
            f"the tables of router {router.name} are on many trees: corrupt those of routers on one"
        )
    return core


def _share(router: Router, generator: Random, share: float) -> list[tuple[str, str, str]]:
    found = _held(router)
    count = max(1, round(share * len(found))) if found else 0
    return generator.sample(found, count)


def _forget(router: Router, neighbor: str, noun: str, key: str) -> None:
    message = Unsubscribe(key) if noun == "subscription" else Unadvertise(key)
    _core(router).apply(Receive(neighbor, message))  # its effects are lost


def _learn(router: Router, neighbor: str, noun: str, key: str, generator: Random) -> None:
    """Take something in as if a neighbor had stated it; nothing where the key is there already."""
    if router.tables[noun].side_of(key) is not None:
        return
    wanted = parse_filter(draw_filter(generator))
    state = Subscribe if noun == "subscription" else Advertise
    message = state(key, wanted, generator.randrange(_NUMBER_MAX))
    _core(router).apply(Receive(neighbor, message))


def _drop(router: Router, generator: Random, share: float, world: Corruptible) -> None:  # noqa: ARG001
    for neighbor, noun, key in _share(router, generator, share):
        _forget(router, neighbor, noun, key)


def _insert(router: Router, generator: Random, share: float, world: Corruptible) -> None:  # noqa: ARG001
    neighbors = _core(router).neighbors()
    if not neighbors:
        return
    for number in range(max(1, round(share * len(_held(router))))):
        noun = generator.choice(tuple(router.tables))
        key = f"phantom.{generator.getrandbits(32)}.{number}"
        _learn(router, generator.choice(neighbors), noun, key, generator)


def _alter(router: Router, generator: Random, share: float, world: Corruptible) -> None:  # noqa: ARG001
    for neighbor, noun, key in _share(router, generator, share):
        _forget(router, neighbor, noun, key)
        _learn(router, neighbor, noun, key, generator)


def _mislay(router: Router, generator: Random, share: float, world: Corruptible) -> None:  # noqa: ARG001
    neighbors = _core(router).neighbors()
    for neighbor, noun, key in _share(router, generator, share):
        others = [other for other in neighbors if other != neighbor]
        if others:
            _forget(router, neighbor, noun, key)
            _learn(router, generator.choice(others), noun, key, generator)


# Upkeep --------------------------------------------------------------------------------------


def _spoil(table: SketchedTable, generator: Random, share: float) -> None:
    """Damage the summary of a table: sum, counters, elements."""
    table.sum = generator.getrandbits(_ELEMENT_BITS)
    if table.sketch is not None:
        counters = table.sketch.counters
        some = generator.sample(range(len(counters)), max(1, round(share * len(counters))))
        counters[some] = np.array([generator.randrange(256) for _ in some], np.uint8)
    for name in generator.sample(list(table.known), round(share * len(table.known))):
        element = generator.getrandbits(_ELEMENT_BITS)
        table.known[name] = table.known[name]._replace(element=element)


def _sketch(router: Router, generator: Random, share: float, world: Corruptible) -> None:  # noqa: ARG001
    if isinstance(router.upkeep, Stabilize):
        for link in router.upkeep.links.values():
            _spoil(link.sender.table, generator, share)
            _spoil(link.holder.table, generator, share)


def _timer(router: Router, generator: Random, share: float, world: Corruptible) -> None:
    if isinstance(router.upkeep, Stabilize):
        for link in router.upkeep.links.values():
            if generator.random() < share:
                now = world.now
                link.due_s = generator.choice((now + 1e9 * generator.random(), math.inf, now))


def _size(router: Router, generator: Random, share: float, world: Corruptible) -> None:  # noqa: ARG001
    if isinstance(router.upkeep, Stabilize):
        for link in router.upkeep.links.values():
            if generator.random() < share:
                link.routers = generator.randrange(ROUTERS_COUNTED_MAX)


def _marks(router: Router, generator: Random, share: float, world: Corruptible) -> None:
    world.time.spoil(router.name, generator, share)


KINDS: Final[Mapping[str, Strike]] = MappingProxyType(
    {
        "drop": _drop,
        "insert": _insert,
        "alter": _alter,
        "mislay": _mislay,
        "sketch": _sketch,
        "timer": _timer,
        "size": _size,
        "marks": _marks,
    }
)
"""The kinds of corruption, by name."""
