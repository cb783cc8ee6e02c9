"""Derived attributes: values that follow from the text of an attribute, as attributes beside it.

A text that ends in `ing` begins, read backwards, with `gni`: a range of texts. A text that reads as
an integer below 10 has such an integer: a range of numbers. So a suffix and a *reading*
(`model.readings`) become constraints on derived attributes, which have domains, ranks and clusters
like all others. Compiled code computes their values once for each record.

The values of a derived attribute, by the value of the attribute that it comes from::

    value                           reversed    lower           integer      timestamp
    absent, or no text              absent      absent          absent       absent
    a text without such a reading                               false        false
    a text                          backwards   in lower case   an integer   the instant in UTC

Where a conjunction accepts values that are no texts as well, it accepts absence here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias

from sapwood.matching.keys import text_bytes
from sapwood.model.constraint import Constraint
from sapwood.model.like import Pattern
from sapwood.model.numbers import complement as other_numbers
from sapwood.model.publication import Value
from sapwood.model.readings import FUNCTIONS, Reading
from sapwood.model.strings import Strings, TextTest, between, prefix_end
from sapwood.model.strings import complement as other_texts


class Function(IntEnum):
    """The function from a text to the derived value; kernels know the numbers."""

    REVERSED = 0
    LOWER = 1
    INTEGER = 2
    TIMESTAMP = 3


class Derived(NamedTuple):
    """An attribute that is derived from the texts of another one."""

    function: Function
    attribute: str

    @property
    def key(self) -> bytes:
        """The bytes of a name that no attribute has: they are no UTF-8, whatever follows."""
        return b"\xff%d" % self.function + text_bytes(self.attribute)

    def value(self, text: str) -> Value:
        """The value that is derived from a text."""
        if self.function is Function.REVERSED:
            return text[::-1]
        read = FUNCTIONS[self.function.name.lower()](text)
        return False if read is None else read


Attribute: TypeAlias = str | Derived
"""An attribute for which a segment has a domain."""

CONSTANT_BYTES_MAX: Final = 240
"""Bytes of a constant of a derived attribute: kernels derive no more of a text than distinguishes
it from these. A longer constant is tried instead, or cut where that is a weaker constraint."""

_UNREADABLE: Final = Constraint(booleans=frozenset((False,)))
_NO_TEXT_IS_REFUSED: Final = Strings((("", None),))


class Deduced(NamedTuple):
    """The constraints on derived attributes that the tests of a constraint imply."""

    constraints: tuple[tuple[Function, Constraint], ...]
    #: the tests, each with true if it is forbidden, to which the constraints are equivalent
    decided: frozenset[tuple[TextTest, bool]]


def deduced(constraint: Constraint) -> Deduced:
    """Constraints on derived attributes that follow from the patterns and readings of another."""
    held: dict[Function, Constraint] = {}
    decided: dict[Function, list[tuple[TextTest, bool]]] = {}
    for test, fails in text_tests(constraint.strings):
        part = _part(test, fails=fails)
        if part is None:
            continue
        function, accepted, is_exact = part
        known = held.get(function)
        held[function] = accepted if known is None else known.intersect(accepted)
        own = decided.setdefault(function, [])
        if is_exact:
            own.append((test, fails))
    # An empty constraint has no range; the tests themselves reject every text then.
    held = {function: one for function, one in held.items() if not one.is_empty}
    has_others = constraint.absent or bool(constraint.booleans) or bool(constraint.numbers)
    return Deduced(
        tuple((f, replace(one, absent=True) if has_others else one) for f, one in held.items()),
        frozenset(test for function in held for test in decided[function]),
    )


def text_tests(strings: Strings) -> Iterator[tuple[TextTest, bool]]:
    """The tests of a set of texts, each with true if a text must not pass it."""
    for test in strings.required:
        yield test, False
    for test in strings.forbidden:
        yield test, True


def _part(test: TextTest, *, fails: bool) -> tuple[Function, Constraint, bool] | None:
    """The constraint that a test implies, with its function and true if it is equivalent."""
    found = _of_reading(test, fails=fails) if isinstance(test, Reading) else None
    if isinstance(test, Pattern):
        found = _of_suffix(test, fails=fails)
    if found is None:
        return None
    is_short = all(
        len(text_bytes(end)) <= CONSTANT_BYTES_MAX
        for ends in found[1].strings.ranges
        for end in ends
        if end is not None
    )
    return found if is_short else None


def _of_reading(test: Reading, *, fails: bool) -> tuple[Function, Constraint, bool] | None:
    function, values = Function[test.function.upper()], test.values
    if isinstance(values, tuple):
        if fails:
            return function, replace(_UNREADABLE, numbers=other_numbers(values)), True
        return function, Constraint(numbers=values), True
    plain = Strings(values.ranges)
    if not fails:
        is_any = plain == _NO_TEXT_IS_REFUSED and function is Function.LOWER
        return None if is_any else (function, Constraint(strings=plain), values.is_plain)
    if not values.is_plain:
        return None
    others = other_texts(plain)
    assert others is not None, "ranges without patterns have a complement"
    return function, replace(_UNREADABLE, strings=others), True


def _of_suffix(test: Pattern, *, fails: bool) -> tuple[Function, Constraint, bool] | None:
    if not test.suffix or (fails and not test.is_suffix):
        return None
    suffix = test.suffix[-CONSTANT_BYTES_MAX:]
    while len(text_bytes(suffix)) > CONSTANT_BYTES_MAX - 4:  # its end may take four bytes more
        suffix = suffix[1:]
    is_exact = test.is_suffix and suffix == test.suffix
    within = between(suffix[::-1], prefix_end(suffix[::-1]))
    if not fails:
        return Function.REVERSED, Constraint(strings=within), is_exact
    if not is_exact:
        return None
    others = other_texts(within)
    assert others is not None, "a range has a complement"
    return Function.REVERSED, Constraint(strings=others), True
