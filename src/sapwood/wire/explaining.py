"""Requests for the reasons of a delivery, or of its absence, to one broker, and their answers.

A request has filters as texts and the publication as bytes: none of them is parsed before it is
known whether the client may send the request.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from sapwood.errors import FrameError, InputError, LimitError
from sapwood.limits import NAME_CHARS_MAX
from sapwood.limits.explaining import EXPLAINED_BYTES_MAX, EXPLAINED_NAMED_MAX
from sapwood.model.fields import Count, Name
from sapwood.model.interest import Interest
from sapwood.routing.explaining.accounts import Account, Owned
from sapwood.wire.durable import DurableState
from sapwood.wire.hooks import decoded, encoded
from sapwood.wire.interests import InterestText

_Text = Annotated[str, Meta(max_length=NAME_CHARS_MAX)]

REFUSAL_CHARS_MAX: Final = 1 << 12
"""The most characters of the reason why a question has no answer."""


class Search(Struct, array_like=True, frozen=True):
    """The subscriptions of the broker's own clients to search for: all criteria have to hold.

    They have this filter, whether a grant has narrowed it or not; they are of this client; the
    durable one has this name. Empty texts are no criteria. With `covers`, the search is for filters
    that cover this filter, of clients and neighbors; a part of them is searched, from number
    `first` on.
    """

    filter: InterestText | None = None
    client: _Text = ""
    durable: _Text = ""
    covers: bool = False
    first: Count = 0


class ToldText(Struct, array_like=True, frozen=True):
    """An entry that a neighbor reports as sent to the broker: by key, or by filter without keys."""

    neighbor: Name
    key: str
    filter: InterestText | None = None


class Asking(Struct, array_like=True, frozen=True):
    """A question to the router (`sapwood.routing.explaining.accounts.Question`) as it travels."""

    source: Name
    way: Count = 0
    owned: Owned | None = None
    told: ToldText | None = None
    publication: bytes | None = None
    origin: _Text = ""
    toward: _Text = ""
    first: str = ""
    about: Annotated[tuple[str, ...], Meta(max_length=EXPLAINED_NAMED_MAX)] = ()


class ExplainRequest(Struct, array_like=True, frozen=True, tag=76):
    """A search for subscriptions, a question to the router, or both; one `ExplainReply`."""

    search: Search | None = None
    question: Asking | None = None


class Found(Struct, array_like=True, frozen=True):
    """A subscription of one of the broker's own clients, or one that a `neighbor` has announced.

    Of the latter, `id` is its key there. `allowed` is the grant for records, where the client has
    one and is connected. `durable` is the state of the mailbox where the subscription has one.
    """

    client: str
    id: str
    filter: Interest
    in_force: bool
    is_connected: bool
    allowed: Interest | None = None
    durable: DurableState | None = None
    neighbor: str = ""


class Answer(Struct, array_like=True, frozen=True):
    """The subscriptions found, and the router's account; filters are as between brokers."""

    found: Annotated[tuple[Found, ...], Meta(max_length=EXPLAINED_NAMED_MAX)] = ()
    account: Account | None = None


class ExplainReply(Struct, array_like=True, frozen=True, tag=77):
    """The answer of a broker.

    `ways` is the number of ways on which publications of a source come; 0 where the protocol has no
    hops to report. `addresses` are those of neighbors, as far as the broker knows them. `is_all`
    unless the search ended early; one for covers continues at number `following`, if that is not 0.
    `answer` holds an `Answer` (`answer_of`). With a `refusal`, which is the reason, there is none.
    """

    broker: Name
    protocol: str
    ways: Count = 0
    neighbors: tuple[str, ...] = ()
    addresses: dict[str, str] = {}
    is_all: bool = True
    following: Count = 0
    answer: Annotated[bytes, Meta(max_length=EXPLAINED_BYTES_MAX)] = b""
    refusal: Annotated[str, Meta(max_length=REFUSAL_CHARS_MAX)] = ""


def answer_bytes(answer: Answer) -> bytes:
    """The bytes of an answer. Raises `LimitError` for more than a reply has room for."""
    written = _ENCODER.encode(answer)
    if len(written) > EXPLAINED_BYTES_MAX:
        subject = "what there is to say of these filters, bytes,"
        raise LimitError("EXPLAINED_BYTES_MAX", EXPLAINED_BYTES_MAX, len(written), subject)
    return written


def answer_of(reply: ExplainReply) -> Answer:
    """The answer in a reply. Raises `FrameError` for bytes that are none."""
    try:
        return _DECODER.decode(reply.answer) if reply.answer else Answer()
    except (msgspec.ValidationError, msgspec.DecodeError, InputError) as error:
        raise FrameError(f"what broker {reply.broker} explains cannot be read: {error}") from None


_ENCODER: Final = msgspec.msgpack.Encoder(enc_hook=encoded)
_DECODER: Final = msgspec.msgpack.Decoder(Answer, dec_hook=decoded)
