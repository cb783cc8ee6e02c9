"""The broker that is attacked, and what it takes to begin it: doors, identities, certificates."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from peer import Peer

TOKEN = "the token of a well-behaved pair"
PLAIN, DOORS, GUARDED, SECRET, KEPT = "plain", "doors", "guarded", "secret", "kept"
"""Kinds of brokers: default settings; with all doors; with identities; with TLS; with a store."""


@dataclass(frozen=True)
class Target:
    """The broker that is attacked."""

    host: str
    port: int
    http: int = 0
    mqtt: int = 0
    token: str = ""
    is_secret: bool = False

    def peer(self, name: str, **options: Any) -> Peer:
        """A client."""
        return Peer(
            self.host, self.port, name, token=self.token, is_secret=self.is_secret, **options
        )


Attack: TypeAlias = Callable[[Target], None]


def options_of(kind: str, folder: Path) -> list[str]:
    """Options of a broker of a kind; their files are put into a folder."""
    if kind == PLAIN:
        return []
    if kind == KEPT:
        return ["--data", str(folder / "data")]
    doors = ["--http", "127.0.0.1:0", "--mqtt", "127.0.0.1:0", "--gateway", "--console"]
    if kind == GUARDED:
        return [*doors, "--identities", str(_identities(folder))]
    return [*doors, *_certificates(folder)] if kind == SECRET else doors


def _identities(folder: Path) -> Path:
    """Somebody with a token, somebody with a password, and an issuer of tokens."""
    import argon2
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    key = Ed25519PrivateKey.generate().public_key()
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (folder / "login.pem").write_bytes(pem)
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    path = folder / "identities.toml"
    path.write_text(
        f'[[identity]]\nname = "pair"\ntoken = "sha256:{digest}"\n'
        f'[[identity]]\nname = "ann"\npassword = "{argon2.PasswordHasher().hash("secret")}"\n'
        '[[issuer]]\nname = "login"\nkey = "login.pem"\naudience = "sapwood"\n'
    )
    return path


def _certificates(folder: Path) -> list[str]:
    import trustme

    authority = trustme.CA()
    signed = authority.issue_cert("127.0.0.1")
    cert, key = folder / "cert.pem", folder / "key.pem"
    cert.write_bytes(b"".join(blob.bytes() for blob in signed.cert_chain_pems))
    signed.private_key_pem.write_to_path(str(key))
    return ["--tls-cert", str(cert), "--tls-key", str(key)]
