"""Room for what has begun to come, of all who send something, within one bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Hold: TypeAlias = Callable[[int], None]
"""Says how many bytes of one there are now. Raises where there is no room for them."""


class Room:
    """Room for so many bytes; `full` makes the error of who needs more than is left.

    #: left_bytes and what is held come to the bound
    """

    def __init__(self, bytes_max: int, full: Callable[[], Exception]) -> None:
        self.left_bytes = bytes_max
        self._full = full

    @contextmanager
    def held(self) -> Iterator[Hold]:
        """Room for one, until it is dealt with."""
        held = 0

        def hold(size: int) -> None:
            nonlocal held
            if size - held > self.left_bytes:
                raise self._full()
            self.left_bytes -= size - held
            held = size

        try:
            yield hold
        finally:
            self.left_bytes += held
