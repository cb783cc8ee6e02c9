"""Indexes: sets of filters that return the filters which accept a publication.

`Index` is the public class: filters by id. Behind it stands one of several engines (`ENGINES`),
each an implementation of `protocol.Engine`; `check_index` is the conformance suite that all of them
pass, with the corpus of cases in `corpus/`. Each module is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sapwood.matching.checks import check_index
    from sapwood.matching.engines import ENGINES, EngineInfo
    from sapwood.matching.index import Index

__all__ = ("ENGINES", "EngineInfo", "Index", "check_index")

_HOMES: Final = (
    ("ENGINES", "sapwood.matching.engines"),
    ("EngineInfo", "sapwood.matching.engines"),
    ("Index", "sapwood.matching.index"),
    ("check_index", "sapwood.matching.checks"),
)


def __getattr__(name: str) -> object:
    for public, home in _HOMES:
        if public == name:
            return getattr(import_module(home), name)
    message = f"module 'sapwood.matching' has no attribute {name!r}"
    raise AttributeError(message)
