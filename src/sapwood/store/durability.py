"""The moment at which a commit counts as done: the value of `--durability`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from sapwood.errors import InputError
from sapwood.limits.store import DURABILITY_INTERVAL_MS_MAX


@dataclass(frozen=True, slots=True)
class Durability:
    """`fsync`: after fsync; `interval:MS`: after write(2), and fsync at least every MS; `none`.

    A killed process loses nothing under all three: the system has everything that was written. A
    machine that loses power loses nothing under `fsync`, under `interval:MS` the publications
    accepted in about MS milliseconds before, under `none` those that the system had not written by
    itself (some thirty seconds on Linux).
    """

    syncs: bool = True
    interval_s: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Self:
        """The durability that a text names. Raises `InputError`."""
        name, colon, number = text.partition(":")
        if text == "fsync":
            return cls()
        if text == "none":
            return cls(syncs=False)
        if name == "interval" and colon and number.isascii() and number.isdecimal():
            milliseconds = int(number)
            if 1 <= milliseconds <= DURABILITY_INTERVAL_MS_MAX:
                return cls(interval_s=milliseconds / 1000)
        raise InputError(
            f"--durability {text}: it takes fsync, interval:MS (1 to "
            f"{DURABILITY_INTERVAL_MS_MAX:,} milliseconds) or none"
        )

    @property
    def awaits_sync(self) -> bool:
        """True if a commit is done only when it is durable."""
        return self.syncs and not self.interval_s

    def __str__(self) -> str:
        if not self.syncs:
            return "none"
        return f"interval:{round(self.interval_s * 1000)}" if self.interval_s else "fsync"
