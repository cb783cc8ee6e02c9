"""Compacting a log: the checkpoint that takes the place of its first records.

Made by whoever has the log, beside the router that goes on writing it (`upkeep.recover.checkpoint`
says why that is the same).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from sapwood.errors import InvariantError
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.forwarding.protocol import Routed
from sapwood.routing.inputs import Checkpoint, Note, Record, Restored
from sapwood.routing.router import Router
from sapwood.routing.strategies import Protocol
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
    """The checkpoint of a router at its mark; `None` where there is none now, or never will be.

    `records` are the state records from the last checkpoint to the mark.
    """
    nowhere = replace(protocol.forwarding, make=_nowhere)
    router = Router(name, replace(protocol, forwarding=nowhere))
    if not isinstance(router.upkeep, Recover):
        return None
    before = () if checkpoint is None else (checkpoint,)
    router.handle(Restored(chain(notes, before, records)), 0.0)
    try:
        return router.upkeep.checkpoint()
    except Unwritable:
        return None


class _Nowhere:
    """The forwarding of a router that is only written down: it has no index."""

    digests_unread = 0

    def add_side(self, side: str) -> None:
        """Nothing comes from there."""

    def remove_side(self, side: str) -> None:
        """Nothing came from there."""

    def learned(self, side: str, key: str, filter: Interest) -> None:
        """Nothing will be matched."""

    def learned_many(self, side: str, entries: Sequence[tuple[str, Interest]]) -> None:
        """Nothing will be matched."""

    def forgot(self, side: str, key: str) -> None:
        """Nothing would have been matched."""

    def route(
        self,
        batch: Sequence[Publication],
        arrival: str | None,
        digests: Sequence[bytes],
        now: float,
    ) -> Routed:
        """No publication of before a mark is routed again."""
        del batch, arrival, digests, now
        raise InvariantError("a publication came to a router that is only written down")

    def matched(self, publication: Publication) -> Sequence[str]:
        """Nobody holds publications at a mark."""
        del publication
        raise InvariantError("a publication came to a router that is only written down")

    def validate(self, sides: Mapping[str, Mapping[str, Interest]]) -> None:
        """There is nothing."""


def _nowhere(*_: object) -> _Nowhere:
    return _Nowhere()
