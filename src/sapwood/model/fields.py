"""Types of message fields with their bounds, which are checked where a message is read."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

from sapwood.limits import ID_CHARS_MAX, NAME_CHARS_MAX

Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX)]
"""The name of a router or a client."""

Id: TypeAlias = Annotated[str, Meta(min_length=1, max_length=ID_CHARS_MAX)]
"""The id that a client gives a subscription, an advertisement or a publication."""

Count: TypeAlias = Annotated[int, Meta(ge=0)]
