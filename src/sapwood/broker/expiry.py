"""Publications whose time to live is over: they go no further.

A publication's age follows from its age bound (`docs/time.md`), so it is never taken for younger
than it is. Of a publication read from the store only the time of its storing here is known: that
counts then, and its age before is missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from sapwood.matching.publication_batch import PublicationBatch
from sapwood.model.publication import Publication
from sapwood.timing.local import LocalClock
from sapwood.wire.publications import envelope_of

_NS: Final = 1_000_000_000
_NS_A_MS: Final = 1_000_000


class Expiry:
    """Decides which publications are over. `wall` returns seconds since 1970."""

    __slots__ = ("_clock", "_wall")

    def __init__(self, clock: LocalClock | None, wall: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._wall = wall

    def age_s(self, publication: Publication) -> float:
        """The age of a publication as far as it is known, in seconds; 0 where it is not."""
        return self._age_ns(publication) / _NS

    def _age_ns(self, publication: Publication) -> int:
        written_at = publication.written_at
        age_ns = self._since_ns(publication.born)
        if age_ns is None and written_at is not None:
            age_ns = max(0, int((self._wall() - written_at) * _NS))
        return age_ns or 0

    def _since_ns(self, born: int | None) -> int | None:
        clock = self._clock
        return None if clock is None else clock.drift.age_ns(born, clock.read())

    def ages_s(self, batch: Sequence[Publication]) -> Sequence[float]:
        """`age_s` of each publication of a batch that has a time to live, and 0 for the others."""
        if not isinstance(batch, PublicationBatch):
            return [0.0 if one.envelope is None else self.age_s(one) for one in batch]
        age_s = (self._since_ns(batch.born) or 0) / _NS
        if batch.ttls_ms is None or not age_s:
            return (0.0,) * len(batch)
        found: list[float] = np.where(batch.ttls_ms > 0, age_s, 0.0).tolist()
        return found

    def are_over(self, batch: Sequence[Publication]) -> npt.NDArray[np.bool_] | None:
        """`is_over` of each publication of a batch of bytes; `None` where none of them is."""
        if not isinstance(batch, PublicationBatch) or batch.ttls_ms is None:
            return None
        age_ns = self._since_ns(batch.born) or 0
        over: npt.NDArray[np.bool_] = (batch.ttls_ms > 0) & (batch.ttls_ms * _NS_A_MS < age_ns)
        return over if over.any() else None

    def is_over(self, publication: Publication) -> bool:
        """True if its time to live may be over; a receiver gets it with an age that is over."""
        envelope = publication.envelope
        if envelope is None or envelope.ttl_ns is None:
            return False
        age_ns = self._age_ns(publication)
        if age_ns <= envelope.ttl_ns:
            return False
        if publication.born is None and self._clock is not None:
            publication.keep_born(self._clock.read() - age_ns)
        return True

    def tell(self, publications: Iterable[Publication]) -> None:
        """Give publications that are over an age that is over, for their receivers."""
        for publication in publications:
            self.is_over(publication)


def has_outlived(encoded: bytes, age_s: float) -> bool:
    """True if an encoded publication of this age, in seconds, has outlived its time."""
    envelope = envelope_of(encoded)
    return envelope is not None and envelope.ttl_ms is not None and age_s * 1000 > envelope.ttl_ms
