"""The tree optimizer as a client: reads filters, and subscribes to trees (`routing/.../prefix`)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from sapwood.asking.asker import Asker
from sapwood.client.client import Client
from sapwood.errors import FrameError
from sapwood.language import parse_filter
from sapwood.model.filter import Filter
from sapwood.model.packing import checked
from sapwood.routing.forwarding.prefix.optimizer import Optimizer, Update
from sapwood.session.settings import ConnectionSettings
from sapwood.wire.messages import FiltersReply, FiltersRequest


class FilterReader(Asker):
    """One connection that requests all filters of a broker; a context manager that closes it.

    Raises `ConnectionLostError` where there is no broker, or none any more.
    """

    def filters(self) -> list[Filter]:
        """The filters of records that the broker knows, each once."""
        found: dict[Filter, None] = {}
        following: int | None = 0
        while following is not None:
            self._connection.send(FiltersRequest(following))
            reply = self._answer()
            if not isinstance(reply, FiltersReply):
                raise FrameError(f"{self._address} answers by {type(reply).__name__}")
            found.update((Filter.of_packed(checked(one)), None) for one in reply.packed)
            found.update((parse_filter(one), None) for one in reply.texts)
            following = reply.following
        return [*found]


async def keep_tree(
    client: Client,
    address: str,
    optimizer: Optimizer,
    *,
    every_s: float,
    told: Callable[[Update], None],
    rounds: int | None = None,
    settings: ConnectionSettings | None = None,
) -> None:
    """Request the broker's filters again and again, and subscribe a client to their trees.

    `told` is called with each version when it is in force; older ones are withdrawn then. It ends
    after `rounds` requests, or never. Raises what `FilterReader` and `Client.subscribe` raise.
    """
    asked = 0
    while rounds is None or asked < rounds:
        if asked:
            await asyncio.sleep(every_s)
        asked += 1
        optimizer.hear(await asyncio.to_thread(_heard, address, settings))
        update = await asyncio.to_thread(optimizer.update)
        if update is not None:
            for id_, part in update.subscriptions:
                await client.subscribe(part, id=id_)
            told(update)
            for id_ in update.withdrawn:
                await client.unsubscribe(id_)


def _heard(address: str, settings: ConnectionSettings | None) -> list[Filter]:
    with FilterReader(address, settings) as reader:
        return reader.filters()
