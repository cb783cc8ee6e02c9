"""Interests that travel together: as values, or as the texts that came, which somebody has to read.

Reading a text takes some ten microseconds and can fail. So a frame is taken apart without it, and
whoever is to hand the message on reads the texts, frame by frame and between the turns of others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from sapwood.errors import InvariantError
from sapwood.language.written import Written, read_interest
from sapwood.model.interest import Interest

Given: TypeAlias = str | Written
"""The text of a filter of records as it is; others say what they are."""


class Interests:
    """Several interests in order.

    #: either all are values, or none is and the texts are there
    """

    __slots__ = ("_texts", "_values")

    def __init__(self, values: Iterable[Interest]) -> None:
        self._values: tuple[Interest, ...] | None = tuple(values)
        self._texts: tuple[Given, ...] = ()

    @classmethod
    def unread(cls, texts: Sequence[Given]) -> Interests:
        """Interests whose texts nobody has read."""
        interests = cls(())
        interests._values, interests._texts = None, tuple(texts)
        return interests

    def __len__(self) -> int:
        return len(self._texts) if self._values is None else len(self._values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Interests):
            return NotImplemented
        if self._values is None and self._texts == other._texts:
            return True
        self.read()
        other.read()
        return self._values == other._values

    def __hash__(self) -> int:
        self.read()
        return hash(self._values)

    def __repr__(self) -> str:
        return f"Interests({self._texts if self._values is None else self._values!r})"

    @property
    def values(self) -> tuple[Interest, ...]:
        """The interests, which have been read."""
        if self._values is None:
            raise InvariantError("interests came over a link and nobody has read them")
        return self._values

    def read(self) -> None:
        """Read the texts, if they are not read yet; errors as `read_interest`."""
        if self._values is None:
            self._values = tuple(
                read_interest(Written("filter", text) if isinstance(text, str) else text)
                for text in self._texts
            )
            self._texts = ()
