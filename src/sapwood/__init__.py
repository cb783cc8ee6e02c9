"""Sapwood: content-based publish/subscribe.

The public names live here; everything heavy is imported when it is first used, so that
`import sapwood` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sapwood.client import connect
    from sapwood.errors import (
        FilterTypeWarning,
        NeverMatchesWarning,
        SapwoodError,
        UnfitDeliveryError,
    )
    from sapwood.language import parse_filter
    from sapwood.language.advertisements import parse_advertisement
    from sapwood.language.xpath import parse_xpath
    from sapwood.matching.index import Index
    from sapwood.model.filter import Filter, Merge
    from sapwood.model.patterns.pattern import TreePattern
    from sapwood.model.publication import Publication
    from sapwood.model.subscription import Subscription

__version__ = "0.1.0"
__all__ = (
    "Filter",
    "FilterTypeWarning",
    "Index",
    "Merge",
    "NeverMatchesWarning",
    "Publication",
    "SapwoodError",
    "Subscription",
    "TreePattern",
    "UnfitDeliveryError",
    "connect",
    "parse_advertisement",
    "parse_filter",
    "parse_xpath",
)

_HOMES: Final = (
    ("Filter", "sapwood.model.filter"),
    ("FilterTypeWarning", "sapwood.errors"),
    ("Index", "sapwood.matching.index"),
    ("Merge", "sapwood.model.filter"),
    ("NeverMatchesWarning", "sapwood.errors"),
    ("Publication", "sapwood.model.publication"),
    ("SapwoodError", "sapwood.errors"),
    ("Subscription", "sapwood.model.subscription"),
    ("TreePattern", "sapwood.model.patterns.pattern"),
    ("UnfitDeliveryError", "sapwood.errors"),
    ("connect", "sapwood.client"),
    ("parse_advertisement", "sapwood.language.advertisements"),
    ("parse_filter", "sapwood.language"),
    ("parse_xpath", "sapwood.language.xpath"),
)


def __getattr__(name: str) -> object:
    for public, home in _HOMES:
        if public == name:
            return getattr(import_module(home), name)
    message = f"module 'sapwood' has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted((*__all__, "__version__"))
