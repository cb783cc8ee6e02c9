"""Attacks of clients on each other: names, ids and subscriptions that two of them share.

What they do to the other client is checked here, and said on standard error; pauses and memory are
measured as those of all attacks.
"""

from __future__ import annotations

import sys
import time

import msgspec
from peer import Peer, frame, publish, subscribe, subscribe_many, unsubscribe
from target import KEPT, PLAIN, Attack, Target

DELIVERY, REFUSED_SUBSCRIPTION, UNSUBSCRIBED = 25, 22, 21
MANY = 100_000


def _say(text: str) -> None:
    print(f"  {text}", file=sys.stderr)


def same_ids(target: Target) -> None:
    """Two publishers use the same ids for other records: none may be taken for a repetition."""
    count = 2000
    with (
        target.peer("ids-reader") as reader,
        target.peer("ids-one") as one,
        target.peer("ids-other") as other,
    ):
        reader.send(subscribe("all", "ids = 1"))
        reader.answers(1)
        for number in range(1, count + 1):
            for peer, who in ((one, "one"), (other, "other")):
                body = msgspec.msgpack.encode([f"same-{number}", {"ids": 1, "who": who}, None])
                peer.send(frame(12, number, body))
        one.settle()
        other.settle()
        came = {"one": 0, "other": 0}
        reader.socket.settimeout(2.0)
        try:
            while sum(came.values()) < 2 * count:
                answer = reader.answer()
                if answer[0] == DELIVERY:
                    came[msgspec.msgpack.decode(answer[2])[1]["who"]] += 1
        except OSError:
            pass
    _say(f"of {count} each {came['one']} of one and {came['other']} of the other were delivered")


def others_subscriptions(target: Target) -> None:
    """A client withdraws what another has under the same ids, thousands of times."""
    with target.peer("owner") as owner, target.peer("thief") as thief:
        owner.send(b"".join(subscribe(f"s{n}", f"owned = {n}") for n in range(100)))
        owner.answers(100)
        for _ in range(50):
            thief.send(b"".join(unsubscribe(f"s{n}") for n in range(100)))
        thief.settle()
        thief.send(b"".join(publish(n + 1, {"owned": n}) for n in range(100)))
        came = _deliveries(owner, 100)
    _say(f"of 100 subscriptions {came} were still there")


def takes_the_name(target: Target) -> None:
    """A client connects under the name of another, with its session and without it."""
    owner = target.peer("named", session="first")
    owner.send(subscribe("mine", "named = 1"))
    owner.answers(1)
    refused = 0
    for round_ in range(200):
        try:
            with target.peer("named", session="first" if round_ % 2 else "") as other:
                other.send(unsubscribe("mine"))
                other.settle()
        except OSError:
            refused += 1
    with target.peer("named-publisher") as publisher:
        publisher.send(publish(1, {"named": 1}))
        publisher.settle()
        came = _deliveries(owner, 1)
    owner.close()
    _say(f"200 times another took the name: refused {refused}, the first has {came} delivery")


def _deliveries(peer: Peer, count: int) -> int:
    came = 0
    peer.socket.settimeout(2.0)
    try:
        while came < count:
            came += peer.answer()[0] == DELIVERY
    except OSError:
        pass
    return came


def _nested(peer: Peer) -> None:
    """Subscriptions of which each covers the next one, the widest last."""
    for start in range(0, MANY, 4096):
        numbers = range(start, min(start + 4096, MANY))
        peer.send(subscribe_many({f"s{n}": f"nested < {n + 1}" for n in numbers}))
        peer.settle()


def nested_withdrawn(target: Target) -> None:
    """From the newest on, in requests for many."""
    with target.peer("nested") as peer:
        _nested(peer)
        for start in range(MANY, 0, -4096):
            ids = [f"s{n}" for n in range(start - 1, max(-1, start - 4097), -1)]
            peer.send(frame(17, ids))
            peer.settle()


def nested_leaving(target: Target) -> None:
    """Nested subscriptions leave with their client, which comes back."""
    with target.peer("nested") as peer:
        _nested(peer)
    time.sleep(1.0)
    with target.peer("nested") as peer:
        peer.settle()


SHARED: dict[str, tuple[str, Attack]] = {
    "two clients share 2,000 ids of publications": (PLAIN, same_ids),
    "two clients share 2,000 ids, at a broker with a store": (KEPT, same_ids),
    "a client withdraws another's subscriptions by their ids": (PLAIN, others_subscriptions),
    "a client takes the name of another, 200 times": (PLAIN, takes_the_name),
    "100,000 nested subscriptions withdrawn from the newest": (PLAIN, nested_withdrawn),
    "a client leaves with 100,000 nested subscriptions": (PLAIN, nested_leaving),
}
"""The attacks by name, and the kind of broker."""
