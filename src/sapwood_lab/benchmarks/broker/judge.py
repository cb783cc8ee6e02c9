"""The judge: whether exactly what must be delivered was, publication by publication.

Receivers write down each delivery; nothing of what brokers, clients or drivers counted is believed.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

import numpy as np
import numpy.typing as npt

from sapwood_lab.benchmarks.broker.load import Load, Numbers

RECEIVED: Final = np.dtype(
    [("time_ns", "<i8"), ("number", "<i4"), ("client", "<i4"), ("subscription", "<i4")]
)
"""The lines that receivers write, 20 bytes each, without a header: when (of the monotonic clock)
which publication came to which client for which subscription. Where a system does not name the
subscription to clients, it is `UNTOLD`, and a delivery has one line.

Publication 7 that came to client 1 at 5 s for its subscriptions 3 and 9:
(5_000_000_000, 7, 1, 3), (5_000_000_000, 7, 1, 9)."""

UNTOLD: Final = -1

Received = npt.NDArray[np.void]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The differences of deliveries from those that must be.

    `lost` never came, `unexpected` must not have come, `duplicated` came again, `reordered` came
    after a later one of the same subscription (client, where subscriptions are not named).
    """

    expected: int
    lost: int = 0
    unexpected: int = 0
    duplicated: int = 0
    reordered: int = 0

    @property
    def is_exact(self) -> bool:
        """True if nothing differs."""
        return not (self.lost or self.unexpected or self.duplicated or self.reordered)

    def __str__(self) -> str:
        """`exact`, or what is wrong."""
        counts = {field.name: getattr(self, field.name) for field in fields(self)[1:]}
        return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) or "exact"

    def __add__(self, other: Verdict) -> Verdict:
        """The verdict on both together."""
        pairs = ((getattr(self, one.name), getattr(other, one.name)) for one in fields(self))
        return Verdict(*(mine + others for mine, others in pairs))


def judge(load: Load, first: int, count: int, received: Received) -> Verdict:
    """Compare what came with what must come of publications `first` to `first + count - 1`."""
    told = not bool((received["subscription"] == UNTOLD).any())
    numbers = received["number"].astype(np.int64) - first
    clients = received["client"].astype(np.int64)
    subscriptions = received["subscription"].astype(np.int64)
    possible = (numbers >= 0) & (numbers < count) & (clients >= 0) & (clients < load.clients)
    if told:
        known = (subscriptions >= 0) & (subscriptions < len(load.owners))
        possible &= known & (load.owners[np.where(known, subscriptions, 0)] == clients)
    radix = len(load.owners) if told else load.clients
    parts = subscriptions if told else clients
    came = (numbers * radix + parts)[possible]
    must = _expected(load, first, count, told=told, radix=radix)
    different, times = np.unique(came, return_counts=True)
    right = np.isin(different, must, assume_unique=True)
    return Verdict(
        expected=len(must),
        lost=len(must) - int(right.sum()),
        unexpected=int((~possible).sum()) + int(times[~right].sum()),
        duplicated=int((times[right] - 1).sum()),
        reordered=_reordered(came // radix, came % radix),
    )


def _expected(load: Load, first: int, count: int, *, told: bool, radix: int) -> Numbers:
    """Publication times radix plus subscription (or client) of all that must come, ascending."""
    places = (first + np.arange(count, dtype=np.int64)) % len(load.pool)
    sizes = np.diff(load.offsets)[places]
    numbers = np.repeat(np.arange(count, dtype=np.int64), sizes)
    begins = np.repeat(np.cumsum(sizes) - sizes, sizes)
    within = np.arange(len(numbers), dtype=np.int64) - begins
    found = load.matches[np.repeat(load.offsets[:-1][places], sizes) + within]
    if not told:
        found = load.owners[found]
    keys: Numbers = np.unique(numbers * radix + found)
    return keys


def _reordered(numbers: Numbers, parts: Numbers) -> int:
    """The number of numbers below the one before them of the same part."""
    order = np.argsort(parts, kind="stable")
    same = np.diff(parts[order]) == 0
    return int((same & (np.diff(numbers[order]) < 0)).sum())


def delivery_count(received: Received) -> int:
    """The number of deliveries in lines: one a publication and client, however many ids."""
    keys = received["number"].astype(np.int64) << 32 | received["client"].astype(np.int64)
    return len(np.unique(keys))
