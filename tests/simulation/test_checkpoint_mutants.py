"""Planted bugs of checkpoints: each is found by the comparison of `test_checkpoints`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from sapwood.errors import SapwoodError
from sapwood.routing.compacting import compacted
from sapwood.routing.inputs import (
    Checkpoint,
    ClientUnsubscribe,
    ClientUnsubscribeMany,
    DetachClient,
    Receive,
    Record,
)
from sapwood.routing.messages import Confirm, ConfirmMany, Unsubscribe
from sapwood.routing.propagation.entries import EntryPropagation
from sapwood.routing.propagation.merging import MergedLinks
from sapwood.routing.propagation.xroute.counting import CountingPropagation
from sapwood.routing.tables import Entries
from sapwood.routing.upkeep.recover import checkpoint
from sapwood.routing.upkeep.recover.checkpoint import FORMS, Head, head_of
from tests.simulation.test_checkpoints import compare

COVERING, XROUTE, MERGING = "covering+recover", "xroute+recover", "covering+merging+recover"

Plant = Callable[[pytest.MonkeyPatch], None]


def _headed(made: Checkpoint | None, **changed: Any) -> Checkpoint | None:
    """A checkpoint that says something else of where it stands."""
    if made is None:
        return None
    head = msgspec.structs.replace(head_of(made.parts), **changed)
    return Checkpoint([msgspec.msgpack.encode(head), *made.parts[1:]])


def compacting(change: Callable[[list[Record]], list[Record]]) -> Plant:
    """The checkpoint is made of other records, and stands where it would."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        def made(
            name: str, protocol: Any, notes: Any, before: Any, records: Iterable[Record]
        ) -> Checkpoint | None:
            given = list(records)
            start = 0 if before is None else head_of(before.parts).states
            found = compacted(name, protocol, notes, before, change(given))
            return _headed(found, states=start + len(given))

        patch.setattr("sapwood.simulation.stored.compacted", made)

    return plant


def saying(**changed: Any) -> Plant:
    """The checkpoint is the right one, and says something else of itself."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        def made(*given: Any) -> Checkpoint | None:
            found = compacted(*given)
            if found is None or "ahead" not in changed:
                return _headed(found, **changed)
            return _headed(found, states=head_of(found.parts).states + changed["ahead"])

        patch.setattr("sapwood.simulation.stored.compacted", made)

    return plant


def without(kind: type[Any], name: str) -> Plant:
    """A field is not written."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        form = FORMS[kind]
        changed = replace(form, without=form.without | {name}, within=form.within - {name})
        patch.setattr(checkpoint, "FORMS", {**FORMS, kind: changed})

    return plant


def reversed_clients(patch: pytest.MonkeyPatch) -> None:
    """The entries of clients come back in another order."""

    def read(entries: Entries[Any], columns: list[list[Any]]) -> None:
        form = FORMS[Entries].read
        assert form is not None
        form(entries, columns if len(columns) == 3 else [one[::-1] for one in columns])

    patch.setattr(checkpoint, "FORMS", {**FORMS, Entries: replace(FORMS[Entries], read=read)})


def dropping(*kinds: type[Any]) -> Callable[[list[Record]], list[Record]]:
    def dropped(record: Record) -> bool:
        said = record.message if isinstance(record, Receive) else record
        return isinstance(said, kinds)

    return lambda records: [one for one in records if not dropped(one)]


PLANTED: dict[str, tuple[str, Plant]] = {
    "the last record is lost": (COVERING, compacting(lambda records: records[:-1])),
    "the first record is lost": (COVERING, compacting(lambda records: records[1:])),
    "what is withdrawn rises again": (
        COVERING,
        compacting(dropping(ClientUnsubscribe, ClientUnsubscribeMany, Unsubscribe)),
    ),
    "clients that left come back": (COVERING, compacting(dropping(DetachClient))),
    "confirmations are lost": (COVERING, compacting(dropping(Confirm, ConfirmMany))),
    "it claims a record more than it has": (COVERING, saying(ahead=1)),
    "a record is routed twice": (COVERING, saying(ahead=-1)),
    "links are not believed up": (COVERING, saying(links=())),
    "keys are given again": (COVERING, without(EntryPropagation, "_serial")),
    "numbers are given again": (COVERING, without(EntryPropagation, "_sendings")),
    "nothing is confirmed": (COVERING, without(EntryPropagation, "confirmations")),
    "neighbors were told nothing": (COVERING, without(EntryPropagation, "links")),
    "prefixes of mergers are given again": (MERGING, without(MergedLinks, "_serial")),
    "changes are counted from one again": (XROUTE, without(CountingPropagation, "_began")),
    "no change is known": (XROUTE, without(CountingPropagation, "_heard")),
    "the order is another one": (COVERING, reversed_clients),
}


@pytest.mark.parametrize("bug", PLANTED)
@pytest.mark.one_in(6)
def test_each_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, plant = PLANTED[bug]
    plant(monkeypatch)
    with pytest.raises((AssertionError, SapwoodError, KeyError, TypeError, AttributeError)):
        compare(name, range(200, 300), monkeypatch)


def test_where_a_checkpoint_stands_is_in_its_first_part() -> None:
    head = Head(5, ("r2",))
    assert head_of([msgspec.msgpack.encode(head)]) == head
