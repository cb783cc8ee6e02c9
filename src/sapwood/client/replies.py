"""Requests and replies as publications, which attributes connect.

::

   the request   {"op": "quote", "symbol": "SAP", "request": {"from": INBOX, "number": 7}}
   its reply     {"price": 120, "reply": {"to": INBOX, "number": 7}}

A client has one inbox, a unique text, and one subscription, `reply.to = 'INBOX'`, made with its
first request. Brokers need not know of requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from sapwood.client.subscription import ClientSubscription
from sapwood.errors import ConnectionLostError, InputError, InvalidValueError
from sapwood.language import parse_filter
from sapwood.model.printing import print_value
from sapwood.session.delivery import Delivery

REQUEST: Final = "request"
REPLY: Final = "reply"


class Inbox(ClientSubscription):
    """The subscription to all replies of one client: each goes to the request that waits for it.

    Replies after the first one to a request are dropped, and so are those without a waiting
    request.
    """

    def __init__(self, id: str, name: str) -> None:
        super().__init__(id, parse_filter(f"{REPLY}.to = {print_value(name)}"), 1)
        self._name = name
        self._asked: dict[int, asyncio.Future[Delivery]] = {}
        self._number = 0

    def asking(self, record: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """The record of a request, and its number. Raises `InputError` for an unfit record."""
        _check(record, REQUEST)
        self._number += 1
        return self._number, {**record, REQUEST: {"from": self._name, "number": self._number}}

    async def reply_to(self, number: int) -> Delivery:
        """The first reply to the request of this number; raises the error that ends the client."""
        reply = self._asked[number]
        return await reply

    def expect(self, number: int) -> None:
        """Register the request of this number, before it is sent."""
        self._asked[number] = asyncio.get_running_loop().create_future()

    def forget(self, number: int) -> None:
        """Forget a request, for whose reply no call waits any more."""
        self._asked.pop(number, None)

    def put(self, delivery: Delivery) -> bool:
        """Pass a reply to the call that waits for it."""
        reply = delivery.attributes.get(REPLY)
        number = reply.get("number") if isinstance(reply, Mapping) else None
        waiting = self._asked.get(number) if isinstance(number, int) else None
        if waiting is not None and not waiting.done():
            waiting.set_result(delivery)
        return True

    def end(self, error: Exception | None = None) -> None:
        """Fail the calls that wait: no reply will come any more."""
        super().end(error)
        for waiting in self._asked.values():
            if not waiting.done():
                waiting.set_exception(error or ConnectionLostError("the client was closed"))
                waiting.exception()  # the future's error counts as retrieved


def answering(request: Delivery, record: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a reply to a delivery. Raises `InputError` if that is no request."""
    asked = request.attributes.get(REQUEST)
    if not isinstance(asked, Mapping) or not {"from", "number"} <= asked.keys():
        raise InputError(
            f"publication {request.id!r} asks for no reply: it has no request.from and "
            "request.number, which `request` gives it"
        )
    _check(record, REPLY)
    return {**record, REPLY: {"to": asked["from"], "number": asked["number"]}}


def time_left(request: Delivery) -> float | None:
    """The time in seconds for which a requester still waits; `None` where that is not known."""
    ttl, age = request.ttl, request.age_bound
    return None if ttl is None or age is None else max(0.001, ttl - age)


def _check(record: Mapping[str, Any], taken: str) -> None:
    if not isinstance(record, Mapping):
        kind = type(record).__name__
        raise InputError(f"requests and replies are records, not {kind}; send bytes as payload")
    for name in record:
        if name == taken or str(name).startswith(f"{taken}."):
            raise InvalidValueError(str(name), f"{taken!r} says what replies to what; rename it")
