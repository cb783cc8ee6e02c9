"""Grants: what an identity may subscribe to and publish, as filters.

What a client asks for is narrowed to what it may: a subscription to `price > 10` of somebody who
may see `region = 'eu'` is one to `price > 10 and region = 'eu'`, wherever it travels. So what may
not be seen reaches nobody who may not see it, by whatever way routers merge or digest filters. A
tree pattern cannot be narrowed: it is taken if a granted one covers it, or else refused.

A publication with a record and a document is seen by whoever may see either.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from typing import Final

from sapwood.errors import InputError, LimitError
from sapwood.limits import FILTER_STEPS_AT_ONCE
from sapwood.matching.engine_names import Engines
from sapwood.matching.publication_batch import has_documents
from sapwood.model.filter import EVERYTHING, NOTHING, Filter
from sapwood.model.interest import Interest
from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.publication import Publication
from sapwood.routing.admitting import Promised, promised, unaccepted

SEPARATOR: Final = "/"
"""What stands between an identity and the rest of a client's name, so in no identity."""

_TAG_BYTES: Final = 8

_EVERY_DOCUMENT: Final = "//*"


@dataclass(frozen=True, slots=True)
class Grant:
    """What somebody may do; nothing by default.

    Records that `subscribe` and documents that one of `subscribe_documents` accepts may be seen,
    and those of `publish` and `publish_documents` published. Names of durable subscriptions fit one
    of `durable`, where `*` is any text. Who `operates` may read a broker's state, journal and
    filters.
    """

    subscribe: Filter = NOTHING
    subscribe_documents: tuple[TreePattern, ...] = ()
    publish: Filter = NOTHING
    publish_documents: tuple[TreePattern, ...] = ()
    durable: tuple[str, ...] = ()
    operates: bool = False

    def __or__(self, other: Grant) -> Grant:
        """What either of two grants allows. Raises `LimitError` where that is too long."""
        return Grant(
            _union(self.subscribe, other.subscribe),
            (*self.subscribe_documents, *other.subscribe_documents),
            _union(self.publish, other.publish),
            (*self.publish_documents, *other.publish_documents),
            (*self.durable, *other.durable),
            self.operates or other.operates,
        )

    def narrowed(self, asked: Interest) -> Interest:
        """What is left of a filter of a subscription. Raises `InputError` where that is nothing."""
        if isinstance(asked, Filter):
            return self._narrowed(asked)
        if any(one.covers(asked) for one in self.subscribe_documents):
            return asked
        if not self.subscribe_documents:
            raise InputError("no documents may be subscribed to under this identity")
        within = " or ".join(map(str, self.subscribe_documents))
        raise InputError(f"documents may be subscribed to under this identity within {within}")

    def _narrowed(self, asked: Filter) -> Filter:
        allowed = self.subscribe
        if allowed == EVERYTHING:
            return asked
        if not allowed.conjunctions:
            raise InputError("no records may be subscribed to under this identity")
        try:
            both = asked.intersection(allowed, steps_max=FILTER_STEPS_AT_ONCE)
        except LimitError as error:
            raise InputError(
                f"together with what may be subscribed to under this identity the filter is too "
                f"long ({error}); split it into several subscriptions"
            ) from error
        if not both.conjunctions:
            raise InputError(
                "the filter accepts nothing of what may be subscribed to under this identity: "
                f"{allowed}"
            )
        return both

    @property
    def sees_all(self) -> bool:
        """Whether nothing has to be hidden."""
        documents = any(str(one) == _EVERY_DOCUMENT for one in self.subscribe_documents)
        return self.operates or (documents and self.subscribe == EVERYTHING)

    def sees(self, publication: Publication) -> bool:
        """Whether a publication may be seen.

        Of one that is blind nothing is left here but its payload: the first router has looked.
        """
        if publication.attributes is None and publication.document is None:
            return True
        seen = (self.subscribe, *self.subscribe_documents)
        return any(one.matches(publication) for one in seen)

    def covers(self, asked: Interest) -> bool:
        """Whether all of a filter may be subscribed to."""
        if isinstance(asked, Filter):
            return self.subscribe.covers(asked)
        return any(one.covers(asked) for one in self.subscribe_documents)

    def names(self, durable: str) -> bool:
        """Whether a durable subscription may have this name; none has no name."""
        return not durable or any(fnmatchcase(durable, one) for one in self.durable)


class Gate:
    """A grant, and what its publications are compared with; sessions of one grant share it.

    A session under another grant has another `tag`: what it had under the one before is not its.
    """

    __slots__ = ("_engines", "_promised", "grant", "tag")

    def __init__(self, grant: Grant, engines: Engines) -> None:
        self.grant = grant
        said = repr(sorted(fields_of(grant).items())).encode()
        self.tag = f"@{hashlib.blake2b(said, digest_size=_TAG_BYTES).hexdigest()}"
        self._engines = engines
        self._promised: Promised | None = None

    def refused(self, publications: Sequence[Publication]) -> Sequence[int]:
        """The places of the publications that may not be published, ascending."""
        grant = self.grant
        if grant.publish == EVERYTHING and not has_documents(publications):
            return ()
        if self._promised is None:
            filters = (grant.publish, *grant.publish_documents)
            self._promised = promised(tuple(map(str, range(len(filters)))), filters, self._engines)
        return unaccepted(self._promised, publications)


def _union(one: Filter, other: Filter) -> Filter:
    return Filter.from_conjunctions((*one.conjunctions, *other.conjunctions))


def fields_of(grant: Grant) -> dict[str, object]:
    """A grant by its fields, as a person reads them."""
    found: dict[str, object] = {}
    for field in fields(grant):
        value = getattr(grant, field.name)
        found[field.name] = [str(one) for one in value] if isinstance(value, tuple) else value
        if isinstance(value, Filter):
            found[field.name] = str(value)
    return found
