"""Subscriptions: an identity, a filter, and where the subscriber lives."""

from __future__ import annotations

from dataclasses import dataclass

from sapwood.errors import InvalidValueError
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.patterns.pattern import TreePattern


@dataclass(frozen=True, slots=True)
class Subscription:
    """A standing interest: every publication that `filter` accepts is to be delivered.

    `home` names the router whose client owns the subscription; `None` where it is not set yet (a
    simulation then draws one with its seed).
    """

    id: str
    filter: Interest
    home: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id:
            raise InvalidValueError("id", "a subscription needs a non-empty text as its id")
        if not isinstance(self.filter, Filter | TreePattern):
            kind = type(self.filter).__name__
            raise InvalidValueError(
                "filter", f"it is what parse_filter or parse_xpath returns, not {kind}"
            )

    @property
    def record_filter(self) -> Filter:
        """The filter as a record filter, for callers that handle only records.

        Raises `InvalidValueError` for a subscription to documents.
        """
        if not isinstance(self.filter, Filter):
            raise InvalidValueError(
                "xpath", f"{self.id!r} asks for documents; only records go here"
            )
        return self.filter
