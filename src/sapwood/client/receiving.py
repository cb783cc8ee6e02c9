"""What a client receives, handed to those who iterate."""

from __future__ import annotations

import logging
from typing import Final

from sapwood.client.requests import Requests
from sapwood.client.subscription import ClientSubscription, Deliveries
from sapwood.session.client_session import Delivery
from sapwood.wire.interests import InterestText

_LOG: Final = logging.getLogger("sapwood.client")


class Receiving:
    """The iterators of one client: that of each subscription, and the one over all of them."""

    def __init__(self, subscriptions: Requests[InterestText, ClientSubscription]) -> None:
        self._subscriptions = subscriptions
        self._merged: Deliveries | None = None

    def merged(self, waiting_max: int) -> Deliveries:
        """The iterator over all subscriptions, which get nothing themselves from now on."""
        if self._merged is None or self._merged.ended:
            self._merged = Deliveries("for all subscriptions", waiting_max)
        return self._merged

    def delivered(self, delivery: Delivery) -> None:
        """Something has arrived; a subscription that it is too much for is withdrawn."""
        if self._merged is not None:
            self._merged.put(delivery)
            return
        for name in delivery.subscriptions:
            subscription = self._subscriptions.get(name)
            if subscription is not None and not subscription.put(delivery):
                _LOG.warning("subscription %r ended: too many deliveries wait", name)
                self._subscriptions.withdraw(name)

    def end(self, error: Exception | None) -> None:
        """Nothing more will arrive: all iterators end, with the error if there is one."""
        for queue in (*self._subscriptions, self._merged):
            if queue is not None:
                queue.end(error)
