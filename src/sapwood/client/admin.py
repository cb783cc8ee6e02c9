"""Administration from Python, as `sapwood status`, `check`, `explain` and `durable` do it.

Blocking, with one connection for each call: the result is the broker's state at that moment. Where
brokers know identities, only those that are granted `operate` get answers.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sapwood.asking.answers import Answers, Asked, ask_overlay, overlay_members, overlay_text
from sapwood.asking.explaining import Explainer
from sapwood.asking.status import StatusReader
from sapwood.client import blocking
from sapwood.client.checking import Checker
from sapwood.errors import InputError
from sapwood.language import parse_filter
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.session.settings import ConnectionSettings, TlsFiles, with_access
from sapwood.wire.durable import DurableState
from sapwood.wire.explaining import Found
from sapwood.wire.messages import EdgeState
from sapwood.wire.status import StatusReply

PAUSE_S: Final = 0.05
"""Seconds between two requests to a broker whose neighbors have yet to answer."""

_TRIED: Final = "tried"
"""The id of a publication that was given without one; the publication is not sent."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of a broker's tables with those of its neighbors.

    `edges` are one direction of a link each, with its `sender`, `holder`, the number of `entries`,
    and the number of `wrong` ones; the edges in `silent`, as `sender -> holder`, did not answer in
    time.
    """

    edges: tuple[EdgeState, ...]
    silent: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """True if all tables agree with the entries that neighbors have sent."""
        return not self.silent and not any(edge.wrong for edge in self.edges)


@dataclass(frozen=True, slots=True)
class Explained:
    """The reasons why a publication is delivered to subscriptions, or is not; `str` has words."""

    answers: Answers

    def __str__(self) -> str:
        return overlay_text(self.answers)

    @property
    def members(self) -> dict[str, object]:
        """The explanation for programs, as `sapwood explain --json` prints it."""
        return overlay_members(self.answers)


class Admin:
    """One broker, as its operator sees it.

    `address` is `host:port`, or `tls://host:port`; credentials are given as to `sapwood.connect`.
    Every method raises `ConnectionLostError` where no broker answers, or the broker refuses this
    identity.
    """

    def __init__(
        self,
        address: str,
        *,
        user: str | None = None,
        password: str | None = None,
        token: str | None = None,
        tls: TlsFiles | None = None,
        settings: ConnectionSettings | None = None,
    ) -> None:
        self.address = address
        self._settings = with_access(
            settings or ConnectionSettings(), user=user, password=password, token=token, tls=tls
        )

    def status(self) -> StatusReply:
        """The broker's state: links and their delays, clients, table sizes, counters, store."""
        with StatusReader(self.address, self._settings) as reader:
            return reader.status()

    def check(self, within_s: float = 10.0) -> Comparison:
        """Compare the broker's tables with those of its neighbors, which get `within_s` seconds.

        Routing goes on, and only the protocol's own `stabilize` changes tables. Raises `InputError`
        for a protocol whose tables cannot be compared edge by edge.
        """
        with Checker(self.address, self._settings) as checker:
            edges, silent = checker.compared(within_s, _passing)
        return Comparison(tuple(edges.values()), tuple(silent))

    def explain(
        self,
        filter: str | Interest | None = None,
        publication: Publication | Mapping[str, Any] | bytes | None = None,
        *,
        client: str = "",
        durable: str = "",
        source: str | None = None,
        others: Sequence[str] = (),
        follow: bool = False,
    ) -> Explained:
        """Explain why a publication would, or would not, be delivered to a client of this broker.

        The subscription is one with this `filter` (a text, or a result of `parse_filter` or
        `parse_xpath`), of this `client`, or of a `durable` name. The publication, a record or a
        document, is not sent; without one, the result has only the entries that each router
        received. `source` is the name of its publisher's broker: this one, by default. `others` are
        addresses of further brokers to ask, and with `follow` all brokers that these know are
        asked. Raises `InputError` where no client has such a subscription.
        """
        interest = parse_filter(filter) if isinstance(filter, str) else filter
        asked = Asked(interest, client, durable, _publication(publication), source)
        brokers = (self.address, *others)
        return Explained(ask_overlay(brokers, asked, self._settings, follow=follow))

    def covering(self, filter: str | Interest) -> tuple[Found, ...]:
        """The subscriptions known to the broker whose filters cover this one."""
        interest = parse_filter(filter) if isinstance(filter, str) else filter
        with Explainer(self.address, self._settings) as explainer:
            return tuple(explainer.covers(interest))

    def durables(self) -> list[DurableState]:
        """The durable subscriptions of the broker, by name, with the state of each mailbox."""
        with self._client() as client:
            return client.durables()

    def durable(self, name: str) -> DurableState:
        """One durable subscription. Raises `InputError` where there is none of this name."""
        with self._client() as client:
            return client.durable(name)

    def remove_durable(self, name: str) -> None:
        """Remove a durable subscription, and its waiting publications. Raises `InputError`."""
        with self._client() as client:
            client.remove_durable(name)

    def _client(self) -> blocking.BlockingClient:
        return blocking.connect(self.address, reconnect=False, settings=self._settings)


def _publication(given: Publication | Mapping[str, Any] | bytes | None) -> Publication | None:
    if given is None or isinstance(given, Publication):
        return given
    if isinstance(given, bytes):
        return Publication(_TRIED, document=given)
    if isinstance(given, Mapping):
        return Publication(_TRIED, dict(given))
    raise InputError(
        "a publication is a record (a dict), a document (bytes) or a Publication, not "
        f"{type(given).__name__}"
    )


def _passing() -> float:
    """The time in seconds, after a pause."""
    time.sleep(PAUSE_S)
    return time.monotonic()
