"""A running overlay, as far as its brokers answer requests for explanations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from sapwood.asking.explaining import Explaining
from sapwood.errors import ConnectionLostError, InputError
from sapwood.model.publication import Publication
from sapwood.overlay.ways import way_between
from sapwood.routing.explaining.accounts import Account, Owned, Question
from sapwood.routing.explaining.journeys import Journey, journey
from sapwood.wire.explaining import ExplainReply, Found, Search


@dataclass(frozen=True, slots=True)
class Placed:
    """A subscription that was found, and the broker of its client."""

    broker: str
    found: Found


class BrokersAsked:
    """Connections to several brokers of one overlay; a context manager that closes them.

    `connect` makes one for an address. With `follow`, the neighbors of these brokers are asked as
    well, and theirs, at the addresses that brokers know of them, as far as they answer.

    #: _explainers has the brokers that answer, by name; replies has their first replies
    """

    def __init__(
        self,
        addresses: Iterable[str],
        connect: Callable[[str], Explaining],
        *,
        follow: bool = False,
    ) -> None:
        self._stack = ExitStack()
        self._connect = connect
        self._explainers: dict[str, Explaining] = {}
        self.replies: dict[str, ExplainReply] = {}
        #: the addresses without an answer, with the reason
        self.unreached: dict[str, str] = {}
        try:
            for address in addresses:
                self._meet(address)
            if follow:
                self._follow()
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    def search(self, search: Search) -> tuple[list[Placed], bool]:
        """The subscriptions that a search finds, at all brokers; and whether these are all."""
        found: list[Placed] = []
        is_all = True
        for name, explainer in self._explainers.items():
            some, are_all = explainer.search(search)
            found += [Placed(name, one) for one in some]
            is_all = is_all and are_all
        return found, is_all

    def ways(self, source: str, home: str) -> list[tuple[int, tuple[str, ...]]]:
        """The ways from one broker to another, by number, as far as brokers that answer know them.

        Raises `InputError` where the protocol has no hops to report.
        """
        known = self.replies.get(source)
        if known is None:
            raise InputError(
                f"nobody asked is broker {source}: give its address as --broker, or the name of "
                "one that is"
            )
        if not known.ways:
            raise InputError(
                f"under protocol {known.protocol} routers do not route by what each neighbor "
                "wants, so there is nothing to explain hop by hop"
            )
        paths = [(way, self._path(source, home, way)) for way in range(known.ways)]
        return [(way, path) for way, path in paths if path is not None]

    def _path(self, source: str, home: str, way: int) -> tuple[str, ...] | None:
        """The brokers on one way, as far as brokers that answer know their neighbors on it."""
        around: dict[str, dict[str, None]] = {}
        for name in self._explainers:
            said = self._ask(name, Question(source, way))
            for neighbor in () if said is None else said.neighbors:
                around.setdefault(name, {})[neighbor] = None
                around.setdefault(neighbor, {})[name] = None
        return way_between(source, home, lambda router: around.get(router, ()))

    def journey(
        self, path: tuple[str, ...], placed: Placed, publication: Publication | None, way: int
    ) -> Journey:
        """A publication's way to a subscription, or the entries that routers on it received."""
        subject = Owned(placed.found.client, placed.found.id)
        return journey(self._ask, path, subject, publication, way)

    def _ask(self, broker: str, question: Question) -> Account | None:
        explainer = self._explainers.get(broker)
        return None if explainer is None else explainer.ask(question)

    def _meet(self, address: str) -> str:
        explainer = self._stack.enter_context(self._connect(address))
        reply = explainer.about()
        if reply.broker not in self._explainers:
            self._explainers[reply.broker] = explainer
            self.replies[reply.broker] = reply
        return reply.broker

    def _follow(self) -> None:
        """Ask the neighbors of all known brokers, and theirs in turn."""
        waiting = list(self.replies.values())
        for reply in waiting:
            for neighbor, address in reply.addresses.items():
                if neighbor in self.replies or address in self.unreached:
                    continue
                try:
                    name = self._meet(address)
                except ConnectionLostError as error:
                    self.unreached[address] = str(error)
                else:
                    waiting.append(self.replies[name])
