"""Advertised content: the set of publications that an advertisement announces."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import FrozenInstanceError
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from sapwood.model.interest import Interest
    from sapwood.model.publication import Publication

_set: Final = object.__setattr__
"""Sets attributes of immutable values, as frozen dataclasses set theirs."""


class AdvertisedContent:
    """The content of an advertisement: an interest, or the paths of documents.

    Advertised content is a value. Two of one kind are equal iff their normal forms are, and `str`
    writes the normal form down; `source` is the text that the content was read from, if any, and
    does not count.

    This is no dataclass because msgspec takes every dataclass apart by itself: a message holds the
    filter, and what travels is its text, which only a hook of the wire can write
    (`sapwood.wire.hooks`).
    """

    __slots__ = ("_hash", "_normal", "source")

    source: str | None
    #: the normal form, by which values compare; subclasses have it under a name of their own, too
    _normal: Hashable
    #: the hash, once computed; depends on the normal form, which never changes
    _hash: int | None

    def __init__(self, normal: Hashable, source: str | None) -> None:
        _set(self, "_normal", normal)
        _set(self, "_hash", None)
        _set(self, "source", source)

    @abstractmethod
    def matches(self, publication: Publication, /) -> bool:
        """True if a publication is accepted."""

    def holds_all_of(self, publication: Publication, /) -> bool:
        """True if the publication's whole content is within, as an advertisement requires."""
        return self.matches(publication)

    @abstractmethod
    def covers(self, other: AdvertisedContent, /) -> bool:
        """True if every publication that `other` accepts is surely accepted here.

        Content of different kinds covers nothing of each other.
        """

    @abstractmethod
    def intersects(self, other: Interest, /) -> bool:
        """True if some publication may be accepted by both; `False` only if none can be."""

    @abstractmethod
    def __str__(self) -> str:
        """The normal form as text."""

    def compact(self) -> Self:
        """An equal value in little memory, for tables that hold many."""
        return self

    def __eq__(self, other: object) -> bool:
        """True if the other is of the same kind and has the same normal form."""
        if self is other:
            return True
        if type(other) is not type(self):
            return NotImplemented
        return self._normal == other._normal

    def __hash__(self) -> int:
        """The hash of the normal form, found once: tables look filters up again and again."""
        known = self._hash
        if known is None:
            known = hash(self._normal)
            _set(self, "_hash", known)
        return known

    def __reduce__(self) -> tuple[Callable[..., AdvertisedContent], tuple[object, ...]]:
        """Copies leave the hash behind: hashes of texts differ from process to process."""
        return type(self), (self._normal, self.source)

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to {name!r}: filters do not change")
