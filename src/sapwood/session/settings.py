"""The settings of a connection."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sapwood.errors import InputError
from sapwood.limits import (
    CREDENTIAL_CHARS_MAX,
    FRAME_BYTES_MAX,
    GREETING_S,
    KEEPALIVE_IDLE_S,
    KEEPALIVE_MISSED_MAX,
)
from sapwood.routing.upkeep.detector.detector import MakePatience, patience_named
from sapwood.timing.local import LocalClock
from sapwood.wire.greetings import Credentials
from sapwood.wire.names import check_name


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Paths of the files (PEM) of one end of TLS.

    Certificates that `ca` has signed are trusted: without it those that the system trusts, at the
    end that connects, and none at the end that accepts. `cert` and `key` are the end's own. Raises
    `InputError` if only one of the two is given.
    """

    ca: str | None = None
    cert: str | None = None
    key: str | None = None

    def __post_init__(self) -> None:
        if (self.cert is None) != (self.key is None):
            given, missing = ("cert", "key") if self.key is None else ("key", "cert")
            raise InputError(f"TLS: there is a {given} and no {missing}: give both, or none")


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """Bounds of one connection; the defaults are those of `sapwood.limits`.

    `frame_bytes_max` in bytes, `greeting_s` and `keepalive_idle_s` in seconds. The failure
    `detector`, if one is named (`detector_named`), decides when a neighbor counts as dead. With a
    `clock` the delay of what arrives is known, where the other end has a clock, too. An end that
    connects sends its `credentials`; `tls` names the certificates that it trusts, and its own.
    """

    frame_bytes_max: int = FRAME_BYTES_MAX
    greeting_s: float = GREETING_S
    keepalive_idle_s: float = KEEPALIVE_IDLE_S
    keepalive_missed_max: int = KEEPALIVE_MISSED_MAX
    detector: str | None = None
    clock: LocalClock | None = None
    credentials: Credentials | None = None
    tls: TlsFiles = TlsFiles()

    def patience(self) -> MakePatience | None:
        """A maker of the patience with a neighbor, if a detector is named. Raises `InputError`."""
        if self.detector is None:
            return None
        idle_s = self.keepalive_idle_s
        first_s = idle_s * (self.keepalive_missed_max + 1)
        make = patience_named(self.detector, first_s, idle_s)
        if make(0.0).deadline <= idle_s:
            raise InputError(
                f"{self.detector}: a neighbor that says nothing is asked for a sign of life after "
                f"{idle_s:g} s; the timeout has to be longer"
            )
        return make


def with_access(
    settings: ConnectionSettings,
    user: str | None = None,
    password: str | None = None,
    token: str | None = None,
    tls: TlsFiles | None = None,
) -> ConnectionSettings:
    """The settings with the given credentials and TLS files.

    Raises `InputError` for a user without a password or the other way round, for more than one kind
    of credentials, and for a secret that is too long.
    """
    if (user is None) != (password is None):
        raise InputError("a user needs a password, and a password a user: give both, or a token")
    if user is not None and token is not None:
        raise InputError("a user with a password or a token says who connects, not both")
    secret = password if token is None else token
    credentials = settings.credentials
    if secret is not None:
        if not secret or len(secret) > CREDENTIAL_CHARS_MAX:
            raise InputError(f"a password or token has 1 to {CREDENTIAL_CHARS_MAX} characters")
        credentials = Credentials(check_name("user", user) if user is not None else "", secret)
    return replace(settings, credentials=credentials, tls=settings.tls if tls is None else tls)
