"""One bound on the bytes of incomplete messages, over all connections of a listener."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Hold: TypeAlias = Callable[[int], None]
"""Sets the number of bytes held for one message. Raises if there is no room for them."""


class Room:
    """Room for `bytes_max` bytes; `full` makes the error of a holder that needs more than is left.

    #: the sum of left_bytes and of all bytes held is the bound
    """

    def __init__(self, bytes_max: int, full: Callable[[], Exception]) -> None:
        self.left_bytes = bytes_max
        self._full = full

    @contextmanager
    def held(self) -> Iterator[Hold]:
        """Hold room for one message, or body, as long as the context lasts."""
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
