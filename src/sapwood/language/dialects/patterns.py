"""Filter policies of Amazon SNS and event patterns of Amazon EventBridge as record filters.

Both are JSON objects: every key has to match, by one of the values in its array. Keys nest as
records do, and `$or` holds alternatives. The two services run the same matcher and differ in the
numbers that they accept and in their definition of a present attribute.

A condition that no filter can represent is refused: `null` (here the same as absent) and `cidr`.
Numbers compare by value, however they are spelled, and texts without case by their lower case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from sapwood.errors import FilterSyntaxError, InputError, LimitError
from sapwood.language.dialects import outcomes
from sapwood.language.rewrites.conditions import compared
from sapwood.language.syntax import And, Node, Operator, Or
from sapwood.limits import FILTER_TEXT_CHARS_MAX, RECORD_DEPTH_MAX
from sapwood.model import constraint as c
from sapwood.model import strings
from sapwood.model.constraint import Constraint
from sapwood.model.json_objects import kind_of
from sapwood.model.like import Pattern, Wildcard
from sapwood.model.readings import Reading
from sapwood.model.strings import Strings, prefix_end

_RESERVED: Final = frozenset(
    (
        "anything-but",
        "cidr",
        "equals-ignore-case",
        "exactly",
        "exists",
        "numeric",
        "prefix",
        "suffix",
        "wildcard",
    )
)
"""Keys that an object below `$or` has not; with one of them `$or` is the name of an attribute."""


_REFUSED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "cidr": "addresses are texts here; write prefix for a network of whole parts",
    }
)
"""Operators that no filter can represent, and the reasons."""


_LOWER: Final = "lower"
_IGNORE_CASE: Final = "equals-ignore-case"


@dataclass(frozen=True, slots=True)
class _Rules:
    """The differences of the services: the range of numbers, and whether '' counts as present."""

    name: str
    number_max: float
    has_empty: bool


_SNS: Final = _Rules("a filter policy", 1e9, has_empty=False)
_EVENTBRIDGE: Final = _Rules("an event pattern", 5e9, has_empty=True)


def parse_policy(text: str) -> Node:
    """The syntax tree of the records that a filter policy of SNS accepts.

    Attributes of messages and members of their bodies are attributes alike. Raises `InputError`
    with the place (`store[0]`) of a value that is no policy, or that no filter can represent,
    `FilterSyntaxError` for a text that is no JSON, and `LimitError`.
    """
    return _Pattern(_SNS).read(text)


def parse_pattern(text: str) -> Node:
    """The syntax tree of the records that an event pattern accepts; errors as `parse_policy`."""
    return _Pattern(_EVENTBRIDGE).read(text)


class _Pattern:
    """Reads one pattern by the rules of its service."""

    def __init__(self, rules: _Rules) -> None:
        self.rules = rules
        self.operators: Mapping[str, Callable[[Any, str], Constraint]] = MappingProxyType(
            {
                "anything-but": self.anything_but,
                _IGNORE_CASE: _alike,
                "exists": self.exists,
                "numeric": self.numeric,
                "prefix": _prefix,
                "suffix": _suffix,
                "wildcard": _wildcard,
            }
        )

    def read(self, text: str) -> Node:
        """The syntax tree of a whole pattern."""
        members = _decoded(text)
        if not isinstance(members, dict):
            raise InputError(f"{self.rules.name} is a JSON object, not {kind_of(members)}")
        return self.members(members, "")

    def members(self, members: dict[str, Any], prefix: str) -> Node:
        """The conjunction of all members."""
        if not members:
            where = f"{prefix[:-1]}: " if prefix else ""
            raise InputError(f"{where}an object without keys says nothing; leave it out")
        nodes: list[Node] = []
        for key, value in members.items():
            name = prefix + key
            if not name or name.startswith("."):
                raise InputError(f"{name!r} is no name of an attribute")
            if key == "$or" and _is_alternatives(value):
                nodes.append(Or(tuple(self.members(one, prefix) for one in value)))
            elif isinstance(value, dict):
                nodes.append(self.members(value, f"{name}."))
            elif isinstance(value, list):
                nodes.append(self.attribute(name, value))
            else:
                hint = f"[{json.dumps(value, ensure_ascii=False)}]"
                raise InputError(f"{name}: values stand in an array; write {hint}")
        return nodes[0] if len(nodes) == 1 else And(tuple(nodes))

    def attribute(self, name: str, values: list[Any]) -> Node:
        """The condition that an attribute has one of the values."""
        if not values:
            raise InputError(f"{name}: an array without values matches nothing")
        parts = [self.values(one, f"{name}[{at}]") for at, one in enumerate(values)]
        nodes = tuple(outcomes.accepted(name, part) for part in c.united(parts))
        return nodes[0] if len(nodes) == 1 else Or(nodes)

    def values(self, given: Any, place: str) -> Constraint:
        """The values that one element of an array matches."""
        if given is None:
            raise InputError(f"{place}: null cannot be told from absent; write exists, or leave it")
        if isinstance(given, str | bool):
            return c.equal_to(given)
        if isinstance(given, int | float):
            return c.equal_to(self.number(given, place))
        if not isinstance(given, dict) or len(given) != 1:
            raise InputError(
                f"{place}: a value, or an object with one operator, not {_shown(given)}"
            )
        ((name, argument),) = given.items()
        operator = self.operators.get(name)
        if operator is None and name in _REFUSED:
            raise InputError(f"{place}.{name}: {_REFUSED[name]}")
        if operator is None:
            known = ", ".join(self.operators)
            raise InputError(f"{place}: there is no operator {name!r}; known are {known}")
        return operator(argument, f"{place}.{name}")

    def number(self, given: object, place: str) -> int | float:
        """A number, checked against the range of the service."""
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise InputError(f"{place}: a number, not {_shown(given)}")
        if not abs(given) <= self.rules.number_max:
            bound = f"{self.rules.number_max:,.0f}"
            raise InputError(f"{place}: numbers go from -{bound} to {bound}")
        return given

    def exists(self, given: Any, place: str) -> Constraint:
        """The values of an attribute that is present, or that is absent."""
        if not isinstance(given, bool):
            raise InputError(f"{place}: true or false, not {_shown(given)}")
        there = c.PRESENT
        if not self.rules.has_empty:
            there = outcomes.present_but(c.equal_to(""))
        if given:
            return there
        absent = there.complement()
        assert absent is not None, "there is no pattern in it"
        return absent

    def numeric(self, given: Any, place: str) -> Constraint:
        """The numbers in one comparison, or between the two ends of a range."""
        if not isinstance(given, list) or len(given) not in (2, 4):
            raise InputError(f'{place}: comparisons such as [">", 0, "<=", 5]')
        low = self.comparison(given[0], given[1], place)
        if len(given) == 2:
            return low
        if given[0] not in (">", ">=") or given[2] not in ("<", "<="):
            raise InputError(f"{place}: a range has > or >= first, and then < or <=")
        both = low.intersect(self.comparison(given[2], given[3], place))
        if given[1] >= given[3]:
            raise InputError(f"{place}: the lower end is not below the upper one")
        return both

    def comparison(self, sign: object, given: object, place: str) -> Constraint:
        """The numbers on one side of a number, or equal to it."""
        if sign not in ("=", "<", "<=", ">", ">="):
            raise InputError(f"{place}: the comparisons are =, <, <=, > and >=, not {_shown(sign)}")
        return compared(Operator(sign), self.number(given, place))

    def anything_but(self, given: Any, place: str) -> Constraint:
        """All present values but the given ones, or but the texts that fit the given patterns."""
        if isinstance(given, dict):
            return self.nothing_like(given, place)
        values = given if isinstance(given, list) else [given]
        are_texts = all(isinstance(one, str) for one in values)
        if not are_texts:
            values = [self.number(one, place) for one in values]
        if not values:
            raise InputError(f"{place}: an array without values excludes nothing")
        return outcomes.present_but(c.one_of(values))

    def nothing_like(self, given: dict[str, Any], place: str) -> Constraint:
        ((name, argument),) = given.items() if len(given) == 1 else (("", None),)
        operator = {
            "prefix": _prefix,
            "suffix": _suffix,
            "wildcard": _wildcard,
            _IGNORE_CASE: _alike,
        }.get(name)
        if operator is None:
            known = "prefix, suffix, wildcard or equals-ignore-case"
            raise InputError(f"{place}: takes values, {known}")
        left = c.PRESENT
        arguments = argument if isinstance(argument, list) else [argument]
        if not arguments:
            raise InputError(f"{place}.{name}: an array without values excludes nothing")
        for one in arguments:
            left = left.intersect(_outside(operator(one, f"{place}.{name}")))
        return left


_TEXT: Final = re.compile(r'"(?:[^"\\]++|\\.|\\\Z)*+(?:"|\Z)', re.DOTALL)
"""A text, which the end ends as well: nothing is read twice."""
_BRACKET: Final = re.compile(r"[\[\]{}]")


def _decoded(text: str) -> Any:
    """The JSON value of a text; no object in it has a key twice."""
    if len(text) > FILTER_TEXT_CHARS_MAX:
        subject = "the length of the filter"
        raise LimitError("FILTER_TEXT_CHARS_MAX", FILTER_TEXT_CHARS_MAX, len(text), subject)
    _check_depth(text)
    try:
        found = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
        json.dumps(found, ensure_ascii=False).encode()
    except InputError:
        raise
    except json.JSONDecodeError as error:
        raise FilterSyntaxError(text, error.pos, f"this is no JSON: {error.msg}") from None
    except UnicodeEncodeError:
        raise InputError("half of a surrogate pair is no character") from None
    except ValueError:
        raise InputError("a number has more digits than anybody reads") from None
    return found


def _check_depth(text: str) -> None:
    """Raise `LimitError` for JSON that is too deep, before any recursion into it."""
    if text.count("[") + text.count("{") <= RECORD_DEPTH_MAX:
        return
    depth = 0
    for bracket in _BRACKET.findall(_TEXT.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > RECORD_DEPTH_MAX:
            subject = "the nesting of the pattern"
            raise LimitError("RECORD_DEPTH_MAX", RECORD_DEPTH_MAX, None, subject)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for at, (key, _) in enumerate(pairs) if key in dict(pairs[:at]))
        raise InputError(f"{twice}: the key stands twice; which one counts would be chance")
    return found


def _no_constant(name: str) -> None:
    raise InputError(f"{name} is no number that JSON knows")


def _is_alternatives(value: Any) -> bool:
    """True if `$or` holds alternatives, and is no attribute of that name."""
    return (
        isinstance(value, list)
        and len(value) > 1
        and all(isinstance(one, dict) and _RESERVED.isdisjoint(one) for one in value)
    )


def _prefix(given: Any, place: str) -> Constraint:
    text, function = _spelled(given, place)
    return _read(strings.between(text, prefix_end(text)), function)


def _suffix(given: Any, place: str) -> Constraint:
    text, function = _spelled(given, place)
    return _read(strings.like(outcomes.pattern_of((Wildcard.ANY_RUN, text))), function)


def _alike(given: Any, place: str) -> Constraint:
    return _read(strings.point(_text(given, place).lower()), _LOWER)


def _spelled(given: Any, place: str) -> tuple[str, str | None]:
    """A text to compare with, and the function of the value that is compared, or `None`."""
    if isinstance(given, dict) and given.keys() == {_IGNORE_CASE}:
        return _text(given[_IGNORE_CASE], f"{place}.{_IGNORE_CASE}").lower(), _LOWER
    return _text(given, place), None


def _read(texts: Strings, function: str | None) -> Constraint:
    if function is not None:
        texts = strings.reads_as(Reading(function, texts))
    return Constraint(strings=texts)


def _wildcard(given: Any, place: str) -> Constraint:
    parts: list[str | Wildcard] = []
    chars = iter(_text(given, place))
    for char in chars:
        if char == "*":
            if parts and parts[-1] is Wildcard.ANY_RUN:
                raise InputError(f"{place}: two wildcards in a row; write one *")
            parts.append(Wildcard.ANY_RUN)
        elif char == "\\":
            literal = next(chars, "")
            if literal not in ("*", "\\"):
                raise InputError(rf"{place}: a backslash stands before * or another backslash")
            parts.append(literal)
        else:
            parts.append(char)
    return _fitting(parts)


def _fitting(parts: Iterable[str | Wildcard]) -> Constraint:
    return Constraint(strings=strings.like(outcomes.pattern_of(tuple(parts))))


def _outside(texts: Constraint) -> Constraint:
    """All present values but these texts, which one test or one set of ranges defines."""
    return replace(c.PRESENT, strings=_other_texts(texts.strings))


def _other_texts(texts: Strings) -> Strings:
    if texts.is_plain:
        others = strings.complement(texts)
        assert others is not None, "there is no pattern in it"
        return others
    (test,) = texts.required
    if isinstance(test, Pattern):
        return strings.not_like(test)
    assert not isinstance(test.values, tuple), "texts are compared"
    return strings.reads_as(replace(test, values=_other_texts(test.values)))


def _text(given: Any, place: str) -> str:
    if not isinstance(given, str):
        raise InputError(f"{place}: a text, not {_shown(given)}")
    return given


def _shown(given: Any) -> str:
    return kind_of(given)
