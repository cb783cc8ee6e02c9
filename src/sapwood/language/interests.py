"""Interests that travel together: as values, or in the forms in which they came, still unread.

Reading a form takes some microseconds and can fail. So a frame is taken apart without it, and the
code that passes the message on reads the forms, frame by frame and between other tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sapwood.errors import InvariantError
from sapwood.model.interest import Interest


class Interests:
    """Several interests in order.

    #: either all are values, or none is and all are forms, with the function that reads one
    """

    __slots__ = ("_forms", "_read_form", "_values")

    def __init__(self, values: Iterable[Interest]) -> None:
        self._values: tuple[Interest, ...] | None = tuple(values)
        self._forms: tuple[Any, ...] = ()
        self._read_form: Callable[[Any], Interest] | None = None

    @classmethod
    def unread(cls, forms: Sequence[Any], read: Callable[[Any], Interest]) -> Interests:
        """Interests whose forms are unread; `read` reads one, and raises `InputError`."""
        interests = cls(())
        interests._values, interests._forms, interests._read_form = None, tuple(forms), read
        return interests

    def __len__(self) -> int:
        return len(self._forms) if self._values is None else len(self._values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Interests):
            return NotImplemented
        if self._values is None and self._forms == other._forms:
            return True
        self.read()
        other.read()
        return self._values == other._values

    def __hash__(self) -> int:
        self.read()
        return hash(self._values)

    def __repr__(self) -> str:
        return f"Interests({self._forms if self._values is None else self._values!r})"

    @property
    def values(self) -> tuple[Interest, ...]:
        """The interests, which have been read."""
        if self._values is None:
            raise InvariantError("interests came over a link and nobody has read them")
        return self._values

    def read(self) -> None:
        """Read the forms, if they are not read yet; errors as those of the reading function."""
        if self._values is None:
            assert self._read_form is not None, "forms come with what reads them"
            self._values = tuple(map(self._read_form, self._forms))
            self._forms, self._read_form = (), None
