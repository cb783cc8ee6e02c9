"""The items of a decoder, where there are no runs among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sapwood.routing.messages import PublishMany
from sapwood.wire.greetings import Greeting
from sapwood.wire.messages import Message
from sapwood.wire.runs import RequestRun, Run


def one_by_one(items: Iterable[Greeting | Message | Run]) -> Iterator[Greeting | Message]:
    """The messages read by an end that looks for no runs, each when the caller takes it."""
    for item in items:
        assert not isinstance(item, RequestRun | PublishMany), "nobody looked for runs"
        yield item
