"""Checkpoints: the state that results from a router's log, in the place of the log.

A router's state follows from its records, so replaying the log of a large one takes minutes, and
the log grows for as long as clients come and go. A checkpoint has the state as it was at a *mark*
(`marks`), before which nothing is owed: the entries of clients and neighbors, the entries sent to
neighbors with their keys and numbers, confirmations, and covers. It is the image (`image`) of all
that the membership holds except the index that publications are matched with: that follows from the
rest, and no message from it. So a router that is restored from it sends from then on what the
router sends that never stopped: the same keys, in the same order, with the same numbers.

No router has to be interrupted for it. The holder of its records makes a router of them, up to the
mark, and takes the image of that one (`compacted`): beside the loop, and from the last checkpoint
on, so that each record is replayed once more and not more often.

::

    records       s0 .. s99 | s100 .. s250  p p p  s251 ..
    mark                                | 180 state records
    checkpoint    ----------------------| made of the one at 100, and s100 .. s179
    restored                            s180 ..

A checkpoint's first part is its head; the others are the image.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, pairwise, repeat
from types import MappingProxyType
from typing import Any, Final

import msgspec
import numpy as np
from msgspec import Struct

from sapwood.covering.columnar.groups import Groups
from sapwood.covering.columnar.index import ColumnarCovering
from sapwood.covering.columnar.kernels import plain
from sapwood.covering.columnar.table import PointTable
from sapwood.covering.xsearch.index import XSearchIndex
from sapwood.routing.core import RoutingCore
from sapwood.routing.membership.given import Given
from sapwood.routing.membership.mesh.mesh import Mesh
from sapwood.routing.membership.mesh.tree_set import TreeSet
from sapwood.routing.membership.protocol import Membership
from sapwood.routing.propagation.advertised import AdvertisedLinks
from sapwood.routing.propagation.entries import EntryPropagation
from sapwood.routing.propagation.merging import MergedLinks, Merging
from sapwood.routing.propagation.promises import MergedPromises, MergingPromises
from sapwood.routing.propagation.xroute.counting import CountingPropagation
from sapwood.routing.tables import Entries, LocalEntry, ReceivedEntry
from sapwood.routing.upkeep.recover.image import Form, Reader, Unwritable, Writer

_COLUMN: Final = 4096
"""The number of entries that are written together."""


class Head(Struct, array_like=True, frozen=True):
    """The head of a checkpoint: its place behind the first `states` state records.

    `links` are those that routing takes for up, in the order in which they came up. `incarnation`
    is that of the router, if it is not the first one of its log. `prepared` is the number of
    filters whose engines are saved beside it.
    """

    states: int
    links: tuple[str, ...]
    incarnation: int | None = None
    prepared: int = 0


_HEAD: Final = msgspec.msgpack.Decoder(Head)


def checkpoint_of(membership: Membership, head: Head) -> Iterator[bytes]:
    """The parts of the checkpoint of a router. Raises `Unwritable`.

    There is none while a backlog is sent to a neighbor whose link has just come up.
    """
    if not isinstance(membership, Given | Mesh):
        raise Unwritable(type(membership).__name__)
    yield msgspec.msgpack.encode(head)
    yield from Writer(FORMS).parts(membership)


def head_of(parts: Sequence[bytes]) -> Head:
    """The head of a checkpoint."""
    return _HEAD.decode(parts[0])


def with_prepared(parts: Sequence[bytes], filters: int) -> Sequence[bytes]:
    """The same checkpoint, with saved engines of `filters` filters beside it."""
    head = msgspec.structs.replace(head_of(parts), prepared=filters)
    return [msgspec.msgpack.encode(head), *parts[1:]]


def refill(membership: Membership, parts: Sequence[bytes]) -> tuple[str, ...]:
    """Fill a new membership with the state of a checkpoint; returns the clients that it has.

    Raises `FileFormatError`.
    """
    assert isinstance(membership, Given | Mesh), "no other membership has checkpoints"
    given = islice(parts, 1, None)
    forms = FORMS if head_of(parts).links else ALONE
    if isinstance(membership, Mesh):
        make_core = partial(_put_off, membership)
        Reader(forms, _patterns(make_core()), {RoutingCore: make_core}).read(given, membership)
        return membership.clients.names
    Reader(forms, _patterns(membership), {}).read(given, membership)
    return tuple(membership.subscriptions.entries.by_client)


def cores_of(membership: Membership) -> Sequence[RoutingCore]:
    """The cores of a membership that can have checkpoints, one for each tree; of others, none."""
    if isinstance(membership, Mesh):
        return [branch.core for branch in membership.forest]
    return [membership] if isinstance(membership, RoutingCore) else []


def _put_off(membership: Mesh) -> RoutingCore:
    """The empty core of a branch, whose forwarding is deferred until `caught_up`."""
    core = membership.forest.new_core("")
    core.put_off()
    return core


def _patterns(core: RoutingCore) -> dict[type[Any], Any]:
    """A pattern of each class that has configured fields."""
    found: dict[type[Any], Any] = {type(one): one for one in core.advertisements.pattern()}
    if isinstance(core.subscriptions, EntryPropagation):
        found |= {type(one): one for one in core.subscriptions.pattern()}
    return found


# Classes that are not written field by field ----------------------------------------------------


def _write_entries(entries: Entries[Any]) -> Iterator[Sequence[Iterable[Any]]]:
    """Columns: first the clients and the links' names; then entries, those of clients in order.

    The owner of an entry is a number: of a client, or below 0 of a client that is leaving. An entry
    set aside comes before the client's present one under the same id.
    """
    clients = list(entries.by_client)
    yield clients, [len(entries.leaving)], list(entries.received)
    owners = {name: number for number, name in enumerate(clients)}
    left = {
        id(entry): -number
        for number, own in enumerate(entries.leaving, 1)
        for entry in own.values()
    }
    local = list(entries.by_key.values())
    for start in range(0, len(local), _COLUMN):
        some = local[start : start + _COLUMN]
        yield (
            [left.get(id(one)) or owners[one.client] for one in some],
            [one.client if id(one) in left else None for one in some] if left else [],
            [one.id for one in some],
            [one.key for one in some],
            [one.content for one in some],
        )
    for number, received in enumerate(entries.received.values()):
        heard = list(received.items())
        for start in range(0, len(heard), _COLUMN):
            pairs = heard[start : start + _COLUMN]
            yield (
                [number],
                [key for key, _ in pairs],
                [one.content for _, one in pairs],
                [one.sending for _, one in pairs],
                [],
                [],
            )


_ID, _KEY = 2, 3
"""The columns of the ids and keys of clients' entries."""


def _read_entries(entries: Entries[Any], columns: list[list[Any]]) -> None:
    if len(columns) == 3:
        clients, (leaving,), links = columns
        entries.by_client.update((name, {}) for name in clients)
        entries.leaving.extend({} for _ in range(leaving))
        entries.received.update((name, {}) for name in links)
    elif len(columns) == 5:
        owners, left, ids, keys, contents = columns
        tables = [*entries.by_client.values(), *reversed(entries.leaving)]
        clients = [*entries.by_client]
        for owner, first, last in _runs(owners):
            some = slice(first, last)
            names = repeat(clients[owner]) if not left else _names(clients, owner, left[some])
            made: list[LocalEntry[Any]] = [
                *map(LocalEntry, keys[some], names, ids[some], contents[some])
            ]
            entries.by_key.update(zip(keys[some], made, strict=True))
            table, own = tables[owner], dict(zip(ids[some], made, strict=True))
            if len(own) == len(made) and table.keys().isdisjoint(own):  # as a rule
                table.update(own)
                continue
            for entry in made:
                present = table.get(entry.id)
                if present is not None:
                    entries.aside.setdefault((present.client, entry.id), []).append(present)
                table[entry.id] = entry
    else:
        (number,), keys, contents, sendings, _, _ = columns
        received = list(entries.received.values())[number]
        received.update(zip(keys, map(ReceivedEntry, contents, sendings), strict=True))


def _runs(owners: list[int]) -> Iterator[tuple[int, int, int]]:
    """Each owner of a run of entries, with the run's begin and end."""
    changes = np.flatnonzero(np.diff(owners)) + 1
    bounds = [0, *changes.tolist(), len(owners)]
    return ((owners[first], first, last) for first, last in pairwise(bounds))


def _names(clients: list[str], owner: int, left: list[str | None]) -> Iterable[str]:
    """The clients of an owner's entries; `left` are the names of clients that have gone."""
    return (name or clients[owner] for name in left)


def _write_patterns(index: XSearchIndex) -> Iterator[Sequence[Iterable[Any]]]:
    found = dict(index.items())
    yield list(found), list(found.values())


def _read_patterns(index: XSearchIndex, columns: list[list[Any]]) -> None:
    for key, pattern in zip(*columns, strict=True):
        index.add(key, pattern)


_OF_CORE: Final = frozenset({"subscriptions", "advertisements"})
_CORE: Final = Form(only=_OF_CORE, within=_OF_CORE, finish=RoutingCore.rebuild)
_SCRATCH: Final = frozenset(
    {
        "_kept",
        "_layouts",
        "_left",
        "_loaded",
        "_loaded_layout",
        "_whole",
        "downward",
        "found",
        "kernels",
        "upward",
    }
)

FORMS: Final[Mapping[type[Any], Form]] = MappingProxyType(
    {
        RoutingCore: _CORE,
        Given: replace(_CORE, finish=Given.rebuild),
        Mesh: Form(
            without=frozenset({"name", "protocol", "_supply"}),
            within=frozenset({"map", "clients", "forest"}),
            finish=Mesh.rebuild,
        ),
        TreeSet: Form(without=frozenset({"_watch"})),
        EntryPropagation: Form(
            without=frozenset({"kind"}), within=frozenset({"_propagation", "entries"})
        ),
        CountingPropagation: Form(
            without=frozenset({"kind"}), within=frozenset({"_node", "entries"})
        ),
        AdvertisedLinks: Form(within=frozenset({"_make_inner"})),
        MergedLinks: Form(without=frozenset({"_make", "_merger"})),
        Merging: Form(without=frozenset({"_merger"})),
        MergedPromises: Form(without=frozenset({"_make", "_merger"})),
        MergingPromises: Form(without=frozenset({"_merger"})),
        Entries: Form(write=_write_entries, read=_read_entries, single=frozenset({_ID})),
        ColumnarCovering: Form(
            without=frozenset({"_awaiting", "_kernels", "_last"}),
            within=frozenset({"_groups"}),
            make=ColumnarCovering,
            finish=ColumnarCovering.refilled,
        ),
        Groups: Form(without=frozenset({"found", "kernels"})),
        PointTable: Form(without=_SCRATCH, make=lambda: PointTable(plain)),
        XSearchIndex: Form(write=_write_patterns, read=_read_patterns, make=XSearchIndex),
    }
)
"""The classes that are not written field by field."""

ALONE: Final[Mapping[type[Any], Form]] = MappingProxyType(
    {**FORMS, Entries: replace(FORMS[Entries], single=frozenset({_ID, _KEY}))}
)
"""The same forms where there are no links, which would hold entries by their keys as well."""
