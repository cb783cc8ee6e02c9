"""Filters of each dialect, XPaths and advertisements: a value, or a refusal with its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any, Final

from sapwood.errors import InputError
from sapwood.language import parse_filter
from sapwood.language.advertisements import parse_advertisement
from sapwood.language.xpath import parse_xpath
from sapwood.limits import FILTER_STEPS_AT_ONCE
from sapwood.model.filter import Filter
from sapwood_lab.fuzz.driver import Target
from sapwood_lab.fuzz.grammar import CESQL, HOUSE, JMS, XPATH, Grammar
from sapwood_lab.fuzz.mutation import changed_value, mutated_text, pick

_PATTERNS: Final[tuple[Any, ...]] = (
    {"a": ["x", 1, True]},
    {"a": [{"prefix": "x"}, {"suffix": "y"}, {"equals-ignore-case": "z"}]},
    {"price": [{"numeric": [">", 0, "<=", 100]}], "b": [{"exists": False}]},
    {"a": [{"anything-but": ["x", "y"]}], "c": [{"anything-but": {"prefix": "z"}}]},
    {"$or": [{"a": [1]}, {"b": [{"numeric": ["=", 3.5]}]}], "d": [{"wildcard": "a*b"}]},
    {"detail": {"deep": {"er": [{"exists": True}]}, "other": ["x"]}},
    {"a": [None], "b": [{"cidr": "10.0.0.0/24"}], "c": [{"prefix": {"equals-ignore-case": "x"}}]},
    {"$or": ["x"], "a": [{"exactly": "x"}]},
)
_ADVERTISEMENTS: Final = ("/a/b", "/r(/a|/b)+/c", "/r(/a(/b)+)+", "/*/a", "/a(/b|/c/d)+", "/a/@b")


def _drawn(grammar: Grammar) -> Callable[[Random], str]:
    seeds = [grammar.draw(Random(number)) for number in range(50)]  # noqa: S311 - no secret

    def draw(random: Random) -> str:
        text = grammar.draw(random)
        return mutated_text(random, text, seeds) if random.random() < 0.6 else text

    return draw


def _pattern(random: Random) -> str:
    value = pick(random, _PATTERNS)
    for _ in range(int(random.random() * 3)):
        value = changed_value(random, value)
    try:
        text = json.dumps(value, ensure_ascii=random.random() < 0.5)
    except TypeError:  # bytes are no JSON
        text = json.dumps(pick(random, _PATTERNS))
    return mutated_text(random, text, (text,)) if random.random() < 0.3 else text


def _advertisement(random: Random) -> str:
    return mutated_text(random, pick(random, _ADVERTISEMENTS), _ADVERTISEMENTS)


def _reader(dialect: str | None) -> Callable[[str], Any]:
    """Reads a filter; what it is written as gives the same one."""

    def read(text: str) -> Any:
        found = parse_filter(text, dialect=dialect, steps_max=FILTER_STEPS_AT_ONCE)
        written = str(found)
        assert _again(written) in (None, written), f"{written!r} is read as {_again(written)!r}"
        return written, found.packed

    return read


def _again(written: str) -> str | None:
    """The filter of a canonical text, as text; `None` where it takes more work than its source."""
    try:
        again: Filter = parse_filter(written)
    except InputError as error:
        if type(error).__name__ == "LimitError":
            return None
        raise AssertionError(f"the canonical text {written!r} is refused: {error}") from error
    return str(again)


def _xpath(text: str) -> Any:
    found = parse_xpath(text, {"p": "urn:p"})
    written = str(found)
    again = str(parse_xpath(written, found.namespaces))
    assert again == written, f"{written!r} is read as {again!r}"
    return written


def targets() -> list[Target]:
    """The targets of this module."""
    return [
        Target("filters", 22, _drawn(HOUSE), _reader(None)),
        Target("selectors of JMS", 8, _drawn(JMS), _reader("jms")),
        Target("CloudEvents SQL", 8, _drawn(CESQL), _reader("cesql")),
        Target("policies of SNS", 8, _pattern, _reader("sns")),
        Target("patterns of EventBridge", 8, _pattern, _reader("eventbridge")),
        Target("XPaths", 40, _drawn(XPATH), _xpath),
        Target("advertised paths", 15, _advertisement, lambda text: str(parse_advertisement(text))),
    ]
