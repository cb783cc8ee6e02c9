"""CloudEvents SQL by the letter of its specification (1.0, sections 3.2 to 3.7).

An expression is a tuple here: drawn, written as text, and evaluated on an event. An error is an
exception, as an event that leads to one does not pass (section 1.2). Nothing of the product is
used.
"""

from __future__ import annotations

import re
from typing import Any

from hypothesis import strategies as st

Tree = tuple[Any, ...]

NAMES = ("subject", "a", "b")
TEXTS = ("", "a", "A", "ab", "5", "05", "-1", "+7", "true", "TRUE", "False", "x.png", "99999999999")
INTEGERS = (0, 1, 5, -1, 7, 2**31 - 1)
PATTERNS = ("a%", "%.png", "_", "a_", "%", "x\\%", "true", "5", "%e", "_%")


class EventError(Exception):
    """Something on the way was an error."""


def evaluate(tree: Tree, event: dict[str, Any]) -> Any:
    """The value; raises `EventError`."""
    kind, *parts = tree
    if kind == "literal":
        return parts[0]
    if kind == "attribute":
        if parts[0] not in event:
            raise EventError
        return event[parts[0]]
    if kind == "exists":
        return parts[0] in event
    if kind in ("and", "or"):
        for part in parts:
            if _boolean(evaluate(part, event)) is (kind == "or"):
                return kind == "or"
        return kind == "and"
    if kind == "call":
        value = evaluate(parts[1], event)
        cast = {"INT": _integer, "BOOL": _boolean, "STRING": _text}.get(parts[0])
        return _text(value).lower() if cast is None else cast(value)
    if kind == "not":
        return not _boolean(evaluate(parts[0], event))
    left = evaluate(parts[0], event)
    if kind == "like":
        return _like(_text(left), parts[1])
    if kind == "in":
        found = [_like_type_of(left, evaluate(one, event)) for one in parts[1]]
        return left in found
    right = evaluate(parts[1], event)
    if kind == "xor":
        return _boolean(left) is not _boolean(right)
    if kind in ("=", "!=", "<>"):
        return (_like_type_of(right, left) == right) is (kind == "=")
    left, right = _integer(left), _integer(right)
    if kind in ("+", "-", "*"):
        return left + right if kind == "+" else left - right if kind == "-" else left * right
    orders = {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}
    return orders[kind]


def passes(tree: Tree, event: dict[str, Any]) -> bool:
    """True if the event passes the expression as a filter."""
    try:
        return evaluate(tree, event) is True
    except EventError:
        return False


def _like_type_of(example: Any, value: Any) -> Any:
    if isinstance(example, bool):
        return _boolean(value)
    return _text(value) if isinstance(example, str) else _integer(value)


def _integer(value: Any) -> int:
    if isinstance(value, str):
        if re.fullmatch("[+-]?[0-9]+", value) is None:
            raise EventError
        if not -(2**31) <= int(value) < 2**31:
            raise EventError
    return int(value)


def _boolean(value: Any) -> bool:
    if isinstance(value, str):
        if value.lower() in ("true", "false"):
            return value.lower() == "true"
        raise EventError
    return bool(value != 0)


def _text(value: Any) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def _like(value: str, pattern: str) -> bool:
    pieces = re.findall(r"\\[%_]|.", pattern, re.DOTALL)
    wild = {"%": ".*", "_": "."}
    expression = "".join(wild.get(piece) or re.escape(piece[-1]) for piece in pieces)
    return re.fullmatch(expression, value, re.DOTALL) is not None


def write(tree: Tree) -> str:
    """The expression as text, in parentheses wherever that may matter."""
    kind, *parts = tree
    if kind == "literal":
        value = parts[0]
        if isinstance(value, str):
            return "'" + value.replace("'", "\\'") + "'"
        return _text(value).upper()
    if kind == "attribute":
        return str(parts[0])
    if kind == "exists":
        return f"EXISTS {parts[0]}"
    if kind in ("and", "or", "xor"):
        return f" {kind.upper()} ".join(f"({write(part)})" for part in parts)
    if kind == "call":
        return f"{parts[0]}({write(parts[1])})"
    if kind == "not":
        return f"not ({write(parts[0])})"
    if kind == "like":
        return f"{write(parts[0])} LIKE '{parts[1]}'"
    if kind == "in":
        return f"{write(parts[0])} IN ({', '.join(map(write, parts[1]))})"
    return f"({write(parts[0])}) {kind} ({write(parts[1])})"


def expressions() -> st.SearchStrategy[Tree]:
    """Expressions that filters can say: attributes beside constants only."""
    attribute = st.tuples(st.just("attribute"), st.sampled_from(NAMES))
    scalars = st.one_of(st.sampled_from(TEXTS), st.sampled_from(INTEGERS), st.booleans())
    literal = st.tuples(st.just("literal"), scalars)
    reckoned = st.tuples(
        st.sampled_from("+-*"),
        st.tuples(st.just("literal"), st.sampled_from(("5", True, 3, "x"))),
        st.tuples(st.just("literal"), st.sampled_from((0, 2, "-1"))),
    )
    constant = st.one_of(literal, literal, literal, reckoned)
    equality = st.sampled_from(("=", "!=", "<>"))
    order = st.sampled_from(("<", "<=", ">", ">="))
    whole = st.one_of(attribute, st.tuples(st.just("call"), st.just("INT"), attribute))
    texts = st.tuples(st.just("literal"), st.sampled_from(TEXTS))
    lower = st.tuples(st.just("call"), st.just("LOWER"), attribute)
    leaves = st.one_of(
        st.tuples(equality, attribute, constant),
        st.tuples(equality, constant, attribute),
        st.tuples(equality, constant, constant),
        st.tuples(order, whole, constant),
        st.tuples(order, constant, whole),
        st.tuples(equality, lower, texts),
        st.tuples(equality, st.tuples(st.just("call"), st.just("STRING"), attribute), texts),
        st.tuples(st.just("like"), attribute, st.sampled_from(PATTERNS)).filter(
            lambda tree: tree[1][1] == "subject" or tree[2] not in ("_", "a_")
        ),
        st.tuples(st.just("in"), attribute, st.lists(literal, min_size=1, max_size=3)),
        st.tuples(st.just("call"), st.just("BOOL"), attribute),
        st.tuples(st.just("exists"), st.sampled_from(NAMES)),
        st.booleans().map(lambda value: ("literal", value)),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(st.just("not"), inner),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: ("and", *parts)),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: ("or", *parts)),
            st.tuples(st.just("xor"), inner, inner),
            st.tuples(equality, inner, literal),
            st.tuples(st.just("="), inner, inner),
        ),
        max_leaves=5,
    )


def events() -> st.SearchStrategy[dict[str, Any]]:
    """Attributes of events; `subject` is a text, as the attributes of CloudEvents itself are."""
    texts = st.sampled_from(TEXTS)
    values = st.one_of(texts, st.sampled_from(INTEGERS), st.booleans())
    others = st.dictionaries(st.sampled_from(("a", "b")), values)
    return st.tuples(others, st.one_of(st.none(), texts)).map(
        lambda pair: pair[0] if pair[1] is None else {**pair[0], "subject": pair[1]}
    )
