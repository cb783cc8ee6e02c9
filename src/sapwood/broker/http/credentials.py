"""Credentials of HTTP requests: the header `Authorization`."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from sapwood.limits import CREDENTIAL_CHARS_MAX, NAME_CHARS_MAX
from sapwood.wire.greetings import Credentials

NAMELESS: Final[Mapping[str, str]] = MappingProxyType(
    {"WWW-Authenticate": 'Basic realm="sapwood", charset="UTF-8"'}
)
"""Headers of an answer that requests credentials."""


def credentials_in(header: str) -> Credentials | None:
    """The credentials in `Authorization`: a token (Bearer), or user and password (Basic).

    `None` for an empty header, and for any other kind.
    """
    kind, _, text = header.partition(" ")
    text = text.strip()
    if kind.lower() == "bearer":
        user, secret = "", text
    elif kind.lower() == "basic":
        try:
            decoded = base64.b64decode(text, validate=True).decode()
        except ValueError:  # no base64, no ASCII, no UTF-8
            return None
        user, _, secret = decoded.partition(":")
        if not user:
            return None
    else:
        return None
    if not secret or len(secret) > CREDENTIAL_CHARS_MAX or len(user) > NAME_CHARS_MAX:
        return None
    return Credentials(user, secret)
