"""Message selectors by the letter of their specification (Jakarta Messaging 3.1, 3.8.1).

A selector is a tuple here: drawn, written as text, and evaluated with SQL's three values, of which
`None` is *unknown*. Nothing of the product is used, neither its parser nor its values' sets.
"""

from __future__ import annotations

import re
from typing import Any

from hypothesis import strategies as st

Tree = tuple[Any, ...]

NAMES = ("a", "b", "detail.state", "$c")
NUMBERS = (0, 1, 2, 5, -1, 1.5, 2.5, 10**6)
TEXTS = ("", "a", "ab", "b%", "it's", "a_b", "5", "true", "A")
PATTERNS = ("a%", "%b", "a_b", "%", "", "_", "a!_%", "%!%", "it's", "%a%b%")


def evaluate(tree: Tree, record: dict[str, Any]) -> bool | None:
    """True, false, or `None` for unknown."""
    kind, *parts = tree
    if kind == "not":
        inner = evaluate(parts[0], record)
        return None if inner is None else not inner
    if kind in ("and", "or"):
        values = [evaluate(part, record) for part in parts]
        decisive: bool = kind == "or"
        if decisive in values:
            return decisive
        return None if None in values else not decisive
    if kind == "constant":
        return bool(parts[0])
    name = parts[0]
    value = record.get(name)
    if kind == "null":
        return value is None
    if value is None:
        return None
    if kind == "bare":
        return value is True
    if kind == "in":
        return isinstance(value, str) and value in parts[1]
    if kind == "like":
        return isinstance(value, str) and _like(value, parts[1], parts[2])
    if kind == "between":
        return _compare(value, ">=", parts[1]) and _compare(value, "<=", parts[2])
    if kind == "not between":
        return _compare(value, "<", parts[1]) or _compare(value, ">", parts[2])
    assert kind == "compare"
    return _compare(value, parts[1], parts[2])


def _compare(value: Any, sign: str, other: Any) -> bool:
    def type_of(one: Any) -> str:
        return "boolean" if isinstance(one, bool) else "text" if isinstance(one, str) else "number"

    if type_of(value) != type_of(other):
        return False
    return bool(
        {
            "=": value == other,
            "<>": value != other,
            "<": type_of(value) == "number" and value < other,
            "<=": type_of(value) == "number" and value <= other,
            ">": type_of(value) == "number" and value > other,
            ">=": type_of(value) == "number" and value >= other,
        }[sign]
    )


def _like(value: str, pattern: str, escape: str | None) -> bool:
    expression, chars = "", iter(pattern)
    for char in chars:
        if escape is not None and char == escape:
            expression += re.escape(next(chars))
        else:
            expression += {"%": ".*", "_": "."}.get(char) or re.escape(char)
    return re.fullmatch(expression, value, re.DOTALL) is not None


def write(tree: Tree) -> str:
    """The selector as text, in parentheses wherever that may matter."""
    kind, *parts = tree
    if kind == "not":
        return f"NOT ({write(parts[0])})"
    if kind in ("and", "or"):
        return f" {kind} ".join(f"({write(part)})" for part in parts)
    if kind == "constant":
        return str(parts[0]).upper()
    name = parts[0]
    if kind == "null":
        return f"{name} IS NULL"
    if kind == "bare":
        return str(name)
    if kind == "in":
        return f"{name} In ({', '.join(map(_value, parts[1]))})"
    if kind == "like":
        tail = "" if parts[2] is None else f" escape {_value(parts[2])}"
        return f"{name} like {_value(parts[1])}{tail}"
    if kind in ("between", "not between"):
        return f"{name} {kind} {_value(parts[1])} and {_value(parts[2])}"
    return f"{name} {parts[1]} {_value(parts[2])}"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def selectors() -> st.SearchStrategy[Tree]:
    """Selectors that filters can say."""
    names, numbers = st.sampled_from(NAMES), st.sampled_from(NUMBERS)
    texts = st.sampled_from(TEXTS)
    patterns = st.sampled_from(PATTERNS).map(lambda p: (p, "!" if "!" in p else None))
    leaves = st.one_of(
        st.tuples(
            st.just("compare"), names, st.sampled_from(("=", "<>", "<", "<=", ">", ">=")), numbers
        ),
        st.tuples(
            st.just("compare"), names, st.sampled_from(("=", "<>")), st.one_of(texts, st.booleans())
        ),
        st.tuples(st.sampled_from(("between", "not between")), names, numbers, numbers),
        st.tuples(st.just("in"), names, st.lists(texts, min_size=1, max_size=3)),
        st.builds(lambda name, pattern: ("like", name, *pattern), names, patterns),
        st.tuples(st.just("null"), names),
        st.tuples(st.just("bare"), names),
        st.tuples(st.just("constant"), st.booleans()),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(st.just("not"), inner),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: ("and", *parts)),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: ("or", *parts)),
        ),
        max_leaves=6,
    )


def records() -> st.SearchStrategy[dict[str, Any]]:
    """Records that have some of the attributes."""
    values = st.one_of(st.sampled_from(NUMBERS), st.sampled_from(TEXTS), st.booleans())
    return st.dictionaries(st.sampled_from(NAMES), values)
