"""Passwords: hashed by Argon2id, so that the file does not reveal them.

A hash takes 30 to 100 ms and 64 MiB on purpose. It is computed beside the event loop, and a valid
password is recognized later by a fast keyed hash as long as the broker runs.
"""

from __future__ import annotations

import hashlib
import secrets
from types import ModuleType
from typing import Final

from sapwood.errors import EnvironmentMissingError
from sapwood.limits import PASSWORDS_REMEMBERED_MAX

_DIGEST_BYTES: Final = 32


class Passwords:
    """Compares passwords with their hashes, each pair once.

    Belongs to the thread that calls it, except `is_known`.
    """

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(_DIGEST_BYTES)
        #: the valid pairs, as digests under a key of this process
        self._right: dict[bytes, None] = {}

    def is_known(self, hashed: str, password: str) -> bool:
        """True if the two were compared before, and the password was valid."""
        return self._digest(hashed, password) in self._right

    def is_right(self, hashed: str, password: str) -> bool:
        """True if the password has this hash. Takes its time."""
        if self.is_known(hashed, password):
            return True
        argon2 = library()
        try:
            argon2.PasswordHasher().verify(hashed, password)
        except (argon2.exceptions.VerificationError, argon2.exceptions.InvalidHashError):
            return False
        while len(self._right) >= PASSWORDS_REMEMBERED_MAX:
            del self._right[next(iter(self._right))]
        self._right[self._digest(hashed, password)] = None
        return True

    def _digest(self, hashed: str, password: str) -> bytes:
        text = f"{len(hashed)}:{hashed}{password}".encode(errors="surrogatepass")
        return hashlib.blake2b(text, key=self._secret, digest_size=_DIGEST_BYTES).digest()


def hashed(password: str) -> str:
    """The hash of a password, as a file of identities has it."""
    return str(library().PasswordHasher().hash(password))


def library() -> ModuleType:
    """The library that hashes; raises `EnvironmentMissingError` if it is not installed."""
    try:
        import argon2
        import argon2.exceptions
    except ImportError as error:
        raise EnvironmentMissingError(
            "passwords need a package that is not installed: pip install 'sapwood[access]'"
        ) from error
    return argon2
