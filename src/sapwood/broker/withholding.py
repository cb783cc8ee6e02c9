"""The parts of durable subscriptions and of the journal that a limited grant hides."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec import structs

from sapwood.errors import InputError
from sapwood.limits.durable import SAME_ID_MAX
from sapwood.session.grants import Gate, Grant
from sapwood.session.sealed_places import KEY_BYTES, SealedPlaces
from sapwood.store.store import Store
from sapwood.wire.durable import (
    DurablesReply,
    DurableState,
    Policy,
    Since,
    SinceId,
    SincePlace,
    SinceTime,
)
from sapwood.wire.interests import from_text
from sapwood.wire.publications import decode_publication

WITHHELD: Final = "not shown: it has more than may be subscribed to under this identity"
"""The state of a durable subscription of which only the name is shown."""

_KEY: Final = "places.key"


class Withholding:
    """The withholding of state from the clients of one broker.

    Places are sealed with a key in the folder of the store, which is made when it is first needed:
    `start` raises `InputError` where it cannot be made, and no client gets places before.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._places: SealedPlaces | None = None

    @property
    def places(self) -> SealedPlaces:
        """The seals for places."""
        assert self._places is not None, "who is told places has come before"
        return self._places

    def start(self, since: Since | None, gate: Gate | None) -> int | None:
        """The place of `since` in the journal, for a client behind a gate.

        Raises `InputError` for an id that is not there, or only in hidden publications, and for a
        place that was never handed out.
        """
        store = self._store
        grant = None if gate is None or gate.grant.sees_all else gate.grant
        if grant is not None and self._places is None:
            self._places = SealedPlaces(_key(self._store.folder / _KEY))
        match since:
            case None:
                return None
            case SincePlace(place):
                begin = place if grant is None else self.places.begin(place, store.next_place)
                return min(max(begin, store.bounds[0]), store.next_place)
            case SinceTime(begin):
                return store.place_at(begin)
            case SinceId(id_):
                places: Iterable[int] = store.places_of_id(id_)
                if grant is not None:
                    seen = islice(places, SAME_ID_MAX)
                    places = (place for place in seen if self._sees(grant, place))
                found = next(iter(places), None)
                if found is None:
                    raise InputError(f"the journal has no publication {id_!r} (any more)")
                return found + 1

    def _sees(self, grant: Grant, place: int) -> bool:
        return any(sees(grant, one.encoded) for one in self._store.read_places([place]))

    def told(self, places: Iterable[int], reached: int, gate: Gate | None) -> tuple[int, ...]:
        """Places in the form for a client that has had all below `reached` that it gets."""
        if gate is None or gate.grant.sees_all:
            return tuple(places)
        sealed, last = [], reached - 1
        for place in places:
            last = max(last, place)
            sealed.append(self.places.seal(last))
        return tuple(sealed)


def sees(grant: Grant, encoded: bytes) -> bool:
    """True if a grant lets a stored publication be seen."""
    return grant.sees(decode_publication(encoded))


def shown(reply: DurablesReply, gate: Gate | None) -> DurablesReply:
    """An answer about durable subscriptions, without the parts that its client may not see.

    The contents of a mailbox, and their number, are shown only to a client that may subscribe to
    everything its filter accepts.
    """
    if gate is None or gate.grant.sees_all:
        return reply
    return structs.replace(reply, durables=tuple(_shown(one, gate.grant) for one in reply.durables))


def _shown(state: DurableState, grant: Grant) -> DurableState:
    if grant.covers(from_text(state.filter)):
        return state
    return DurableState(state.name, "", "", Policy(), 0, 0, 0, (), 0, 0.0, 0.0, WITHHELD)


def _key(path: Path) -> bytes:
    """The key in a file, which is made if it does not exist; only its owner may read it."""
    try:
        with suppress(FileExistsError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
                file.write(secrets.token_bytes(KEY_BYTES))
                file.flush()
                os.fsync(file.fileno())
        key = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read or made: {error.strerror}") from error
    if len(key) != KEY_BYTES:
        raise InputError(f"{path} is no key of {KEY_BYTES} bytes; remove it: another one is made")
    return key
