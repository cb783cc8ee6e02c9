"""Tokens that an issuer signs, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

ISSUER = "https://login.example.org"


class Signer:
    """An issuer with a key of its own."""

    def __init__(self) -> None:
        self.key = Ed25519PrivateKey.generate()

    def public(self) -> bytes:
        """The public key (PEM)."""
        public = self.key.public_key()
        return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def entry(self, folder: Path) -> str:
        """The entry of a file of identities, in a folder that gets the key."""
        (folder / "login.pem").write_bytes(self.public())
        return f'[[issuer]]\nname = "{ISSUER}"\nkey = "login.pem"\naudience = "sapwood"\n'

    def token(self, until: float, **claims: Any) -> str:
        """A signed token; a claim of `None` is left out."""
        said = {"iss": ISSUER, "aud": "sapwood", "sub": "eve", "exp": until, **claims}
        given = {key: value for key, value in said.items() if value is not None}
        return jwt.encode(given, self.key, algorithm="EdDSA")
