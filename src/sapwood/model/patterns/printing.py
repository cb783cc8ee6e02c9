"""Conditions back to XPath: `parse_xpath(print(p)) == p`.

The last element below continues the path, every other condition becomes a predicate, and the
shorthands `b = 'x'` and `.//@name` are used where they mean the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from sapwood.model.patterns.comparison import Comparison
from sapwood.model.patterns.conditions import (
    ALWAYS,
    AllOf,
    AnyOf,
    Attribute,
    Axis,
    Below,
    Condition,
    NameTest,
    StringValue,
    Text,
    of_within,
    parts,
)


def print_path(below: Below, prefixes: Mapping[str, str]) -> str:
    """The expression of a pattern; `prefixes` holds the prefix of every namespace in it."""
    return _Printer(prefixes).path(below)


def print_condition(condition: Condition, prefixes: Mapping[str, str]) -> str:
    """A condition on an element, as it stands in a predicate; `prefixes` as in `print_path`."""
    return _Printer(prefixes).operand(condition)


class _Printer:
    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self.prefixes = prefixes

    def path(self, below: Below) -> str:
        """From the document on: axis, name, predicates, and so on."""
        return f"{below.axis.value}{self.name(below.test)}{self.rest(below.condition)}"

    def rest(self, condition: Condition) -> str:
        """The text that follows the name of an element: predicates, then the path below it."""
        *others, last = parts(condition) or (ALWAYS,)
        shown = "".join(f"[{self.alternatives(one)}]" for one in others)
        if isinstance(last, Below):
            return shown + self.path(last)
        return shown if last == ALWAYS else f"{shown}[{self.alternatives(last)}]"

    def alternatives(self, condition: Condition) -> str:
        """A condition as it stands between brackets."""
        if isinstance(condition, AnyOf) and self.shorthand(condition) is None:
            return " or ".join(self.conjunction(one) for one in condition.operands)
        return self.conjunction(condition)

    def conjunction(self, condition: Condition) -> str:
        """A condition as an operand of `or`."""
        if isinstance(condition, AllOf) and condition != ALWAYS:
            return " and ".join(self.operand(one) for one in condition.operands)
        return self.operand(condition)

    def operand(self, condition: Condition) -> str:
        """A condition as an operand of `and`."""
        match condition:
            case Below(axis=axis, test=test, condition=inner):
                start = ".//" if axis is Axis.DESCENDANT else ""
                return f"{start}{self.name(test)}{self.rest_of_operand(inner)}"
            case AnyOf():
                short = self.shorthand(condition)
                return f"({self.alternatives(condition)})" if short is None else f".//{short}"
            case AllOf():
                return f"({self.alternatives(condition)})" if condition.operands else "."
            case StringValue(comparison=comparison):
                return f".{comparison}"
            case Attribute() | Text():
                return self.leaf(condition)

    def rest_of_operand(self, condition: Condition) -> str:
        """The text that follows a name in a predicate, where a path may end in a comparison."""
        match condition:
            case Below(axis=axis, test=test, condition=inner):
                return f"{axis.value}{self.name(test)}{self.rest_of_operand(inner)}"
            case StringValue(comparison=comparison):
                return str(comparison)
            case Attribute() | Text():
                return f"/{self.leaf(condition)}"
            case AnyOf():
                short = self.shorthand(condition)
                return self.rest(condition) if short is None else f"//{short}"
            case _:
                return self.rest(condition)

    def shorthand(self, condition: AnyOf) -> str | None:
        """`.//@name` or `.//text()` without its beginning, if the disjunction has that meaning."""
        one = of_within(condition)
        return None if one is None else self.leaf(one)

    def leaf(self, leaf: Attribute | Text) -> str:
        """An attribute or a text node, with its comparison."""
        name = f"@{self.name(leaf.test)}" if isinstance(leaf, Attribute) else "text()"
        return f"{name}{_shown(leaf.comparison)}"

    def name(self, test: NameTest | None) -> str:
        """A name, with the prefix of its namespace."""
        if test is None:
            return "*"
        return f"{self.prefixes[test.namespace]}:{test.local}" if test.namespace else test.local


def _shown(comparison: Comparison | None) -> str:
    return "" if comparison is None else str(comparison)
