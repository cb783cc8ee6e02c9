"""The bounds of one mailbox, all of them known."""

from __future__ import annotations

from dataclasses import dataclass

from sapwood.errors import InputError
from sapwood.limits.durable import (
    DURABLE_ACKNOWLEDGE_S,
    DURABLE_AGE_MAX_S,
    DURABLE_BYTES_MAX,
    DURABLE_COUNT_MAX,
    DURABLE_SECONDS_MIN,
)
from sapwood.wire.durable import Overflow, Policy


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of one mailbox; see `wire.durable.Policy`. `age_max_s` is 0 for no bound.

    `attempts_max` is 0 for no bound; beyond it a publication goes to the mailbox of `dead_letter`,
    if that is not empty.
    """

    count_max: int = DURABLE_COUNT_MAX
    bytes_max: int = DURABLE_BYTES_MAX
    age_max_s: float = DURABLE_AGE_MAX_S
    overflow: Overflow = Overflow.OLDEST
    acknowledge_s: float = DURABLE_ACKNOWLEDGE_S
    attempts_max: int = 0
    dead_letter: str = ""

    def changed(self, policy: Policy) -> Bounds:
        """The bounds with the changes of a policy. Raises `InputError` for impossible ones."""
        found = Bounds(
            self.count_max if policy.count_max is None else policy.count_max,
            self.bytes_max if policy.bytes_max is None else policy.bytes_max,
            self.age_max_s if policy.age_max_s is None else policy.age_max_s,
            self.overflow if policy.overflow is None else policy.overflow,
            self.acknowledge_s if policy.acknowledge_s is None else policy.acknowledge_s,
            self.attempts_max if policy.attempts_max is None else policy.attempts_max,
            self.dead_letter if policy.dead_letter is None else policy.dead_letter,
        )
        shortest = min(found.age_max_s or DURABLE_SECONDS_MIN, found.acknowledge_s)
        if shortest < DURABLE_SECONDS_MIN:
            raise InputError(
                f"a mailbox cannot wait for {shortest} s; the limit DURABLE_SECONDS_MIN is "
                f"{DURABLE_SECONDS_MIN} s"
            )
        if found.dead_letter and not found.attempts_max:
            raise InputError(
                f"nothing would ever go to {found.dead_letter!r}: say how often a publication is "
                "delivered at most as well"
            )
        return found

    def policy(self) -> Policy:
        """The bounds as a complete policy, as it travels."""
        return Policy(
            self.count_max,
            self.bytes_max,
            self.age_max_s,
            self.overflow,
            self.acknowledge_s,
            self.attempts_max,
            self.dead_letter,
        )
