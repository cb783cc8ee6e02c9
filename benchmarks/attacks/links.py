"""Attacks of brokers: links that are not read, and very many subscriptions at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from peer import Peer, frame, publish, subscribe, subscribe_many

from sapwood import parse_filter
from sapwood.limits import FRAME_BYTES_MAX
from sapwood.routing.messages import SubscribeMany
from sapwood.wire.codec import append_routing

LINK_ESTABLISHED, SUBSCRIBE, SUBSCRIBE_MANY = 30, 31, 52
"""The tags of messages."""

MANY = 100_000
AT_ONCE = 256
STALLED_S = 4.0


class Neighbor(Peer):
    """A broker at the other end of a link."""

    def __init__(self, host: str, port: int, name: str) -> None:
        super().__init__(host, port, name, role="broker")
        self.send(frame(LINK_ESTABLISHED))

    def subscribe(self, filters: Iterator[str]) -> None:
        """Say that the broker has subscriptions, and read what is said meanwhile."""
        some: list[str] = []
        number = 0
        for text in filters:
            some.append(text)
            if len(some) == AT_ONCE:
                number = self._say(some, number)
                some = []
        if some:
            self._say(some, number)

    def _say(self, texts: list[str], number: int) -> int:
        data = bytearray()
        keys = tuple(f"{self.name}.{number + at}" for at in range(len(texts)))
        message = SubscribeMany(keys, tuple(map(parse_filter, texts)), 1)
        append_routing(data, message, FRAME_BYTES_MAX)
        self.send(bytes(data))
        self.discard()
        return number + len(texts)


def not_read(host: str, port: int) -> None:
    """A link takes what concerns it and is never read, while publishers fill it.

    They have to wait, for the broker has no room for what they publish; nobody else has.
    """
    peers = [Peer(host, port, f"stalled-{n}") for n in range(8)]
    with Neighbor(host, port, "deaf") as neighbor:
        neighbor.subscribe(iter(["stalled = 1"]))
        peers[0].settle()
        threads = [threading.Thread(target=_fill, args=(peer,), daemon=True) for peer in peers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for peer in peers:
        peer.close()


def _fill(peer: Peer) -> None:
    """Publish ten megabytes, or until nobody takes them for a while."""
    peer.socket.settimeout(STALLED_S)
    try:
        for number in range(1, 5001):
            peer.send(publish(number, {"stalled": 1, "fill": "x" * 2000}))
            if not number % 100:
                peer.discard()
                peer.socket.settimeout(STALLED_S)
    except OSError:
        pass


def joins(host: str, port: int) -> None:
    """A broker comes up and brings 100,000 subscriptions."""
    with Neighbor(host, port, "large") as neighbor:
        neighbor.subscribe(f"a = {n} and b > {n % 97}" for n in range(MANY))
        neighbor.settle()


def is_told(host: str, port: int) -> None:
    """A broker comes up and is told of 100,000 subscriptions."""
    with Peer(host, port, "subscriber") as peer:
        for start in range(0, MANY, 4096):
            numbers = range(start, min(start + 4096, MANY))
            peer.send(subscribe_many({f"s{n}": f"a = {n} and b > {n % 97}" for n in numbers}))
            peer.answer()
        with Neighbor(host, port, "new") as neighbor:
            told = 0
            while told < MANY:
                tag, *rest = neighbor.answer()
                told += 1 if tag == SUBSCRIBE else len(rest[0]) if tag == SUBSCRIBE_MANY else 0


def leaves(host: str, port: int) -> None:
    """A link goes with 100,000 subscriptions, and comes back with them."""
    for _ in range(2):
        joins(host, port)


def one_after_the_other(host: str, port: int) -> None:
    """20,000 subscriptions with a confirmation each, and as many withdrawals, without waiting."""
    with Peer(host, port, "busy") as peer:
        for start in range(0, 20_000, 1000):
            numbers = range(start, start + 1000)
            peer.send(b"".join(subscribe(f"s{n}", f"a = {n}") for n in numbers))
            peer.answers(1000)


LINKS: dict[str, Callable[[str, int], None]] = {
    "a link that is never read, and eight who fill it": not_read,
    "a broker joins with 100,000 subscriptions": joins,
    "a broker joins that is told of 100,000": is_told,
    "a link goes with 100,000 subscriptions and comes back": leaves,
    "20,000 subscriptions one after another": one_after_the_other,
}
"""The attacks by name."""

KEEPS = dict.fromkeys(list(LINKS)[1:4], MANY) | {
    "a broker joins that is told of 100,000": 2 * MANY,  # a client's, and what the link was told
    "20,000 subscriptions one after another": 20_000,
    "20,000 equal subscriptions with long ids, 200 publications at once": 30_000,  # by their ids
    "20,000 subscriptions that all match everything": 20_000,
    "100,000 nested subscriptions withdrawn from the newest": MANY,
    "a client leaves with 100,000 nested subscriptions": MANY,
}
"""The number of subscriptions that the broker has to keep: their memory is none of the attack's."""
