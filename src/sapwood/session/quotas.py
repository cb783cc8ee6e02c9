"""Quotas: how much of a broker one identity may use, over all of its connections there.

Subscriptions and their conjunctions are counted as long as they are in force for a client that is
connected. Publications and their bytes run through a token bucket each, which holds what `BURST_S`
seconds bring. What passes a quota is refused by itself, with the quota's name; nothing else of the
client suffers, and what is in force stays when a quota becomes smaller.
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
"""Seconds of a rate that may come at once: what a rate "a second" lets anybody expect."""


class BeyondQuotaError(InputError):
    """What is asked for would be more than an identity may have."""


@dataclass(frozen=True, slots=True)
class Quota:
    """What an identity may use of a broker; `None` is without bound.

    So many `subscriptions` with so many `conjunctions` in all (an XPath is one), which cost a
    publication so many nanoseconds in all (`sapwood.matching.costs`), and what it publishes a
    second, in publications and in bytes as they travel. It may have made so many `durables`, for
    whose mailboxes `durable_bytes` are set aside in all. Raises `InputError` for a number that
    bounds nothing.
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
        """What is bounded, by name."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in found.items() if value is not None}

    def before(self, other: Quota) -> Self:
        """The same, and of another what is not said here."""
        return type(self)(**(other.said() | self.said()))  # type: ignore[arg-type]


class Bucket:
    """What of a rate is used up: it fills with what passes, and empties as time goes.

    #: 0 <= _level
    """

    __slots__ = ("_at", "_level")

    def __init__(self) -> None:
        self._level = 0.0
        self._at: float | None = None

    def room(self, rate: float, now: float, *, least: float = 0.0) -> float:
        """How much more passes at a time, in seconds, under a rate a second; negative: none.

        The bucket holds at `least` so much, whatever the rate.
        """
        if self._at is not None and now > self._at:
            self._level = max(0.0, self._level - rate * (now - self._at))
        self._at = now if self._at is None else max(now, self._at)
        return max(rate * BURST_S, least) - self._level

    def take(self, amount: float) -> None:
        """So much has passed."""
        self._level += amount


class Usage:
    """What one identity uses of one broker: its sessions share it.

    #: subscriptions, conjunctions and cost are the sums over its accounts, of which there are so
    #: many `accounts`
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
        #: may change, and counts from then on
        self.quota = quota
        self.accounts = 0
        self.subscriptions = 0
        self.conjunctions = 0
        self.cost = 0.0
        self._publications = Bucket()
        self._bytes = Bucket()

    def passing(self, sizes: Sequence[int], now: float) -> tuple[int, str]:
        """How many of some publications pass, the first ones, and why the next one does not.

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
        """In how many seconds the next publication passes, if nothing does until then."""
        quota, waits = self.quota, [0.0]
        if (rate := quota.publications_per_s) is not None:
            waits.append((1.0 - self._publications.room(rate, now, least=1.0)) / rate)
        if (rate := quota.bytes_per_s) is not None:
            waits.append(-self._bytes.room(rate, now) / rate)
        return max(waits)

    def take(self, count: int, size: int) -> None:
        """So many publications of so many bytes in all have passed."""
        if self.quota.publications_per_s is not None:
            self._publications.take(count)
        if self.quota.bytes_per_s is not None:
            self._bytes.take(size)


class Account:
    """What one session has of what its identity uses.

    #: _sizes has what each subscription uses that is stated
    """

    __slots__ = ("_sizes", "usage")

    def __init__(self, usage: Usage) -> None:
        self.usage = usage
        self._sizes: dict[str, Size] = {}
        usage.accounts += 1

    def refusal(self, id_: str, size: Size) -> str | None:
        """Why a subscription that uses so much may not be stated; `None` where it may.

        One that is stated already is changed: it may always become smaller.
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
        """A subscription is stated, or changed to one that uses so much."""
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
        """Subscriptions are withdrawn; those that never were are passed over."""
        for id_ in ids:
            size = self._sizes.pop(id_, None)
            if size is not None:
                self.usage.subscriptions -= 1
                self._count(NO_SIZE, size)
        if not self.usage.subscriptions:
            self.usage.cost = 0.0  # what is added and taken away again leaves no rounding

    def close(self) -> None:
        """The session is over."""
        self.withdraw(tuple(self._sizes))
        self.usage.accounts -= 1


class Size(NamedTuple):
    """What one subscription uses: conjunctions, and what it costs where that is bounded."""

    conjunctions: int
    cost: Cost | None = None


NO_SIZE: Final = Size(0)


def conjunctions_of(interest: Interest) -> int:
    """How many conjunctions a filter counts as: one at least."""
    return max(1, len(interest.conjunctions)) if isinstance(interest, Filter) else 1


def _why(name: str, bound: float, used: float | None = None) -> str:
    """The reason of a refusal."""
    if used is None:
        said = f"the quota {name} of this identity is {bound:,g}"
        return f"{said}: publish more slowly, or have it raised"
    return why_beyond(name, bound, used, "withdraw some")


def why_beyond(name: str, bound: float, used: float, remedy: str) -> str:
    """The reason of a refusal where something is counted."""
    said = f"{bound:,}, of which {used:,} are in use"
    return f"the quota {name} of this identity is {said}: {remedy}, or have it raised"
