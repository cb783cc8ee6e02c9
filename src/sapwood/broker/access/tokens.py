"""Signed tokens (JWT): an issuer elsewhere vouches for an identity, until a time.

Keys are Ed25519 (RFC 8037) and nothing else, so there is no choice for a token to make. A token
must have its issuer (`iss`), its audience (`aud`), its subject (`sub`) and its expiry (`exp`, with
`LEEWAY_S` for clocks that differ).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from sapwood.errors import EnvironmentMissingError, InputError

LEEWAY_S: Final = 10.0
"""Seconds that the clocks of an issuer and a broker may differ."""

_ALGORITHM: Final = "EdDSA"
_REQUIRED: Final = ("iss", "aud", "sub", "exp")


@dataclass(frozen=True, slots=True)
class Issuer:
    """A signer of tokens: its `iss` and `aud`, and the public key (PEM)."""

    name: str
    key: bytes
    audience: str


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim of a token: its issuer, its subject, and its expiry (seconds since 1970)."""

    issuer: str
    subject: str
    until: float


def looks_signed(token: str) -> bool:
    """True if a token has the form of a signed one: three parts with dots between them."""
    return token.count(".") == 2 and token.startswith("ey")


def claimed(token: str, issuers: dict[str, Issuer], now: float) -> Claim | str:
    """The claim of a signed token, or the reason why it is invalid; `now` in seconds since 1970.

    Raises `EnvironmentMissingError` where the library for that is not installed.
    """
    jwt = library()
    try:
        unverified = jwt.decode(token, options={"verify_signature": False})
        issuer = issuers.get(str(unverified.get("iss")))
        if issuer is None:
            return "the token's issuer is not known here"
        claims = jwt.decode(
            token,
            issuer.key,
            algorithms=[_ALGORITHM],
            audience=issuer.audience,
            issuer=issuer.name,
            options={"require": list(_REQUIRED), "verify_exp": False, "verify_nbf": False},
        )
        until, since = _time(claims, "exp"), _time(claims, "nbf")
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        return f"the token is not valid: {error}"
    if now > until + LEEWAY_S:
        return "the token has expired"
    if now < since - LEEWAY_S:
        return "the token does not hold yet"
    return Claim(issuer.name, str(claims["sub"]), until)


def read_key(path: Path) -> bytes:
    """An issuer's public key. Raises `InputError` for a file that has none."""
    library()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        text = path.read_bytes()
        key = load_pem_public_key(text)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{path}: is no public key (PEM)") from error
    if not isinstance(key, Ed25519PublicKey):
        raise InputError(f"{path}: the issuer's key has to be one of Ed25519")
    return text


def library() -> ModuleType:
    """The library that reads tokens; raises `EnvironmentMissingError` if it is not installed."""
    try:
        import jwt
        import jwt.algorithms
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: F401
    except ImportError as error:
        raise EnvironmentMissingError(
            "signed tokens need packages that are not installed: pip install 'sapwood[access]'"
        ) from error
    return jwt


def _time(claims: dict[str, Any], name: str) -> float:
    value = claims.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} is no number")
    return float(value)
