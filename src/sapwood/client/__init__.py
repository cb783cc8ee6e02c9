"""Clients of a broker: `connect` for asyncio, `sapwood.client.blocking.connect` without."""

from sapwood.client import blocking
from sapwood.client.client import Client, connect
from sapwood.client.durable import DurableDelivery, DurableSubscription
from sapwood.client.groups import SubscriptionGroup
from sapwood.client.publishing import PublishBatch, Published, RefusedPublication
from sapwood.client.subscription import ClientSubscription, Deliveries
from sapwood.client.typed import (
    TypedDelivery,
    TypedDurableDelivery,
    TypedDurableSubscription,
    TypedSubscription,
)
from sapwood.session.delivery import Delivery

__all__ = (
    "Client",
    "ClientSubscription",
    "Deliveries",
    "Delivery",
    "DurableDelivery",
    "DurableSubscription",
    "PublishBatch",
    "Published",
    "RefusedPublication",
    "SubscriptionGroup",
    "TypedDelivery",
    "TypedDurableDelivery",
    "TypedDurableSubscription",
    "TypedSubscription",
    "blocking",
    "connect",
)
