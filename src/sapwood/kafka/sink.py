"""From a durable subscription to a Kafka topic: acknowledged when all replicas have the record.

A sink that is killed between the two writes a record again: consumers of the topic recognize it by
the header `sapwood-id`. The producer itself repeats no record (idempotence), whatever it sends
again.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from sapwood.client.durable import DurableDelivery, DurableSubscription
from sapwood.kafka.contents import record_of
from sapwood.kafka.library import WAIT_S, Producer, lost

_BUSY_S: Final = 0.01
"""Seconds between two attempts while the producer's queue is full."""


class Sink:
    """Writes the deliveries of a durable subscription into a topic, until `count` are done."""

    def __init__(
        self,
        producer: Producer,
        subscription: DurableSubscription,
        topic: str,
        key: str | None,
        *,
        count: int | None = None,
    ) -> None:
        self.written = 0
        self._producer = producer
        self._subscription = subscription
        self._topic = topic
        self._key = key
        self._count = count
        self._failed: Any = None

    async def run(self) -> int:
        """Take, write, acknowledge; return the number of records. Raises `ConnectionLostError`."""
        batches = self._subscription.batches()
        async for batch in batches:
            left = len(batch) if self._count is None else self._count - self.written
            taken = [one for one in batch[:left] if isinstance(one, DurableDelivery)]
            await self._write(taken)
            self.written += len(taken)
            if self._count is not None and self.written >= self._count:
                break
        await self._subscription.settled()
        return self.written

    async def _write(self, deliveries: list[DurableDelivery]) -> None:
        """Write deliveries, and acknowledge them when the last one of them is written."""
        for delivery in deliveries:
            await self._produce(delivery)
        while await asyncio.to_thread(self._producer.flush, WAIT_S):
            self._check()
        self._check()
        for delivery in deliveries:
            delivery.acknowledge()

    async def _produce(self, delivery: DurableDelivery) -> None:
        record = record_of(delivery, self._key)
        while True:
            try:
                self._producer.produce(
                    self._topic,
                    record.value,
                    record.key,
                    headers=list(record.headers),
                    on_delivery=self._told,
                )
            except BufferError:  # its queue is full
                self._producer.poll(0)
                self._check()
                await asyncio.sleep(_BUSY_S)
            else:
                return

    def _told(self, error: Any, _: Any) -> None:
        if error is not None and self._failed is None:
            self._failed = error

    def _check(self) -> None:
        if self._failed is not None:
            raise lost(self._failed)
