"""The publications of a batch that the router delivers to owners of durable subscriptions.

Worked example: publications 0, 1 and 2 are accepted by the subscriptions of the numbers 4; 4, 9 and
none. Number 9 is an owner's, so offsets are 0 1 3 3, slots 4 4 9, the owner's slots stand at 2, and
the publication there is the last one whose offset is not above 2: it is 1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sapwood.routing.client_rows import OWNER, OWNER_BITS, ROW, ClientRows
from sapwood.routing.effects import DeliverMany
from sapwood.routing.holders import NOBODY
from sapwood.session.durable.subscriptions import is_owner


def owned(effect: DeliverMany) -> dict[str, list[int]]:
    """The publications that go to each owner, in order, by their place in the batch."""
    places, keys = _accepted(effect)
    if not len(keys):
        return {}
    clients = _clients(effect.rows)[keys]
    names = effect.rows.names
    owners = {number for number in np.unique(clients).tolist() if is_owner(names[number])}
    if not owners:
        return {}
    found: dict[str, list[int]] = {}
    mine = np.isin(clients, np.fromiter(owners, np.int64))
    for client, place in zip(clients[mine].tolist(), places[mine].tolist(), strict=True):
        found.setdefault(names[client], []).append(place)
    return {name: sorted(set(there)) for name, there in found.items()}


def _clients(rows: ClientRows) -> npt.NDArray[np.int64]:
    """The number of the client that has each numbered subscription."""
    return (rows.words.reshape(-1, ROW)[:, OWNER] >> np.uint64(OWNER_BITS)).astype(np.int64)


def _accepted(effect: DeliverMany) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The places of publications, and beside each the number of a subscription that accepts it."""
    keys = effect.keys
    places = np.repeat(np.arange(len(keys)), np.diff(keys.offsets))
    slots = keys.slots[keys.offsets[0] : keys.offsets[-1]].astype(np.int64)
    heads, nexts = keys.chains()
    if keys.heads is None:
        return places, slots
    numbers = heads[slots].astype(np.int64)
    all_places, all_numbers = [], []
    while len(numbers):
        there = numbers != NOBODY
        places, numbers = places[there], numbers[there]
        all_places.append(places)
        all_numbers.append(numbers)
        numbers = nexts[numbers].astype(np.int64)
    return np.concatenate(all_places), np.concatenate(all_numbers)
