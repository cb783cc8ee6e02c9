"""The requests of a router's clients, as the inputs that make them again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from sapwood.limits import SUBSCRIPTIONS_AT_ONCE_MAX
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.routing.inputs import (
    AttachClient,
    ClientAdvertise,
    ClientInput,
    ClientSubscribe,
    ClientSubscribeMany,
)


def statements_of(
    client: str,
    promised: Iterable[tuple[str, AdvertisedContent]],
    wanted: Iterable[tuple[str, Interest]],
) -> Iterator[ClientInput]:
    """Attach a client, then advertise and subscribe again under its ids."""
    yield AttachClient(client)
    for id_, content in promised:
        yield ClientAdvertise(client, id_, content)
    rest = iter(wanted)
    while some := tuple(islice(rest, SUBSCRIPTIONS_AT_ONCE_MAX)):
        if len(some) == 1:  # a durable subscription's owner expects the answer of a single one
            yield ClientSubscribe(client, *some[0])
        else:
            yield ClientSubscribeMany(client, some)
