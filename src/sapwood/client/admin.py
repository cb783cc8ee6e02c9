"""Administration from Python: what `sapwood status`, `check`, `explain` and `durable` do.

Blocking, and one connection for each call: what it says is what a broker says at that moment. Where
brokers know identities, only those that are granted `operate` are answered.
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
"""Seconds between two questions to a broker whose neighbors have yet to answer."""

_TRIED: Final = "tried"
"""The id of a publication that was given without one; it is not sent."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How the tables of a broker compare with those of its neighbors.

    `edges` are one direction of a link each, with its `sender`, `holder`, `entries`, and how many
    of these are `wrong`; of the `silent`, as `sender -> holder`, no answer came in time.
    """

    edges: tuple[EdgeState, ...]
    silent: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether all tables are what their neighbors were told."""
        return not self.silent and not any(edge.wrong for edge in self.edges)


@dataclass(frozen=True, slots=True)
class Explained:
    """Why a publication comes to subscriptions, or does not; `str` has it in words."""

    answers: Answers

    def __str__(self) -> str:
        return overlay_text(self.answers)

    @property
    def members(self) -> dict[str, object]:
        """The same for programs, as `sapwood explain --json` prints it."""
        return overlay_members(self.answers)


class Admin:
    """One broker, as who operates it sees it.

    `address` is `host:port`, or `tls://host:port`; who asks is shown as by `sapwood.connect`. Every
    method raises `ConnectionLostError` where nobody answers, or does not let this identity ask.
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

        Nothing stops, and nothing changes but by the protocol's own `stabilize`. Raises
        `InputError` for a protocol whose tables cannot be compared edge by edge.
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
        """Why a publication would come to a subscription of this broker's clients, or would not.

        The subscription is one with this `filter` (a text, or what `parse_filter` and `parse_xpath`
        return), of this `client`, or of a `durable` name. The publication, a record or a document,
        is not sent; without one, only what each router was told is said. `source` is the broker of
        its publisher, by name: this one, by default. `others` are addresses of brokers to be asked
        as well, and with `follow` all that these know are. Raises `InputError` where nobody has
        such a subscription.
        """
        interest = parse_filter(filter) if isinstance(filter, str) else filter
        asked = Asked(interest, client, durable, _publication(publication), source)
        brokers = (self.address, *others)
        return Explained(ask_overlay(brokers, asked, self._settings, follow=follow))

    def covering(self, filter: str | Interest) -> tuple[Found, ...]:
        """The subscriptions that the broker knows whose filters cover this one."""
        interest = parse_filter(filter) if isinstance(filter, str) else filter
        with Explainer(self.address, self._settings) as explainer:
            return tuple(explainer.covers(interest))

    def durables(self) -> list[DurableState]:
        """The durable subscriptions of the broker, by name, with what waits in each."""
        with self._client() as client:
            return client.durables()

    def durable(self, name: str) -> DurableState:
        """One durable subscription. Raises `InputError` where there is none of this name."""
        with self._client() as client:
            return client.durable(name)

    def remove_durable(self, name: str) -> None:
        """Remove a durable subscription, and all that waits in it. Raises `InputError`."""
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
