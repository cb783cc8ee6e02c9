"""Proofs of identity: signed tokens, the header `Authorization`, files of identities."""

from __future__ import annotations

import base64
import json
from random import Random
from typing import Any, Final

from sapwood.broker.access.authentication import Authenticator
from sapwood.broker.access.identities import Identities
from sapwood.broker.access.tokens import Issuer, claimed, looks_signed
from sapwood.broker.http.credentials import credentials_in
from sapwood.wire.greetings import Credentials, Hello, Role
from sapwood_lab.fuzz.driver import Target
from sapwood_lab.fuzz.mutation import changed_value, leaf, mutated_text, pick

_NOW: Final = 1_000.0

_HEADERS: Final[tuple[Any, ...]] = (
    {"alg": "EdDSA", "typ": "JWT"},
    {"alg": "none"},
    {"alg": "HS256", "typ": "JWT"},
    {"alg": "EdDSA", "crit": ["b64"], "b64": False},
    {"alg": "EdDSA", "kid": "../../etc/passwd", "jku": "http://127.0.0.1/", "x5u": "file:///etc"},
    {"alg": "RS256", "jwk": {"kty": "OKP"}},
)
_CLAIMS: Final[tuple[Any, ...]] = (
    {"iss": "login", "aud": "sapwood", "sub": "ann", "exp": 2000},
    {"iss": "login", "aud": ["sapwood", "x"], "sub": "ann", "exp": 2000.5, "nbf": 5, "iat": 5},
    {"iss": ["login"], "aud": "sapwood", "sub": "ann", "exp": 2000},
    {"iss": "login", "aud": "other", "sub": "", "exp": True},
)
_LINES: Final = (
    *("Bearer secret", "Basic YW5uOnNlY3JldA==", "basic Og==", "Digest a=b", "Bearer", "Bearer  "),
    *("Basic /////w==", "Basic YW5u", "Bearer eyJ.a.b", "Basic YW5uOnNlY3JldA", "", " "),
)


class _Issuer:
    """Signs tokens with a key that is the same in every run."""

    def __init__(self) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        self._key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
        public = self._key.public_key().public_bytes(
            Encoding.PEM, PublicFormat.SubjectPublicKeyInfo
        )
        issuer = Issuer("login", public, "sapwood")
        self.issuers = {issuer.name: issuer}
        self._authenticator = Authenticator(Identities(issuers=self.issuers))

    def draw(self, random: Random) -> str:
        """A token: signed rightly, of mutated parts, mutated as a whole."""
        header, claims = pick(random, _HEADERS), pick(random, _CLAIMS)
        if random.random() < 0.5:
            claims = changed_value(random, claims)
        if random.random() < 0.25:
            header = changed_value(random, header)
        signed = f"{_part(header)}.{_part(claims)}"
        signature = b""
        if random.random() < 0.3:  # it takes most of the time
            signature = self._key.sign(signed.encode())
        token = f"{signed}.{_base64(signature or random.randbytes(64))}"
        if random.random() < 0.5:
            return token
        changed = mutated_text(random, token, (token,))
        return changed.encode(errors="replace").decode()  # it comes as UTF-8

    def read(self, token: str) -> Any:
        """The claims of a token, and the identity that they give."""
        hello = Hello(role=Role.CLIENT, name="c", session="s", credentials=Credentials("", token))
        decided = repr(self._authenticator.decide(hello, frozenset(), _NOW))
        return looks_signed(token), repr(claimed(token, self.issuers, _NOW)), decided


def _part(value: Any) -> str:
    try:
        return _base64(json.dumps(value).encode())
    except TypeError:  # bytes are no JSON
        return _base64(b"{}")


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _header(random: Random) -> str:
    line = pick(random, _LINES)
    if random.random() < 0.2:
        name = pick(random, ("ann", "", "a" * 300, str(leaf(random))))
        given = f"{name}:{leaf(random)!r}".encode(errors="replace")
        return f"Basic {base64.b64encode(given).decode()}"
    return mutated_text(random, line, _LINES)


def _credentials(header: str) -> Any:
    shown = credentials_in(header)
    return None if shown is None else (shown.user, shown.secret)


class _Late:
    """The issuer, made when the first token is drawn."""

    def __init__(self) -> None:
        self._issuer: _Issuer | None = None

    def draw(self, random: Random) -> str:
        """A token."""
        if self._issuer is None:
            self._issuer = _Issuer()
        return self._issuer.draw(random)

    def read(self, token: str) -> Any:
        """The claims of a drawn token."""
        assert self._issuer is not None, "it was drawn"
        return self._issuer.read(token)


def targets() -> list[Target]:
    """The targets of this module."""
    late = _Late()
    return [
        Target(
            "signed tokens",
            12,
            late.draw,
            late.read,
        ),
        Target("header Authorization", 60, _header, _credentials),
    ]
