"""Admission of publications: a client's advertisements in force have to accept each of them.

They have to accept all of its values, that is: where an attribute has several, a subscription is
satisfied by one, and an advertisement, or a grant, is about each. Advertisements determine the
neighbors to which routers propagate subscriptions, so a value that no client has advertised would
not arrive everywhere.

Advertisements of one client are few, and publications many. So the filters of those in force are an
index of their own, made for the first batch and again when the advertisements change: a batch of
records is matched against it by one call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from sapwood.matching.batch_matches import match_documents, match_records
from sapwood.matching.engine_names import Engines
from sapwood.matching.index import Index
from sapwood.matching.protocol import SlotBatch
from sapwood.matching.publication_batch import PublicationBatch, places_of_several
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.filter import Filter
from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.publication import Publication
from sapwood.routing.strategies import Protocol
from sapwood.routing.tables import LocalEntry

_Verdicts = npt.NDArray[np.bool_]

_HELD_MAX: Final = 1 << 16
"""Matches of a batch after which the rest of it is matched by a further call."""


_PAYLOAD_ALONE: Final = (
    "a payload alone is nothing that anybody could ask for: give the publication attributes"
)

TOO_MANY: Final = (
    "more subscriptions accept the publication than a digest has room for, so routers further on "
    "would have to look at content: publish it, and not blind"
)
"""The reason to refuse a blind publication whose matches exceed the digest's bound."""


def objection_to(
    publication: Publication,
    own: Collection[LocalEntry[AdvertisedContent]],
    is_in_force: Callable[[str], bool],
    protocol: Protocol,
) -> str | None:
    """The reason why a client that advertises `own` may not publish this; `None` if it may."""
    if publication.attributes is None and publication.document is None:
        return _PAYLOAD_ALONE
    if publication.is_blind and protocol.blind_objection is not None:
        return protocol.blind_objection
    if not own:
        if not protocol.clients_advertise:
            return None
        return (
            f"under protocol {protocol.name!r} clients advertise what they will publish: "
            "advertise a filter that accepts the publication first"
        )
    for part in publication.parts():
        accepting = [entry for entry in own if entry.filter.holds_all_of(part)]
        if not accepting:
            return (
                "none of the client's advertisements accepts the publication: advertise a "
                "filter that does first"
            )
        if not any(is_in_force(entry.key) for entry in accepting):
            return (
                f"advertisement {accepting[0].id!r} is not in force yet: publish when the "
                "broker has answered it"
            )
    return None


@dataclass(frozen=True, slots=True)
class Promised:
    """Filters that accept what a client may publish, and their keys."""

    keys: tuple[str, ...]
    records: Index
    documents: Index
    #: the filters in the index of records
    filters: tuple[Filter, ...]
    #: the filters that no index holds: the paths of documents
    others: tuple[AdvertisedContent, ...]


class Admission:
    """Checks batches of the clients of one core.

    #: a client's entry is of advertisements that it had; each call compares their keys, which are
    #: never used again, with those of the present ones
    """

    __slots__ = ("_engines", "_promised")

    def __init__(self, engines: Engines) -> None:
        self._engines = engines
        self._promised: dict[str, Promised] = {}

    def forget(self, client: str) -> None:
        """Forget a client that has gone."""
        self._promised.pop(client, None)

    def refused(
        self,
        client: str,
        in_force: Sequence[LocalEntry[AdvertisedContent]],
        publications: Sequence[Publication],
    ) -> Sequence[int]:
        """The places of the publications of which a part is accepted by no entry in force."""
        keys = tuple(entry.key for entry in in_force)
        known = self._promised.get(client)
        if known is None or known.keys != keys:
            filters = [entry.filter for entry in in_force]
            known = self._promised[client] = promised(keys, filters, self._engines)
        return unaccepted(known, publications)


def unaccepted(accepting: Promised, publications: Sequence[Publication]) -> list[int]:
    """The places of the publications of which a part is not accepted, ascending."""
    count, done = len(publications), 0
    verdicts = np.ones(count, np.bool_)
    while done < count:
        some = publications[done:]
        here = _judged(accepting, some)
        verdicts[done : done + len(here)] = here
        done += len(here)
    places: list[int] = np.flatnonzero(~verdicts).tolist()
    return places


def promised(
    keys: tuple[str, ...], filters: Sequence[AdvertisedContent], engines: Engines
) -> Promised:
    """Index filters for the comparison with publications."""
    records, documents = Index(*engines), Index(*engines)
    of_records = tuple(one for one in filters if isinstance(one, Filter))
    records.take(of_records)
    documents.take([one for one in filters if isinstance(one, TreePattern)])
    others = tuple(one for one in filters if not isinstance(one, Filter | TreePattern))
    return Promised(keys, records, documents, of_records, others)


def _judged(accepting: Promised, publications: Sequence[Publication]) -> _Verdicts:
    """True for each publication whose parts are all accepted; of all of them, or of the first."""
    found = match_records(accepting.records, publications, _HELD_MAX, limit=1)
    count = len(found.offsets) - 1
    some = publications[:count]
    has_record, has_document = _parts(some)
    accepted = _any(found) | ~has_record
    for place in places_of_several(some):
        if accepted[place]:
            accepted[place] = any(one.holds_all_of(some[place]) for one in accepting.filters)
    if has_document.any():
        here = match_documents(accepting.documents, some, _HELD_MAX)
        count = len(here.offsets) - 1
        seen = _any(here)
        for place in np.flatnonzero(has_document[:count] & ~seen).tolist():
            seen[place] = any(one.matches(some[place]) for one in accepting.others)
        accepted = accepted[:count] & (seen | ~has_document[:count])
    return accepted


def _parts(publications: Sequence[Publication]) -> tuple[_Verdicts, _Verdicts]:
    """Two arrays: true for each publication with a record, and for each with a document."""
    count = len(publications)
    if isinstance(publications, PublicationBatch):
        bare, documents = publications.bare, publications.documents
        has_record = np.ones(count, np.bool_) if bare is None else ~bare
        if documents is None:
            return has_record, np.zeros(count, np.bool_)
        return has_record, np.array([one is not None for one in documents], np.bool_)
    has_record = np.array([one.attributes is not None for one in publications], np.bool_)
    return has_record, np.array([one.document is not None for one in publications], np.bool_)


def _any(found: SlotBatch) -> _Verdicts:
    """True for each publication that has a match."""
    several: _Verdicts = np.diff(found.offsets) > 0
    return several
