"""Many subscriptions of a client that are requested, iterated and withdrawn together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

from sapwood.client.requests import GroupRequest
from sapwood.client.subscription import Deliveries
from sapwood.errors import InputError
from sapwood.language.written import Written, given_interest, read_interest
from sapwood.limits import FILTER_TEXT_CHARS_MAX
from sapwood.model.interest import Interest
from sapwood.wire.interests import InterestText, XPathText, to_text
from sapwood.wire.names import check_id

Wanted: TypeAlias = str | Interest | Written
"""A filter, given as such, as the text of a record filter, or as a text of either language."""

Items: TypeAlias = Iterable[Wanted] | Iterable[tuple[str, Wanted]] | Mapping[str, Wanted]
"""Filters, with their ids or without."""


class SubscriptionGroup(Deliveries):
    """Subscriptions that were requested together, and the iterator over their deliveries.

    A publication comes once, however many of them it matches.
    """

    def __init__(self, waiting_max: int) -> None:
        super().__init__("for a group of subscriptions", waiting_max)
        confirmed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.request: GroupRequest[Deliveries] = GroupRequest(self, confirmed)

    def __repr__(self) -> str:
        return f"SubscriptionGroup({len(self.ids)} subscriptions)"

    @property
    def ids(self) -> Collection[str]:
        """The ids of its subscriptions: those that were requested, not refused, not withdrawn."""
        return self.request.members.keys()

    @property
    def refused(self) -> Mapping[str, str]:
        """The broker's reasons for the refused subscriptions, by their ids."""
        return MappingProxyType(self.request.reasons)


def texts(items: Items, new_id: Callable[[], str]) -> Iterator[tuple[str, InterestText]]:
    """The wire form of each subscription, with its id; `new_id` makes missing ids.

    The text of a record filter travels as it is: the broker parses it, and refuses an invalid one.
    A text that is too long for any broker is refused here. Raises as `given_interest`.
    """
    for item in items.items() if isinstance(items, Mapping) else items:
        if isinstance(item, tuple) and not isinstance(item, Written):
            if len(item) != 2:
                raise InputError(f"a subscription is a filter, or an id and a filter, not {item!r}")
            yield check_id("subscription", item[0]), _text(item[1])
        else:
            yield new_id(), _text(item)


def _text(wanted: Wanted) -> InterestText:
    if isinstance(wanted, Written):
        if wanted.language == "filter" and wanted.dialect is None:
            return _text(wanted.text)
        if wanted.language == "xpath" and len(wanted.text) <= FILTER_TEXT_CHARS_MAX:
            return XPathText(wanted.text, wanted.bindings)
        return to_text(read_interest(wanted))
    if isinstance(wanted, str) and len(wanted) <= FILTER_TEXT_CHARS_MAX:
        return wanted
    return to_text(given_interest(wanted))
