"""Asking brokers why a publication came to a subscription, or did not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from sapwood.asking.asker import Asker
from sapwood.errors import FrameError, InputError
from sapwood.limits import FRAME_BYTES_MAX
from sapwood.model.interest import Interest
from sapwood.routing.explaining.accounts import Account, Held, Owned, Question
from sapwood.wire.explaining import (
    Asking,
    ExplainReply,
    ExplainRequest,
    Found,
    Search,
    ToldText,
    answer_of,
)
from sapwood.wire.interests import to_text
from sapwood.wire.publications import encode_publication


class Explaining(ABC):
    """Whoever a broker's explanations are asked of; a context manager that is done with it."""

    @abstractmethod
    def request(self, request: ExplainRequest) -> ExplainReply:
        """The answer to a request."""

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    def about(self) -> ExplainReply:
        """Which links it has, and under which protocol."""
        return self._asked(ExplainRequest())

    def search(self, search: Search) -> tuple[tuple[Found, ...], bool]:
        """The subscriptions of its own clients that are looked for, and whether these are all.

        Raises `InputError` for a search that it refuses.
        """
        reply = self._asked(ExplainRequest(search))
        return answer_of(reply).found, reply.is_all

    def covers(self, filter: Interest) -> Iterator[Found]:
        """All subscriptions that the broker knows and whose filters cover one.

        What comes or goes meanwhile may be among them twice, or not.
        """
        first = 0
        while True:
            search = Search(to_text(filter), covers=True, first=first)
            reply = self._asked(ExplainRequest(search))
            yield from answer_of(reply).found
            first = reply.following
            if not first:
                return

    def ask(self, question: Question) -> Account | None:
        """What its router says. Raises `InputError` for a question that it refuses."""
        subject, publication = question.subject, question.publication
        told = None
        if isinstance(subject, Held):
            # A key says which it is; only where there is none the filter has to be sent.
            reason = subject.told
            text = None if reason.key or reason.filter is None else to_text(reason.filter)
            told = ToldText(subject.neighbor, reason.key, text)
        asking = Asking(
            question.source,
            question.way,
            subject if isinstance(subject, Owned) else None,
            told,
            None if publication is None else encode_publication(publication, FRAME_BYTES_MAX),
            question.origin,
            question.toward,
            question.first,
            question.about,
        )
        return answer_of(self._asked(ExplainRequest(question=asking))).account

    def _asked(self, request: ExplainRequest) -> ExplainReply:
        reply = self.request(request)
        if reply.refusal:
            raise InputError(f"broker {reply.broker}: {reply.refusal}")
        return reply


class Explainer(Asker, Explaining):
    """One connection that asks a broker; a context manager that closes it.

    The connection is a client of the broker, and counted as one. Raises `ConnectionLostError`
    where there is no broker, none any more, or one that does not let this identity ask.
    """

    def request(self, request: ExplainRequest) -> ExplainReply:
        """The answer to a request."""
        self._connection.send(request)
        reply = self._answer()
        if not isinstance(reply, ExplainReply):
            raise FrameError(f"{self._address} answers by {type(reply).__name__}")
        return reply
