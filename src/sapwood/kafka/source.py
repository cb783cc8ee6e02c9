"""From Kafka topics to a broker: each record a publication, its offset committed afterwards.

Records of one read are published together; when the broker has accepted them, and refused ones are
set aside, the offsets behind them are committed. A bridge that is killed in between publishes them
again, under the same ids and as the same publisher, and a broker with a store publishes each id
once (docs/durability.md). Without a store they may come twice.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, Final

from sapwood.client.client import Client
from sapwood.errors import InputError
from sapwood.files import KeptRejections
from sapwood.kafka.contents import Consumed, publication_of
from sapwood.kafka.library import WAIT_S, Consumer, is_end, lost, partition
from sapwood.model.publication import Publication

RECORDS_AT_ONCE: Final = 1000
"""The most records between two commits; as many may be published again after a crash."""


@dataclass(slots=True)
class Moved:
    """The progress of a source: `published` records were accepted, `rejected` ones set aside."""

    published: int = 0
    rejected: int = 0

    @property
    def done(self) -> int:
        """The number of records that are done."""
        return self.published + self.rejected


@dataclass(slots=True)
class _Read:
    """Records of one read, and the offsets behind them."""

    records: list[Consumed] = field(default_factory=list)
    ends: set[tuple[str, int]] = field(default_factory=set)


class Source:
    """Publishes the records that a consumer reads, until `count` are done, or without end.

    With `is_drained`, it ends at the end of all the partitions that it reads.
    """

    def __init__(
        self,
        consumer: Consumer,
        client: Client,
        rejections: KeptRejections,
        form: str,
        *,
        count: int | None = None,
        is_drained: bool = False,
    ) -> None:
        self.moved = Moved()
        self._consumer = consumer
        self._client = client
        self._rejections = rejections
        self._form = form
        self._count = count
        self._is_drained = is_drained
        self._ended: set[tuple[str, int]] = set()
        self._assigned: set[tuple[str, int]] = set()

    async def run(self, topics: list[str]) -> Moved:
        """Read, publish, commit. Raises `ConnectionLostError` where one of the two ends is lost."""
        consumer = self._consumer
        consumer.subscribe(topics, on_assign=self._on_assign, on_revoke=self._on_revoke)
        while not self._is_done():
            read = await asyncio.to_thread(self._consume)
            if read.records:
                await self._publish(read.records)
                self._rejections.keep()
                await asyncio.to_thread(self._commit, read.records)
            self._ended |= read.ends
        return self.moved

    def _on_assign(self, _: Any, partitions: list[Any]) -> None:
        self._assigned |= {(one.topic, one.partition) for one in partitions}

    def _on_revoke(self, _: Any, partitions: list[Any]) -> None:
        # Called between two reads, when all records read from them are committed.
        for one in partitions:
            self._assigned.discard((one.topic, one.partition))
            self._ended.discard((one.topic, one.partition))

    def _is_done(self) -> bool:
        if self._count is not None and self.moved.done >= self._count:
            return True
        return self._is_drained and bool(self._assigned) and self._assigned <= self._ended

    def _consume(self) -> _Read:
        """Wait for records; other messages are the ends of partitions, or raised as errors."""
        most = RECORDS_AT_ONCE
        if self._count is not None:
            most = min(most, self._count - self.moved.done)
        read = _Read()
        for message in self._consumer.consume(most, WAIT_S):
            error = message.error()
            if error is None:
                read.records.append(_consumed(message))
            elif is_end(error):
                read.ends.add((message.topic(), message.partition()))
            else:
                raise lost(error)
        return read

    async def _publish(self, records: list[Consumed]) -> None:
        made: dict[str, Consumed] = {}
        publications: list[Publication] = []
        for record in records:
            try:
                publications.append(publication_of(record, self._form))
            except InputError as error:
                self._reject(record, str(error))
            else:
                made[record.id] = record
        result = await self._client.publish_many(publications)
        for one in result.refused:
            self._reject(made[one.id], one.reason)
        self.moved.published += len(publications) - len(result.refused)

    def _reject(self, record: Consumed, reason: str) -> None:
        """Set a record aside, under topic and partition, with its offset as the line."""
        self.moved.rejected += 1
        text = (record.value or b"").decode("utf-8", "backslashreplace")
        self._rejections.reject(f"{record.topic}-{record.partition}", record.offset, reason, text)

    def _commit(self, records: list[Consumed]) -> None:
        following: dict[tuple[str, int], int] = {}
        for record in records:
            following[record.topic, record.partition] = record.offset + 1
        offsets = [partition(topic, number, at) for (topic, number), at in following.items()]
        self._consumer.commit(offsets=offsets, asynchronous=False)


def _consumed(message: Any) -> Consumed:
    kind, timestamp_ms = message.timestamp()
    return Consumed(
        message.topic(),
        message.partition(),
        message.offset(),
        message.key(),
        message.value(),
        message.headers() or (),
        timestamp_ms if kind else None,
    )
