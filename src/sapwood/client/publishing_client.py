"""The methods of a client that publish."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Iterable
from datetime import timedelta
from itertools import starmap

from sapwood.client.columns import Table, encoded_rows
from sapwood.client.publishing import Content, Prepared, PublishBatch, Published, Publisher
from sapwood.model.envelope import enveloped


class PublishingClient:
    """The publishing half of `Client`, and of no other class.

    `_check_usable` raises where the client is not connected (any more).
    """

    _publisher: Publisher

    def _check_usable(self) -> None:
        raise NotImplementedError

    async def publish(
        self,
        content: Content,
        id: str | None = None,
        *,
        payload: bytes | None = None,
        blind: bool = False,
        ttl: float | timedelta | None = None,
        traceparent: str | None = None,
        tracestate: str | None = None,
    ) -> str:
        """Publish a record or a document; returns the id when the broker has accepted it.

        A `payload` is for subscribers alone: no broker reads it. With `blind` the content stays at
        the client's own broker, which finds the receivers of the payload; other brokers cannot read
        the content (`docs/forwarding.md` has what they see, and the protocols for it).

        With a `ttl` (time to live), in seconds, it is not delivered later than that, as far as ages
        are known (`docs/time.md`): on its way, in mailboxes, in the queues of subscriptions. A
        `traceparent` (W3C Trace Context) names the span that it belongs to: brokers with `--traces`
        add theirs. A `tracestate` goes with it to subscribers.

        A publication with both a record and a document is published as a `Publication`. Raises
        `InvalidValueError` or `LimitError` for attributes that cannot be published, and
        `InputError` with the broker's reason where it refuses, for instance a document that is not
        well-formed.
        """
        self._check_usable()
        if payload is not None or blind:
            content = self._publisher.with_payload(content, id, payload, is_blind=blind)
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        envelope = enveloped(ttl, traceparent, tracestate)
        publication_id = await self._publisher.put(content, id, answer, envelope)
        await answer
        return publication_id

    async def publish_many(
        self,
        publications: Iterable[Content] | AsyncIterable[Content],
        *,
        ttl: float | timedelta | None = None,
    ) -> Published:
        """Publish one after the other without waiting for each; returns when all are answered.

        With a `ttl`, each has that time to live, as in `publish`.

        Records and documents get new ids. At most `limits.UNACKNOWLEDGED_MAX` are under way at a
        time. Raises like `publish` for attributes that cannot be published, those before being
        published; the result lists the publications that the broker refused.
        """
        batch = self.batch(ttl=ttl)
        if isinstance(publications, AsyncIterable):
            async for one in publications:
                await batch.publish((one,))
        else:
            await batch.publish(publications)
        return await batch.finish()

    async def publish_table(self, table: Table, *, id: str | None = None) -> Published:
        """Publish each row of a table as a record; returns when all are answered.

        `table` is one of Arrow, a DataFrame, a structured array of NumPy, or columns by name. The
        publications have new ids, or those of the column `id`, which is no attribute then. A null
        is an attribute that is absent. Columns are not made into a `dict` for each row, so this is
        faster than `publish_many`. Raises `InvalidValueError` for a value that no record may hold,
        with its column and row, the rows well before it being published.
        """
        self._check_usable()
        publisher = self._publisher
        batch = self.batch()
        rows = encoded_rows(table, id, publisher.new_id, publisher.frame_bytes_max)
        await batch.publish_prepared(starmap(Prepared, rows))
        return await batch.finish()

    def batch(self, *, ttl: float | timedelta | None = None) -> PublishBatch:
        """An open batch of publications, on which `publish_many` is built."""
        envelope = enveloped(ttl)
        return PublishBatch(self._publisher, self._check_usable, self.flush, envelope)

    async def flush(self) -> None:
        """Return when all publications so far are answered."""
        self._check_usable()
        self._publisher.flush()
        await self._publisher.answers.all_answered()
