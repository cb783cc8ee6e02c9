"""A durable subscription that moves to another home broker, seen as one sequence.

::

   old home                               new home
   consumed                               made: in force, and gathers
   barrier: publications under way arrive     |
   consumed up to the barrier                 |
   removed                                consumed, without those that the old home had as well

A publication accepted before the new subscription was in force reaches the old home before the
barrier returns: an advertisement is confirmed by every router, over links that keep the order, so
its confirmation arrives behind all publications under way. Later ones reach the new home.
Publications that reach both have, at the old home, a number after the last one before the new
subscription was made and up to the last one at the barrier; they are known by their ids.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine
from typing import TYPE_CHECKING, Final, TypeAlias

from sapwood.client.durable import DurableDelivery, DurableSubscription
from sapwood.errors import InputError, SapwoodError
from sapwood.language.xpath import parse_xpath
from sapwood.limits.durable import DURABLE_WINDOW_MAX

if TYPE_CHECKING:
    from sapwood.client.client import Client

Make: TypeAlias = Callable[..., Awaitable[DurableSubscription]]
"""Makes the durable subscription at its new home: takes a filter, and bounds by their names."""

_LOOK_S: Final = 0.02
"""Seconds between two checks whether all publications at the old home are acknowledged."""

_BARRIER: Final = "/sapwood-barrier"
"""The path of no document: advertised so that its confirmation passes every router."""


class MovedSubscription(DurableSubscription):
    """A consumer of the publications left at the old home, then of those at the new one.

    The old home's subscription is removed when all its publications are acknowledged.
    """

    def __init__(self, old: DurableSubscription, new: DurableSubscription) -> None:
        super().__init__(new.id, new.name, new.filter, 2 * DURABLE_WINDOW_MAX, new.owner)
        self.generation = new.generation
        self.filter_text = new.filter_text
        self._old = old
        self._new = new

    def acknowledge(self, delivery: DurableDelivery) -> None:
        """Acknowledge a delivery; as `delivery.acknowledge()`."""
        self._of(delivery).acknowledge(delivery)

    def acknowledge_through(self, delivery: DurableDelivery, without: Collection[int] = ()) -> None:
        """Acknowledge all deliveries of its home up to this one that were taken."""
        waiting = {
            one.number
            for one in self._waiting
            if isinstance(one, DurableDelivery) and one.generation == delivery.generation
        }
        self._of(delivery).acknowledge_through(delivery, waiting | set(without))

    async def settled(self) -> None:
        """Return when the brokers have stored all acknowledgements made so far."""
        await self._old.settled()
        await self._new.settled()

    def _of(self, delivery: DurableDelivery) -> DurableSubscription:
        return self._old if delivery.generation == self._old.generation else self._new

    async def run(self, old_home: Client, first: int, last: int) -> None:
        """Pass on the deliveries of both homes, and those that both have once.

        The latter are among the numbers of the old home after `first`, up to `last`. Ends with the
        new home's subscription.
        """
        error: Exception | None = None
        try:
            both = await self._hand_out_old(old_home, first, last)
            async for delivery in self._new:
                assert isinstance(delivery, DurableDelivery), "it comes out of a mailbox"
                if delivery.id in both:
                    both.discard(delivery.id)
                    self._new.acknowledge(delivery)
                else:
                    self._hand_out(delivery)
        except SapwoodError as caught:
            error = caught
        finally:
            await old_home.close()
            self.end(error)

    async def _hand_out_old(self, old_home: Client, first: int, last: int) -> set[str]:
        """Pass on the deliveries left at the old home; return the ids that may come again."""
        both: set[str] = set()
        while not self._new.ended:
            for delivery in await _there(self._old):
                if first < delivery.number <= last:
                    both.add(delivery.id)
                if delivery.number <= last:
                    self._hand_out(delivery)
            state = await old_home.durable(self.name)
            if not state.waiting or state.first > last:
                await old_home.remove_durable(self.name)
                break
            await asyncio.sleep(_LOOK_S)
        return both

    def _hand_out(self, delivery: DurableDelivery) -> None:
        delivery.acknowledged_by(self.acknowledge)
        self.put(delivery)


async def _there(subscription: DurableSubscription) -> list[DurableDelivery]:
    """The deliveries that wait, without waiting for one."""
    if not len(subscription):
        return []
    taken = await subscription.take(len(subscription))
    return [one for one in taken if isinstance(one, DurableDelivery)]


async def moved(
    name: str, window: int | None, old_home: Client, make: Make, *, is_new: bool
) -> tuple[MovedSubscription, Coroutine[None, None, None]]:
    """A consumer of a durable subscription that moves here, and the coroutine of its deliveries.

    `old_home` is a client of the broker that it moves from, and `make` makes it here, where it
    `is_new` unless an earlier move was interrupted. Raises `InputError` where others consume it
    there.
    """
    before = await old_home.durable(name)
    if before.consumers:
        others = ", ".join(before.consumers)
        raise InputError(
            f"the durable subscription {name!r} cannot move while others consume it: end {others}"
        )
    old = await old_home.subscribe(durable=name, window=window)
    first = (await old_home.durable(name)).last if is_new else 0
    policy = before.policy
    new = await make(
        old.filter,
        max_count=policy.count_max,
        max_bytes=policy.bytes_max,
        max_age=policy.age_max_s,
        overflow=policy.overflow,
        acknowledge_within=policy.acknowledge_s,
        max_attempts=policy.attempts_max,
        dead_letter=policy.dead_letter,
    )
    await old_home.unadvertise(await old_home.advertise(parse_xpath(_BARRIER)))
    last = (await old_home.durable(name)).last
    subscription = MovedSubscription(old, new)
    return subscription, subscription.run(old_home, first, last)
