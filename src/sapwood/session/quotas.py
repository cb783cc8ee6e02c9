"""Quotas: how much of a broker one identity may use, over all of its connections there.

Subscriptions and their conjunctions are counted as long as they are in force for a client that is
connected. Publications and their bytes run through a token bucket each, which holds the amount of
`BURST_S` seconds. A request that exceeds a quota is refused by itself, with the quota's name; the
other requests of the client are not affected, and entries in force stay when a quota becomes
smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final, NamedTuple, Self

from sapwood.errors import InputError
from sapwood.matching.costs import Cost, nanoseconds
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest

BURST_S: Final = 1.0
"""Seconds of a rate that may come at once: the burst that a rate "a second" suggests."""


class BeyondQuotaError(InputError):
    """The request would exceed a quota of its identity."""


@dataclass(frozen=True, slots=True)
class Quota:
    """The quota of an identity at one broker; `None` is without bound.

    `subscriptions` is a number of subscriptions, `conjunctions` that of their conjunctions in all
    (an XPath counts as one), and `cost` the nanoseconds that they cost a publication in all
    (`sapwood.matching.costs`). The two rates bound what the identity publishes a second, in
    publications and in bytes as they travel. `durables` is the number of durable subscriptions
    made, and `durable_bytes` the space of their mailboxes in all. Raises `InputError` for a number
    that bounds nothing.
    """

    subscriptions: int | None = None
    conjunctions: int | None = None
    publications_per_s: float | None = None
    bytes_per_s: float | None = None
    cost: float | None = None
    durables: int | None = None
    durable_bytes: int | None = None

    def __post_init__(self) -> None:
        for name, value in self.said().items():
            least = 1e-3 if name.endswith("_per_s") else 0
            if not least <= value <= 2**53:
                raise InputError(f"{name} is {value:g}; it takes {least:g} to {2**53:,}")

    def said(self) -> dict[str, float]:
        """The bounds that are set, by name."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in found.items() if value is not None}

    def before(self, other: Quota) -> Self:
        """The bounds of this quota, and those of `other` where this one sets none."""
        return type(self)(**(other.said() | self.said()))  # type: ignore[arg-type]


class Bucket:
    """The part of a rate that is used up: it fills with what passes, and empties with time."""

    __slots__ = ("_at", "_level")

    def __init__(self) -> None:
        self._level = 0.0
        self._at: float | None = None

    def room(self, rate: float, now: float, *, least: float = 0.0) -> float:
        """The amount that may still pass at `now`, under a rate a second; negative: none.

        The bucket holds at `least` that amount, whatever the rate; `now` is in seconds.
        """
        if self._at is not None and now > self._at:
            self._level = max(0.0, self._level - rate * (now - self._at))
        self._at = now if self._at is None else max(now, self._at)
        return max(rate * BURST_S, least) - self._level

    def take(self, amount: float) -> None:
        """Record that an amount has passed."""
        self._level += amount


class Usage:
    """The use that one identity makes of one broker; its sessions share it.

    #: subscriptions, conjunctions and cost are the sums over its accounts, whose number is
    #: `accounts`
    """

    __slots__ = (
        "_bytes",
        "_publications",
        "accounts",
        "conjunctions",
        "cost",
        "quota",
        "subscriptions",
    )

    def __init__(self, quota: Quota) -> None:
        #: may change; the new bounds hold from then on
        self.quota = quota
        self.accounts = 0
        self.subscriptions = 0
        self.conjunctions = 0
        self.cost = 0.0
        self._publications = Bucket()
        self._bytes = Bucket()

    def passing(self, sizes: Sequence[int], now: float) -> tuple[int, str]:
        """The number of publications that pass, from the first on, and why the next does not.

        `sizes` in bytes, `now` in seconds. A publication that is longer than a bucket passes when
        there is any room, which is paid back by those behind it.
        """
        quota, count, reason = self.quota, len(sizes), ""
        rate = quota.publications_per_s
        if rate is not None:
            room = self._publications.room(rate, now, least=1.0)
            if room < count:
                count, reason = max(int(room), 0), _why("publications_per_s", rate)
        if quota.bytes_per_s is not None:
            left = self._bytes.room(quota.bytes_per_s, now)
            for place, size in enumerate(sizes[:count]):
                if left <= 0:
                    count, reason = place, _why("bytes_per_s", quota.bytes_per_s)
                    break
                left -= size
        return count, reason

    def after_s(self, now: float) -> float:
        """The number of seconds until the next publication passes, if none does before."""
        quota, waits = self.quota, [0.0]
        if (rate := quota.publications_per_s) is not None:
            waits.append((1.0 - self._publications.room(rate, now, least=1.0)) / rate)
        if (rate := quota.bytes_per_s) is not None:
            waits.append(-self._bytes.room(rate, now) / rate)
        return max(waits)

    def take(self, count: int, size: int) -> None:
        """Record that `count` publications of `size` bytes in all have passed."""
        if self.quota.publications_per_s is not None:
            self._publications.take(count)
        if self.quota.bytes_per_s is not None:
            self._bytes.take(size)


class Account:
    """The part of its identity's use that is due to one session.

    #: _sizes has the size of each subscription in force
    """

    __slots__ = ("_sizes", "usage")

    def __init__(self, usage: Usage) -> None:
        self.usage = usage
        self._sizes: dict[str, Size] = {}
        usage.accounts += 1

    def refusal(self, id_: str, size: Size) -> str | None:
        """The reason why a subscription of this size is refused; `None` where it is not.

        A subscription that is in force already is changed: it may always become smaller.
        """
        usage, quota, former = self.usage, self.usage.quota, self._sizes.get(id_)
        bound = quota.subscriptions
        if former is None and bound is not None and usage.subscriptions >= bound:
            return _why("subscriptions", bound, usage.subscriptions)
        before = former or NO_SIZE
        bound, more = quota.conjunctions, size.conjunctions - before.conjunctions
        if bound is not None and more > 0 and usage.conjunctions + more > bound:
            return _why("conjunctions", bound, usage.conjunctions)
        if quota.cost is not None and size.cost is not None:
            more_ns = size.cost.ns - (0.0 if before.cost is None else before.cost.ns)
            if more_ns > 0 and usage.cost + more_ns > quota.cost:
                return (
                    f"the quota cost of this identity is {nanoseconds(quota.cost)} for each "
                    f"publication, of which {nanoseconds(usage.cost)} are in use, and the filter "
                    f"costs {nanoseconds(size.cost.ns)}: {size.cost.remedy()}; or withdraw some, "
                    "or have it raised"
                )
        return None

    def state(self, id_: str, size: Size) -> None:
        """Record a subscription, or the new size of one that is changed."""
        former = self._sizes.get(id_)
        if former is None:
            self.usage.subscriptions += 1
        self._count(size, former or NO_SIZE)
        self._sizes[id_] = size

    def _count(self, size: Size, former: Size) -> None:
        usage = self.usage
        usage.conjunctions += size.conjunctions - former.conjunctions
        for sign, one in ((1, size), (-1, former)):
            if one.cost is not None:
                usage.cost += sign * one.cost.ns

    def withdraw(self, ids: Sequence[str]) -> None:
        """Drop subscriptions that are withdrawn; unknown ids are passed over."""
        for id_ in ids:
            size = self._sizes.pop(id_, None)
            if size is not None:
                self.usage.subscriptions -= 1
                self._count(NO_SIZE, size)
        if not self.usage.subscriptions:
            self.usage.cost = 0.0  # sums and differences of floats leave a rest

    def close(self) -> None:
        """Close the account: the session is over."""
        self.withdraw(tuple(self._sizes))
        self.usage.accounts -= 1


class Size(NamedTuple):
    """The size of one subscription: its conjunctions, and its cost where that is bounded."""

    conjunctions: int
    cost: Cost | None = None


NO_SIZE: Final = Size(0)


def conjunctions_of(interest: Interest) -> int:
    """The number of conjunctions that a filter counts as: at least one."""
    return max(1, len(interest.conjunctions)) if isinstance(interest, Filter) else 1


def _why(name: str, bound: float, used: float | None = None) -> str:
    """The reason of a refusal."""
    if used is None:
        said = f"the quota {name} of this identity is {bound:,g}"
        return f"{said}: publish more slowly, or have it raised"
    return why_beyond(name, bound, used, "withdraw some")


def why_beyond(name: str, bound: float, used: float, remedy: str) -> str:
    """The reason of a refusal, with the part of the bound that is in use."""
    said = f"{bound:,}, of which {used:,} are in use"
    return f"the quota {name} of this identity is {said}: {remedy}, or have it raised"
