"""Compacting a log: the checkpoint that takes the place of its first records.

It is made from the log, beside the router that goes on writing it (`upkeep.recover.checkpoint`
explains why that is the same).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from sapwood.errors import InvariantError
from sapwood.routing.forwarding.later import Later
from sapwood.routing.forwarding.protocol import Forwarding
from sapwood.routing.inputs import Checkpoint, Note, Record, Restored
from sapwood.routing.ready_made import LINKS, OWN, Lists
from sapwood.routing.router import Router
from sapwood.routing.strategies import Protocol
from sapwood.routing.upkeep.detour.detour import Detour
from sapwood.routing.upkeep.failover.failover import Failover
from sapwood.routing.upkeep.recover.checkpoint import cores_of
from sapwood.routing.upkeep.recover.image import Unwritable
from sapwood.routing.upkeep.recover.marks import Mark, decoded
from sapwood.routing.upkeep.recover.recover import MARK, Recover


def mark_in(notes: Iterable[Note]) -> Mark | None:
    """The mark up to which a log can be compacted, if there is one."""
    return next((decoded(note.value) for note in notes if note.name == MARK), None)


def compacted(
    name: str,
    protocol: Protocol,
    notes: Sequence[Note],
    checkpoint: Checkpoint | None,
    records: Iterable[Record],
) -> Checkpoint | None:
    """The checkpoint of a router at its mark; `None` where there is none now, or never will be."""
    return checkpoint_of(at_mark(name, protocol, notes, checkpoint, records))


def at_mark(
    name: str,
    protocol: Protocol,
    notes: Sequence[Note],
    checkpoint: Checkpoint | None,
    records: Iterable[Record],
) -> Router:
    """A router as it was at its mark, that is only to be written to a checkpoint.

    `records` are the state records from the last checkpoint to the mark.
    """
    unused = replace(protocol.forwarding, make=_unused)
    router = Router(name, replace(protocol, forwarding=unused))
    if _recover(router) is not None:
        before = () if checkpoint is None else (checkpoint,)
        router.handle(Restored(chain(notes, before, records)), 0.0)
    return router


def checkpoint_of(router: Router) -> Checkpoint | None:
    """The checkpoint of a router; `None` where there is none now, or never will be."""
    upkeep = _recover(router)
    if upkeep is None:
        return None
    try:
        return upkeep.checkpoint()
    except Unwritable:
        return None


def is_compactable(router: Router) -> bool:
    """True if checkpoints can be made of a router: if its upkeep, or an inner one, is `recover`."""
    return _recover(router) is not None


def filters_of(router: Router) -> Mapping[str, Sequence[bytes]]:
    """The filters of a router's engines, in lists (`ready_made`), by the names of the engines.

    A list that several trees have in common is there once.
    """
    found: dict[str, Sequence[bytes]] = {}
    for core in cores_of(router.membership):
        lists = Lists.of(core.subscriptions.entries)
        for name, given in ((OWN, lists.own), (LINKS, lists.links)):
            if given not in found.values():
                found[f"{name}-{len(found)}" if name in found else name] = given
    return found


def _recover(router: Router) -> Recover | None:
    upkeep = router.upkeep
    while isinstance(upkeep, Detour | Failover):
        upkeep = upkeep.inner
    return upkeep if isinstance(upkeep, Recover) else None


def _unused(*_: object) -> Later:
    """The forwarding of a router that is only written down: no publication reaches it."""
    return Later(_asked)


def _asked() -> Forwarding:
    raise InvariantError("a publication came to a router that is only written down")
