"""The obvious index: compare every filter. Other indexes are compared with it."""

from __future__ import annotations

from itertools import islice

from sapwood.model.advertised_content import AdvertisedContent


class ReferenceCovering:
    """A scan with `covers`, in the order in which filters were added."""

    __slots__ = ("_filters",)

    def __init__(self) -> None:
        self._filters: dict[int, AdvertisedContent] = {}

    def __len__(self) -> int:
        """The number of filters."""
        return len(self._filters)

    def add(self, key: int, filter: AdvertisedContent) -> None:
        """Add a filter under a free key."""
        assert key not in self._filters, f"key {key} is taken"
        self._filters[key] = filter

    def remove(self, key: int) -> None:
        """Remove a filter."""
        del self._filters[key]

    def cov(self, filter: AdvertisedContent, limit: int) -> list[int]:
        """The keys of the first `limit` filters that cover `filter`."""
        found = (k for k, f in self._filters.items() if f.covers(filter) and f != filter)
        return list(islice(found, limit))

    def covered(self, filter: AdvertisedContent) -> list[int]:
        """The keys of all filters that `filter` covers."""
        return [k for k, f in self._filters.items() if filter.covers(f) and f != filter]

    def validate(self) -> None:
        """Do nothing: there is one table, so nothing can disagree."""
