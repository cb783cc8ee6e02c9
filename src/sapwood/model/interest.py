"""Interests: filters of either language."""

from __future__ import annotations

from abc import abstractmethod

from sapwood.model.advertised_content import AdvertisedContent


class Interest(AdvertisedContent):
    """The filter of a subscription: a `Filter` of records, or a `TreePattern` of documents.

    Nothing is covered or intersected across kinds: a filter of records looks at the record of a
    publication, a tree pattern at its document.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def accepts_nothing(self) -> bool:
        """True if surely no publication is accepted; `False` where that is unknown."""
