"""Types of message fields with their bounds, which are checked where a message is read."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

from sapwood.limits import ID_CHARS_MAX, NAME_CHARS_MAX

Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX)]
"""What a router or a client is called."""

Id: TypeAlias = Annotated[str, Meta(min_length=1, max_length=ID_CHARS_MAX)]
"""What a client calls a subscription, an advertisement or a publication."""

Count: TypeAlias = Annotated[int, Meta(ge=0)]
