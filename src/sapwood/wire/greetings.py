"""Greetings, the first frame each way: role, identity and version of either end.

Every greeting begins with the magic, the version of the protocol and its own kind, in every version
there will ever be, so that ends of two versions can at least recognize each other. Fields are only
ever added at the end.

::

   the end that connects                   the end that accepts
   Hello (client)                    ->
                                     <-    Welcome, or Refusal and the end
   Hello (broker)                    ->
                                     <-    Welcome, or Refusal and the end
   LinkEstablished (a message), or the end
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from sapwood.errors import HandshakeError
from sapwood.limits import CREDENTIAL_CHARS_MAX, NAME_CHARS_MAX, REASON_CHARS_MAX
from sapwood.limits.structured import ADDRESS_CHARS_MAX
from sapwood.limits.timing import DRIFT_PPM_MAX, TICK_NS_MAX
from sapwood.model.fields import Count, Name
from sapwood.timing.link_bounds import Stamp

MAGIC: Final = "sapwood"
VERSION: Final = 8

_Listens: TypeAlias = Annotated[str, Meta(max_length=ADDRESS_CHARS_MAX)]

Reason: TypeAlias = Annotated[str, Meta(max_length=REASON_CHARS_MAX)]


class Role(StrEnum):
    """The role of the end that connects: a client, or a broker that requests a link."""

    CLIENT = "client"
    BROKER = "broker"


class RefusalCode(StrEnum):
    """The cause of a refused greeting, for programs; the reason beside it is for people."""

    VERSION = "version"
    SETTINGS = "settings"
    NAME_TAKEN = "name taken"
    ITSELF = "itself"
    ALREADY_LINKED = "already linked"
    BARRED = "barred"
    CIRCLE = "circle"
    FULL = "full"
    LATE = "late"
    DENIED = "denied"
    NOT_UNDERSTOOD = "not understood"

    @property
    def final(self) -> bool:
        """True if another attempt of a broker is pointless as long as both ends run."""
        return self in (RefusalCode.ITSELF, RefusalCode.BARRED)

    @property
    def retryable(self) -> bool:
        """True if the same greeting may be accepted a little later."""
        return self in (RefusalCode.FULL, RefusalCode.LATE)


class _Preamble(Struct, array_like=True, frozen=True):
    magic: str
    version: int
    kind: str


class Timing(Struct, array_like=True, frozen=True):
    """The drift of an end's clock, and the stamp of the greeting that carries it."""

    drift_ppm: Annotated[int, Meta(ge=0, le=DRIFT_PPM_MAX)]
    tick_ns: Annotated[int, Meta(ge=0, le=TICK_NS_MAX)]
    stamp: Stamp


class Credentials(Struct, array_like=True, frozen=True):
    """Credentials of the end that connects: a user's password, or a token where no user is named.

    The `secret` is in no log and no error: the printed form leaves it out.
    """

    user: Annotated[str, Meta(max_length=NAME_CHARS_MAX)]
    secret: Annotated[str, Meta(max_length=CREDENTIAL_CHARS_MAX)]

    def __repr__(self) -> str:
        return f"Credentials({self.user!r}, ...)"


class Hello(Struct, array_like=True, frozen=True, kw_only=True):
    """The greeting of the end that connects.

    `session` distinguishes the runs of a client or broker under the same `name`. `acknowledged` is
    the last publication of the session that the client knows to be accepted. `routing` (brokers) is
    the routing protocol, which both ends of a link must share, as they must share `frame_bytes_max`
    (brokers). Where both ends send a `timing`, they stamp what they write. `credentials` are those
    that the broker may require. `listens` (brokers) is the address at which other brokers may
    connect, as the broker itself knows it; empty where it announces none.
    """

    magic: Literal["sapwood"] = "sapwood"
    version: int = VERSION
    kind: Literal["hello"] = "hello"
    role: Role
    name: Name
    session: Name
    acknowledged: Count = 0
    routing: str = ""
    frame_bytes_max: Count = 0
    timing: Timing | None = None
    credentials: Credentials | None = None
    listens: _Listens = ""


class Welcome(Struct, array_like=True, frozen=True, kw_only=True):
    """The greeting of the end that accepts: the other end is welcome.

    `received` is the last publication of the client's session that the broker has received: those
    after it have to be sent again. `frame_bytes_max` bounds the frames that may be sent. Where the
    broker `remembers` the client's entries, it waits for the message that all of them are requested
    again. `listens` (to brokers) is as in `Hello`.
    """

    magic: Literal["sapwood"] = "sapwood"
    version: int = VERSION
    kind: Literal["welcome"] = "welcome"
    name: Name
    session: Name
    received: Count = 0
    routing: str = ""
    frame_bytes_max: Count
    timing: Timing | None = None
    remembers: bool = False
    listens: _Listens = ""


class Refusal(Struct, array_like=True, frozen=True, kw_only=True):
    """The greeting was refused; the connection ends after this frame.

    `name` is the refusing broker's.
    """

    magic: Literal["sapwood"] = "sapwood"
    version: int = VERSION
    kind: Literal["refusal"] = "refusal"
    code: RefusalCode
    reason: Reason
    name: str = ""


Greeting: TypeAlias = Hello | Welcome | Refusal

_KINDS: Final[Mapping[str, type[Hello] | type[Welcome] | type[Refusal]]] = MappingProxyType(
    {"hello": Hello, "welcome": Welcome, "refusal": Refusal}
)


class VersionMismatchError(HandshakeError):
    """The peer speaks another version of the protocol: `version`."""

    def __init__(self, version: int) -> None:
        self.version = version
        super().__init__(
            f"the peer speaks version {version} of the protocol, this is version {VERSION}; "
            "install the same release of Sapwood at both ends"
        )

    def __reduce__(self) -> tuple[type[VersionMismatchError], tuple[int]]:
        return type(self), (self.version,)


def encode_greeting(greeting: Greeting) -> bytes:
    """The body of a greeting's frame."""
    return msgspec.msgpack.encode(greeting)


def decode_greeting(body: bytes) -> Greeting:
    """The greeting in a first frame's body.

    Raises `VersionMismatchError` for another version and `HandshakeError` for a body that is no
    greeting.
    """
    try:
        preamble = msgspec.msgpack.decode(body, type=_Preamble)
        if preamble.magic != MAGIC:
            raise HandshakeError("the first frame is no greeting of Sapwood: its magic is wrong")
        if preamble.version != VERSION:
            raise VersionMismatchError(preamble.version)
        kind = _KINDS.get(preamble.kind)
        if kind is None:
            raise HandshakeError("the first frame is a greeting of an unknown kind")
        return msgspec.msgpack.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise HandshakeError(f"the first frame is no greeting of Sapwood: {error}") from error
