"""Filter policies and event patterns by the letter of their documentation, on decoded JSON.

Written from the guides of Amazon SNS and EventBridge and the README of event-ruler; nothing of the
product is used. Records hold no `null`, as here that is the same as absent. An array matches if one
of its elements does, those of arrays inside it as well; without any it is not there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

NAMES = ("a", "b", "state")
NUMBERS = (0, 1, 2, 5, -1, 1.5, 2.5)
TEXTS = ("", "a", "ab", "b*c", "bxc", "a\\b", "5", "true", "AB")


def matches(pattern: Mapping[str, Any], record: Mapping[str, Any], *, sns: bool) -> bool:
    """True if every key matches."""
    for key, wanted in pattern.items():
        if key == "$or" and isinstance(wanted, list):
            if not any(matches(one, record, sns=sns) for one in wanted):
                return False
        elif isinstance(wanted, dict):
            inner = record.get(key)
            if not matches(wanted, inner if isinstance(inner, dict) else {}, sns=sns):
                return False
        elif not any(
            _one(each, value, sns=sns) for each in wanted for value in _values(record.get(key))
        ):
            return False
    return True


def _values(given: Any) -> list[Any]:
    """The elements of an array, or a value alone; `None` where there is none."""
    if not isinstance(given, list):
        return [given]
    leaves = [leaf for element in given for leaf in _values(element) if leaf is not None]
    return leaves or [None]


def _one(wanted: Any, value: Any, *, sns: bool) -> bool:
    if isinstance(value, dict):  # operators look at leaves alone
        value = None
    if not isinstance(wanted, dict):
        return value is not None and _same(wanted, value)
    ((name, argument),) = wanted.items()
    if name == "exists":
        is_there = value is not None and not (sns and value == "")
        return is_there is argument
    if value is None:
        return False
    if name == "numeric":
        return _is_number(value) and all(
            _compare(value, *argument[at : at + 2]) for at in range(0, len(argument), 2)
        )
    if name == "anything-but":
        if isinstance(argument, dict):
            ((inner, texts),) = argument.items()
            each = texts if isinstance(texts, list) else [texts]
            return not any(_one({inner: text}, value, sns=sns) for text in each)
        each = argument if isinstance(argument, list) else [argument]
        return not any(_same(one, value) for one in each)
    if not isinstance(value, str):
        return False
    if name == "equals-ignore-case":
        return bool(value.lower() == argument.lower())
    if name in ("prefix", "suffix"):
        if isinstance(argument, dict):
            value, argument = value.lower(), argument["equals-ignore-case"].lower()
        return bool(value.startswith(argument) if name == "prefix" else value.endswith(argument))
    assert name == "wildcard"
    parts = re.findall(r"\\.|\*|[^\\*]", argument, re.DOTALL)
    expression = "".join(".*" if part == "*" else re.escape(part[-1]) for part in parts)
    return re.fullmatch(expression, value, re.DOTALL) is not None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) and (
        type(one) is type(other) or (_is_number(one) and _is_number(other))
    )


def _compare(value: Any, sign: str, other: Any) -> bool:
    return bool(
        {
            "=": value == other,
            "<": value < other,
            "<=": value <= other,
            ">": value > other,
            ">=": value >= other,
        }[sign]
    )


def _named(name: str, given: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return given.map(lambda value: {name: value})


def patterns(depth: int = 1) -> st.SearchStrategy[dict[str, Any]]:
    """Patterns that filters can say."""
    texts = st.sampled_from(TEXTS)
    wild = st.sampled_from(("a*", "*b", "b\\*c", "b*c", "*", "", "a\\\\b"))
    spelled = st.one_of(texts, _named("equals-ignore-case", texts))
    one_text = {
        "prefix": spelled,
        "suffix": spelled,
        "wildcard": wild,
        "equals-ignore-case": texts,
    }
    ranges = st.tuples(
        st.sampled_from((">", ">=")),
        st.just(0),
        st.sampled_from(("<", "<=")),
        st.sampled_from((1, 2.5)),
    ).map(list)
    single = st.tuples(st.sampled_from(("=", "<", "<=", ">", ">=")), st.sampled_from(NUMBERS)).map(
        list
    )
    scalars = st.one_of(st.sampled_from(NUMBERS), texts, st.booleans())
    excluded = st.one_of(
        texts,
        st.sampled_from(NUMBERS),
        st.lists(texts, min_size=1, max_size=3),
        st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=3),
        *(
            _named(name, st.one_of(strategy, st.lists(strategy, min_size=1, max_size=2)))
            for name, strategy in one_text.items()
        ),
    )
    elements = st.one_of(
        scalars,
        st.booleans().map(lambda there: {"exists": there}),
        st.one_of(ranges, single).map(lambda given: {"numeric": given}),
        excluded.map(lambda given: {"anything-but": given}),
        *(_named(name, strategy) for name, strategy in one_text.items()),
    )
    arrays = st.lists(elements, min_size=1, max_size=2)
    values = arrays if depth == 0 else st.one_of(arrays, arrays, patterns(depth - 1))
    members = st.dictionaries(st.sampled_from(NAMES), values, min_size=1, max_size=2)
    if depth == 0:
        return members
    alternatives = st.lists(patterns(depth - 1), min_size=2, max_size=2)
    return st.one_of(
        members,
        members,
        st.builds(lambda given, some: {**given, "$or": some}, members, alternatives),
    )


def records(depth: int = 2) -> st.SearchStrategy[dict[str, Any]]:
    """Nested records, some of whose attributes are arrays; never quite without any attribute."""
    scalars = st.one_of(st.sampled_from(NUMBERS), st.sampled_from(TEXTS), st.booleans())
    arrays = st.lists(st.one_of(scalars, scalars, st.lists(scalars, max_size=2)), max_size=3)
    values = st.one_of(scalars, scalars, arrays)
    if depth:
        values = st.one_of(values, values, records(depth - 1))
    # Not quite without any: an attribute that no pattern names is there.
    named = st.dictionaries(st.sampled_from(NAMES), values, min_size=1)
    return named.map(lambda record: {"other": 1, **record})
