"""The inputs and effects of a router, in the debug log of a broker.

A line for each input and effect, whose event is the name of its class in words::

   {"event": "client subscribe", "client": "c1", "subscription": "s1", "filter": "a > 1", ...}
   {"event": "send", "neighbor": "r2", "message": "Subscribe", "key": "...", ...}

Filters and ids are in it, contents of publications never.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from dataclasses import fields
from typing import Final

from sapwood.broker.logs import Log
from sapwood.language.interests import Interests
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.publication import Publication
from sapwood.routing.effects import (
    Accepted,
    AcceptedMany,
    DeliverMany,
    Effect,
    Remaining,
    Send,
    SendMany,
)
from sapwood.routing.inputs import ClientPublishMany, Input, ReceiveMany
from sapwood.routing.messages import Message, carried

SHOWN_MAX: Final = 8
"""Members of a sequence that are spelled out; the others are counted."""

_WORD_START: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


class DebugLog:
    """Logs inputs and effects of one router."""

    def __init__(self, log: Log) -> None:
        self._log = log

    @classmethod
    def of(cls, log: Log) -> DebugLog | None:
        """A debug log on `log`; `None` where that does not log such lines."""
        return cls(log) if log.is_enabled_for(logging.DEBUG) else None

    def handled(self, request: Input, effects: Iterable[Effect]) -> None:
        """Log an input and its effects, those of batches one by one."""
        if isinstance(request, ClientPublishMany):
            self._write_all(request.requests())
        elif isinstance(request, ReceiveMany):
            self._write_all(request.messages())
        else:
            self._write_all((request,))
        for effect in effects:
            self._write_all(_single(effect))

    def _write_all(self, those: Iterable[Input | Effect]) -> None:
        for one in those:
            members: dict[str, object] = {}
            for name in (field.name for field in fields(one) if field.compare):
                value = getattr(one, name)
                members |= _of_message(value) if name == "message" else {name: _shown(value)}
            self._log.debug(_WORD_START.sub(" ", type(one).__name__).lower(), **members)


def _single(effect: Effect) -> Iterable[Effect]:
    """The single effects of an effect of a batch."""
    if isinstance(effect, DeliverMany):
        return effect.each()
    if isinstance(effect, SendMany):
        return (Send(effect.neighbor, message) for message in effect.publications.messages())
    if isinstance(effect, AcceptedMany):
        return (Accepted(effect.client, one.id) for one in effect.publications)
    return () if isinstance(effect, Remaining) else (effect,)  # it is handed in, and logged then


def _of_message(message: Message) -> dict[str, object]:
    """The name of a message and its members, without its envelopes."""
    inner = carried(message)
    members = {name: _shown(getattr(inner, name)) for name in inner.__struct_fields__}
    return {"message": type(inner).__name__, **members}


def _shown(value: object) -> object:
    """A member of an input, effect or message, without the content of publications."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Publication):
        return value.id
    if isinstance(value, AdvertisedContent):
        return str(value)
    if isinstance(value, Interests):
        return f"{len(value):,} filters"
    if isinstance(value, tuple | list):
        shown = [_shown(member) for member in value[:SHOWN_MAX]]
        more = len(value) - len(shown)
        return [*shown, f"and {more:,} more"] if more else shown
    return type(value).__name__
