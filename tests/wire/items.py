"""What a decoder gives, where there are no runs in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sapwood.routing.messages import PublishMany
from sapwood.wire.greetings import Greeting
from sapwood.wire.messages import Message
from sapwood.wire.runs import RequestRun, Run


def one_by_one(items: Iterable[Greeting | Message | Run]) -> Iterator[Greeting | Message]:
    """What was read by an end that looks for no runs: messages, each when it is asked for."""
    for item in items:
        assert not isinstance(item, RequestRun | PublishMany), "nobody looked for runs"
        yield item
