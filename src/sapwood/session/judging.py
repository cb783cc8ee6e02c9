"""Judging of requests: in a few steps at once, or as a piece of work that may take long.

Most filters and publications are parsed in microseconds. A few, hostile or only large, take a
second. `Judge.judge` parses what takes few steps, and for the rest returns a function that does the
work, to be run beside the loop (`sapwood.broker.side_work`). Either way the outcome stays in the
`Judgement`, where the session finds it.

A long piece of work would still hold the interpreter again and again. So a filter may be sent to
another process, as bytes, and its answer comes as bytes (`answer`): the text of the filter, and the
bytes of its normal form or the reason why it has none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from sapwood.errors import InputError, LimitError
from sapwood.language.declared import Declared
from sapwood.language.never import why_never
from sapwood.limits import (
    BODY_BYTES_AT_ONCE,
    FILTER_CHARS_AT_ONCE,
    FILTER_STEPS_AT_ONCE,
    NORMAL_FORM_STEPS_MAX,
    REFUSALS_REMEMBERED_MAX,
)
from sapwood.matching.costs import Cost, cost_of, nanoseconds
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.wire.durable import DurableRequest
from sapwood.wire.interests import AdvertisedText, advertised_from_text, from_text
from sapwood.wire.messages import AdvertiseRequest, PublishRequest, SubscribeRequest
from sapwood.wire.publications import decode_publication

Request: TypeAlias = SubscribeRequest | AdvertiseRequest | DurableRequest | PublishRequest
"""Requests that are judged before the router gets them."""

JUDGED: Final = (SubscribeRequest, AdvertiseRequest, DurableRequest, PublishRequest)

_Filtering: TypeAlias = SubscribeRequest | AdvertiseRequest | DurableRequest
"""Requests with a filter that is parsed."""

_DIGEST_BYTES: Final = 16


@dataclass(slots=True)
class Judgement:
    """A request, and its content once that is known: a value, or the reason why it is refused."""

    request: Request
    value: AdvertisedContent | Publication | None = None
    refusal: InputError | None = None

    @property
    def is_known(self) -> bool:
        """True if the request has been parsed."""
        return self.value is not None or self.refusal is not None


Elsewhere: TypeAlias = Callable[[bytes], bytes | None]
"""Sends a question to another process, waits, and returns the answer; `None` without one."""


class Judge:
    """The parser of the requests of all clients of a broker.

    Long work is done `elsewhere`, if that is given and answers, and else here. With `is_strict`,
    filters of subscriptions are refused that can never match, by themselves or because of what is
    `declared`.

    Filters that were refused because of the work they take are remembered, by digest, so that a
    filter that is sent fifty times is worked out once. Errors of syntax are found again: that is
    cheap.

    #: at most REFUSALS_REMEMBERED_MAX refusals, in the order in which they came
    """

    def __init__(
        self,
        elsewhere: Elsewhere | None = None,
        *,
        is_strict: bool = False,
        declared: Declared | None = None,
        cost_max: float | None = None,
    ) -> None:
        self._elsewhere = elsewhere
        self.is_strict = is_strict
        #: the declared attributes of publications, if there is a declaration
        self.declared = declared
        #: the most that a filter may cost, in nanoseconds for each publication
        self.cost_max = cost_max
        self._refused: dict[bytes, LimitError] = {}
        #: the number of normal forms begun in full: tests count these instead of seconds
        self.pieces = 0

    def why_never(self, interest: Interest) -> str | None:
        """The reason why no publication can match, or no declared one; `None` where one may."""
        why = why_never(interest)
        if why is None and self.declared is not None:
            why = self.declared.why_never(interest)
        return why

    def cost_of(self, interest: Interest) -> Cost | None:
        """The cost of a filter, where the cost of filters is limited."""
        return None if self.cost_max is None else cost_of(interest)

    def why_dear(self, cost: Cost) -> str | None:
        """The reason why a filter costs more than any filter may; `None` where it does not."""
        if self.cost_max is None or cost.ns <= self.cost_max:
            return None
        return (
            f"the filter costs {nanoseconds(cost.ns)} for each publication, and "
            f"--filter-cost-max is {nanoseconds(self.cost_max)}: {cost.remedy()}"
        )

    def judge(self, request: Request) -> Judgement | Callable[[], Judgement]:
        """The judgement of a request, or the work that leads to it, which raises nothing."""
        if isinstance(request, PublishRequest):
            if len(request.publication) > BODY_BYTES_AT_ONCE:
                return lambda: _of_publication(request)
            return _of_publication(request)
        if request.filter is None:
            return Judgement(request)
        digest = _digest(request)
        known = self._refused.get(digest)
        if known is not None:
            return Judgement(request, refusal=known)
        if _length(request.filter) <= FILTER_CHARS_AT_ONCE:
            judged = _of_filter(request, FILTER_STEPS_AT_ONCE)
            if not _is_for_work(judged.refusal):
                return judged
        return lambda: self._in_full(request, digest)

    def _in_full(self, request: _Filtering, digest: bytes) -> Judgement:
        """Judge a request in full. Runs in any thread: it changes one entry of a dictionary."""
        self.pieces += 1
        judged = self._asked(request) or _of_filter(request, NORMAL_FORM_STEPS_MAX)
        if isinstance(judged.refusal, LimitError):
            refused = self._refused
            refused[digest] = judged.refusal
            if len(refused) > REFUSALS_REMEMBERED_MAX:
                refused.pop(next(iter(refused)), None)
        return judged

    def _asked(self, request: _Filtering) -> Judgement | None:
        """The answer of another process about a filter; `None` without one, or without bytes."""
        if self._elsewhere is None or not isinstance(request.filter, str):
            return None
        answered = self._elsewhere(request.filter.encode())
        if answered is None:
            return None
        return _told(request, _ANSWERS.decode(answered))


class _Answer(Struct, array_like=True, frozen=True):
    """The outcome of a filter: the bytes of its normal form, the limit it exceeds, or a reason.

    All are `None` for a filter whose normal form has no bytes.
    """

    packed: bytes | None = None
    limit: tuple[str, int, int | None, str] | None = None
    reason: str | None = None


_ANSWERS: Final = msgspec.msgpack.Decoder(_Answer)


def answer(question: bytes) -> bytes:
    """The answer to a question of a `Judge` in another process, after as much work as it takes."""
    judged = _of_filter(SubscribeRequest("", question.decode()), NORMAL_FORM_STEPS_MAX)
    match judged:
        case Judgement(refusal=LimitError() as error):
            found = _Answer(limit=(error.name, error.bound, error.actual, error.subject))
        case Judgement(refusal=InputError() as error):
            found = _Answer(reason=str(error))
        case Judgement(value=Filter() as read):
            found = _Answer(read.packed)
        case _:
            found = _Answer()
    return msgspec.msgpack.encode(found)


def _told(request: _Filtering, told: _Answer) -> Judgement | None:
    if told.packed is not None:
        return Judgement(request, Filter.of_packed(told.packed))
    if told.limit is not None:
        return Judgement(request, refusal=LimitError(*told.limit))
    if told.reason is not None:
        return Judgement(request, refusal=InputError(told.reason))
    return None


def _of_publication(request: PublishRequest) -> Judgement:
    try:
        return Judgement(request, decode_publication(request.publication))
    except InputError as error:
        return Judgement(request, refusal=error)


def _of_filter(request: _Filtering, steps_max: int) -> Judgement:
    try:
        if isinstance(request, SubscribeRequest | DurableRequest):
            assert request.filter is not None, "there is nothing to read in none"
            return Judgement(request, from_text(request.filter, steps_max=steps_max))
        return Judgement(request, advertised_from_text(request.filter, steps_max=steps_max))
    except InputError as error:
        return Judgement(request, refusal=error)


def _is_for_work(refusal: InputError | None) -> bool:
    return isinstance(refusal, LimitError) and refusal.name == "NORMAL_FORM_STEPS_MAX"


def _length(text: AdvertisedText) -> int:
    return len(text if isinstance(text, str) else text.text)


def _digest(request: _Filtering) -> bytes:
    """A digest of the kind of request and its filter, without its id."""
    written = type(request).__name__.encode() + msgspec.msgpack.encode(request.filter)
    return hashlib.blake2b(written, digest_size=_DIGEST_BYTES).digest()
