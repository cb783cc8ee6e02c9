"""Names that a client gives where its application gives none."""

from __future__ import annotations

from collections.abc import Container


class Names:
    """Makes names that are new to one client: of all kinds together, in the order of a count."""

    __slots__ = ("_serial",)

    def __init__(self) -> None:
        self._serial = 0

    def next(self, prefix: str) -> str:
        """A name that was never made before."""
        self._serial += 1
        return f"{prefix}{self._serial}"

    def new(self, prefix: str, taken: Container[str]) -> str:
        """A name that is not taken by the application either."""
        while (name := self.next(prefix)) in taken:
            pass
        return name
