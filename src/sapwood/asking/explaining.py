"""Requests to brokers for the reasons of a delivery, or of its absence."""

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
    """A broker that answers requests for explanations; a context manager that closes it."""

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
        """The broker's links and its protocol."""
        return self._asked(ExplainRequest())

    def search(self, search: Search) -> tuple[tuple[Found, ...], bool]:
        """The subscriptions of its own clients that a search finds, and whether these are all.

        Raises `InputError` for a search that the broker refuses.
        """
        reply = self._asked(ExplainRequest(search))
        return answer_of(reply).found, reply.is_all

    def covers(self, filter: Interest) -> Iterator[Found]:
        """All subscriptions known to the broker whose filters cover one.

        Entries that change meanwhile may be missing, or occur twice.
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
        """The account of its router. Raises `InputError` for a question that the broker refuses."""
        subject, publication = question.subject, question.publication
        told = None
        if isinstance(subject, Held):
            # A key identifies the entry; only where there is none the filter has to be sent.
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
    """One connection to a broker for explanations; a context manager that closes it.

    The connection is a client of the broker, and counted as one. Raises `ConnectionLostError` where
    there is no broker, none any more, or one that refuses this identity.
    """

    def request(self, request: ExplainRequest) -> ExplainReply:
        """The answer to a request."""
        self._connection.send(request)
        reply = self._answer()
        if not isinstance(reply, ExplainReply):
            raise FrameError(f"{self._address} answers by {type(reply).__name__}")
        return reply
