"""Grants: the filters of what an identity may subscribe to and publish.

A requested filter is narrowed to the granted one: a subscription to `price > 10` by an identity
that may see `region = 'eu'` becomes one to `price > 10 and region = 'eu'`, wherever it travels. So
a publication outside of a grant never reaches its clients, however routers merge or digest filters.
A tree pattern cannot be narrowed: it is accepted if a granted one covers it, or else refused.

A publication with a record and a document is visible if either of the two is.
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
"""The separator between an identity and the rest of a client's name; it occurs in no identity."""

_TAG_BYTES: Final = 8

_EVERY_DOCUMENT: Final = "//*"


@dataclass(frozen=True, slots=True)
class Grant:
    """The permissions of an identity; none by default.

    Records that `subscribe` and documents that one of `subscribe_documents` accepts may be seen,
    and those of `publish` and `publish_documents` published. The name of a durable subscription has
    to fit one of `durable`, where `*` is any text. With `operates` an identity may read a broker's
    state, journal and filters.
    """

    subscribe: Filter = NOTHING
    subscribe_documents: tuple[TreePattern, ...] = ()
    publish: Filter = NOTHING
    publish_documents: tuple[TreePattern, ...] = ()
    durable: tuple[str, ...] = ()
    operates: bool = False

    def __or__(self, other: Grant) -> Grant:
        """The union of two grants. Raises `LimitError` where it is too long."""
        return Grant(
            _union(self.subscribe, other.subscribe),
            (*self.subscribe_documents, *other.subscribe_documents),
            _union(self.publish, other.publish),
            (*self.publish_documents, *other.publish_documents),
            (*self.durable, *other.durable),
            self.operates or other.operates,
        )

    def narrowed(self, asked: Interest) -> Interest:
        """The granted part of a subscription's filter. Raises `InputError` if it is empty."""
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
        """True if the grant hides no publication."""
        documents = any(str(one) == _EVERY_DOCUMENT for one in self.subscribe_documents)
        return self.operates or (documents and self.subscribe == EVERYTHING)

    def sees(self, publication: Publication) -> bool:
        """True if the grant lets a publication be seen.

        A blind publication has only its payload left here: the first router has compared it.
        """
        if publication.attributes is None and publication.document is None:
            return True
        seen = (self.subscribe, *self.subscribe_documents)
        return any(one.matches(publication) for one in seen)

    def covers(self, asked: Interest) -> bool:
        """True if the whole of a filter may be subscribed to."""
        if isinstance(asked, Filter):
            return self.subscribe.covers(asked)
        return any(one.covers(asked) for one in self.subscribe_documents)

    def names(self, durable: str) -> bool:
        """True if a durable subscription may have this name, or has none."""
        return not durable or any(fnmatchcase(durable, one) for one in self.durable)


class Gate:
    """A grant, and the engines that compare publications with it; sessions of one grant share it.

    A session under another grant has another `tag`, so it does not inherit the state of the former
    one.
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
    """The fields of a grant, in a readable form."""
    found: dict[str, object] = {}
    for field in fields(grant):
        value = getattr(grant, field.name)
        found[field.name] = [str(one) for one in value] if isinstance(value, tuple) else value
        if isinstance(value, Filter):
            found[field.name] = str(value)
    return found
