"""The other brokers of the overlay, asked for their state and for explanations.

The requests are those of `sapwood status` and `sapwood explain`, by the same code and with the
credentials of the console's viewer: a broker answers only identities that may read its state.
Requests block, so they are made in threads of the console's own.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from types import TracebackType
from typing import Any, NamedTuple, Self

from sapwood.asking.answers import (
    Answers,
    Asked,
    answers,
    overlay_members,
    subscription_lines,
)
from sapwood.asking.explaining import Explainer, Explaining
from sapwood.asking.overlay import BrokersAsked
from sapwood.asking.status import StatusReader
from sapwood.broker.explaining import explained
from sapwood.broker.http.console.looked import Looked
from sapwood.errors import ConnectionLostError, InputError, SapwoodError
from sapwood.limits.console import (
    CONSOLE_ASK_S,
    CONSOLE_BROKERS_MAX,
    CONSOLE_SILENT_S,
)
from sapwood.session.settings import ConnectionSettings, TlsFiles
from sapwood.wire.explaining import ExplainReply, ExplainRequest
from sapwood.wire.greetings import Credentials
from sapwood.wire.status import StatusReply, status_members


class Seen(NamedTuple):
    """Another broker: its address, and its state, or the reason why that is not known."""

    name: str
    address: str
    status: StatusReply | None
    why: str = ""

    def members(self) -> dict[str, Any]:
        """The broker as a JSON object."""
        status = None if self.status is None else status_members(self.status)
        return {"name": self.name, "address": self.address, "status": status, "why": self.why}


class _Reader(StatusReader, Explainer):
    """One connection for both kinds of requests."""


class Neighborhood:
    """The other brokers, as one viewer can ask them; in one thread at a time.

    #: _readers are connections by address; no address is in both of them and _silent
    """

    def __init__(self, own: str, settings: ConnectionSettings) -> None:
        self._own = own
        self._settings = settings
        self._readers: dict[str, _Reader] = {}
        #: the time at which an address did not answer, and the reason
        self._silent: dict[str, tuple[float, str]] = {}

    def look(self, neighbors: Mapping[str, str]) -> list[Seen]:
        """The brokers that are found from neighbor to neighbor, from these addresses on."""
        found: dict[str, Seen] = {}
        waiting = deque(neighbors.items())
        while waiting and len(found) < CONSOLE_BROKERS_MAX:
            name, address = waiting.popleft()
            if name == self._own or name in found:
                continue
            found[name], others = self._ask(name, address)
            waiting.extend(others.items())
        asked = {one.address for one in found.values()}
        for address in self._readers.keys() - asked:
            self._drop(address)
        return list(found.values())

    def close(self) -> None:
        """Close all connections."""
        for address in list(self._readers):
            self._drop(address)

    def _ask(self, name: str, address: str) -> tuple[Seen, Mapping[str, str]]:
        now = time.monotonic()
        if address in self._silent:
            at, why = self._silent[address]
            if now < at + CONSOLE_SILENT_S:
                return Seen(name, address, None, why), {}
            del self._silent[address]
        try:
            reader = self._readers.get(address)
            if reader is None:
                patience = {"connect_s": CONSOLE_ASK_S, "answer_s": CONSOLE_ASK_S}
                reader = _Reader(address, self._settings, **patience)
                self._readers[address] = reader
            return Seen(name, address, reader.status()), reader.about().addresses
        except SapwoodError as error:
            self._drop(address)
            self._silent[address] = now, str(error)
            return Seen(name, address, None, str(error)), {}

    def _drop(self, address: str) -> None:
        reader = self._readers.pop(address, None)
        if reader is not None:
            reader.__exit__(None, None, None)


class Inside(Explaining):
    """Explanations of the broker itself, for a caller in another thread."""

    def __init__(self, broker: Looked) -> None:
        self._broker = broker
        self._loop = asyncio.get_running_loop()

    def request(self, request: ExplainRequest) -> ExplainReply:
        """The answer to a request; not to be called in the broker's own thread."""
        answer: Future[ExplainReply] = Future()

        def answered() -> None:
            try:
                answer.set_result(explained(request, self._broker))
            except Exception as error:  # noqa: BLE001 - whoever waits gets it
                answer.set_exception(error)

        self._loop.call_soon_threadsafe(answered)
        return answer.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """There is nothing to close."""


def shown_to_others(broker: Looked, credentials: Credentials | None) -> ConnectionSettings:
    """The settings for requests to other brokers, with a viewer's credentials.

    The broker's own certificate is another identity's, so it is used only without access control.
    """
    own = broker.connecting
    tls = own.tls if broker.settings.identities is None else TlsFiles(own.tls.ca)
    return replace(own, clock=None, credentials=credentials, tls=tls)


def explain(inside: Inside, own: str, asked: Asked, settings: ConnectionSettings) -> dict[str, Any]:
    """The answers of brokers, in words and as `sapwood explain --json`; blocks.

    Raises as `answers`.
    """

    def connect(address: str) -> Explaining:
        if address == own:
            return inside
        try:
            return Explainer(address, settings, connect_s=CONSOLE_ASK_S, answer_s=CONSOLE_ASK_S)
        except InputError as error:  # no credentials go there: one more that is not reached
            raise ConnectionLostError(str(error)) from None

    with BrokersAsked([own], connect, follow=True) as overlay:
        return _members(answers(overlay, asked))


def _members(found: Answers) -> dict[str, Any]:
    lines = [subscription_lines(answer, found.asked) for answer in found.each]
    return {**overlay_members(found), "lines": lines}
