"""Other spellings of record filters: their texts become the same normal form.

A dialect is translated exactly, or refused at the place of a condition that no filter here can
represent. No module below the language knows of dialects: a filter that came in one travels, is
kept and is shown in the language of `docs/filters.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from sapwood.catalogue import Catalogue
from sapwood.language.syntax import Node

HOUSE: Final = "sapwood"
"""The name of the language that is no dialect."""


class Dialect(NamedTuple):
    """A spelling of record filters.

    `load` imports the function that reads a text of the dialect as a syntax tree, when it is first
    needed. A text of a dialect that `is_json` is a JSON object, and may stand in a file of JSON
    Lines as such.
    """

    name: str
    summary: str
    load: Callable[[], Callable[[str], Node]]
    is_json: bool = False


def _sapwood() -> Callable[[str], Node]:
    from sapwood.language.parser import parse

    return parse


def _jms() -> Callable[[str], Node]:
    from sapwood.language.dialects.jms import parse

    return parse


def _cesql() -> Callable[[str], Node]:
    from sapwood.language.dialects.cesql import parse

    return parse


def _sns() -> Callable[[str], Node]:
    from sapwood.language.dialects.patterns import parse_policy

    return parse_policy


def _eventbridge() -> Callable[[str], Node]:
    from sapwood.language.dialects.patterns import parse_pattern

    return parse_pattern


DIALECTS: Final = Catalogue(
    "dialect",
    Dialect,
    (
        Dialect(HOUSE, "the language of docs/filters.md, as without a dialect", _sapwood),
        Dialect("cesql", "CloudEvents SQL 1.0", _cesql),
        Dialect("jms", "message selectors of Jakarta Messaging (JMS)", _jms),
        Dialect("sns", "subscription filter policies of Amazon SNS", _sns, is_json=True),
        Dialect("eventbridge", "event patterns of Amazon EventBridge", _eventbridge, is_json=True),
    ),
)
"""The values of `--dialect`. A filter without one is in the language of the house."""
