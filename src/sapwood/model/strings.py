r"""Sets of texts: ranges by code point, narrowed by general `like` patterns.

A text has an immediate successor (itself and a NUL), so every comparison is a half-open range:
`x = 's'` is `['s', 's\0')`, `x > 's'` starts at `'s\0'`, and a prefix is a range as well. Only
patterns that are neither literal nor a prefix are kept as patterns, and beside them readings
(`sapwood.model.readings`), which test a text as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from sapwood.limits import SUCCESSORS_MAX
from sapwood.model import ranges
from sapwood.model.like import Pattern, Wildcard
from sapwood.model.numbers import ALL_NUMBERS
from sapwood.model.readings import NUMERIC, TOTAL, Reading

Range: TypeAlias = tuple[str, str | None]
"""`low <= text < high`; `None` means that there is no upper end."""

TextTest: TypeAlias = Pattern | Reading
"""A test of a single text: a pattern that it fits, or a reading."""

_Bound: TypeAlias = tuple[int, str]
"""A comparable end: `(0, text)`, or `(1, "")` for the top that lies above every text."""

_TOP: Final[_Bound] = (1, "")
_BOTTOM: Final[_Bound] = (0, "")
_EVERY_TEXT: Final[tuple[Range, ...]] = (("", None),)
_MAX_CODE_POINT: Final = 0x10FFFF
_SURROGATES: Final = range(0xD800, 0xE000)


@dataclass(frozen=True, slots=True)
class Strings:
    """The texts in `ranges` that fit all of `required` and none of `forbidden`.

    `ranges` is sorted, disjoint and non-adjacent. Patterns are sorted, none is implied by another
    or by the ranges in the ways that `narrowed` knows. Without patterns the form is canonical.
    """

    ranges: tuple[Range, ...]
    required: tuple[TextTest, ...] = ()
    forbidden: tuple[TextTest, ...] = ()

    @property
    def is_plain(self) -> bool:
        """True if no pattern narrows the ranges."""
        return not self.required and not self.forbidden

    def accepts(self, text: str) -> bool:
        """True if `text` is in the set."""
        for low, high in self.ranges:
            if low <= text and (high is None or text < high):
                break
        else:
            return False
        return self.is_plain or (
            all(pattern.matches(text) for pattern in self.required)
            and not any(pattern.matches(text) for pattern in self.forbidden)
        )

    def points(self) -> tuple[str, ...] | None:
        """All members where they are finitely many, else `None`.

        A range of more than `limits.SUCCESSORS_MAX` texts does not count as finite.
        """
        found: list[str] = []
        for low, high in self.ranges:
            if high is None or not 0 < len(high) - len(low) <= SUCCESSORS_MAX:
                return None
            successors = [low + "\0" * count for count in range(len(high) - len(low) + 1)]
            if successors.pop() != high:
                return None
            found.extend(successors)
        return tuple(text for text in found if self.is_plain or self.accepts(text))


NO_STRINGS: Final = Strings(())
ALL_STRINGS: Final = Strings(_EVERY_TEXT)


def point(text: str) -> Strings:
    """The set of exactly one text."""
    return Strings(((text, successor(text)),))


def of_points(texts: Iterable[str]) -> Strings:
    """The set of the given texts."""
    bounds = ranges.normalize((_lower(text), _upper(successor(text))) for text in texts)
    return Strings(_from_bounds(bounds))


def between(low: str, high: str | None) -> Strings:
    """The texts of one half-open range; `None` for no upper end."""
    if high is not None and high <= low:
        return NO_STRINGS
    return Strings(((low, high),))


def like(pattern: Pattern) -> Strings:
    """The texts that fit a pattern."""
    literal = pattern.literal
    if literal is not None:
        return point(literal)
    if pattern.is_prefix:
        return between(pattern.prefix, prefix_end(pattern.prefix))
    return narrowed(_EVERY_TEXT, (pattern,), ())


def not_like(pattern: Pattern) -> Strings:
    """The texts that do not fit a pattern."""
    if pattern.literal is not None or pattern.is_prefix:
        return Strings(_ranges_complement(like(pattern).ranges))
    return Strings(_EVERY_TEXT, (), (pattern,))


def reads_as(reading: Reading) -> Strings:
    """The texts that a reading accepts."""
    return narrowed(_EVERY_TEXT, (reading,), ())


def reads_not(function: str) -> Strings:
    """The texts of which a function of `sapwood.model.readings` has no reading."""
    if function in TOTAL:
        return NO_STRINGS
    return narrowed(_EVERY_TEXT, (), (any_reading(function),))


def any_reading(function: str) -> Reading:
    """The reading that accepts all texts that a function can read."""
    return Reading(function, ALL_NUMBERS if function in NUMERIC else ALL_STRINGS)


def intersect(a: Strings, b: Strings) -> Strings:
    """The texts in both sets."""
    is_plain = a.is_plain and b.is_plain
    if is_plain and not (a.ranges and b.ranges):
        return NO_STRINGS
    both = _from_bounds(ranges.intersect(_to_bounds(a.ranges), _to_bounds(b.ranges)))
    if is_plain:
        return Strings(both)
    return narrowed(both, (*a.required, *b.required), (*a.forbidden, *b.forbidden))


def union(a: Strings, b: Strings) -> Strings | None:
    """The texts in either set, or `None` where patterns leave no single form for that."""
    if covers(a, b):
        return a
    if covers(b, a):
        return b
    if a.required == b.required and a.forbidden == b.forbidden:
        return union_alike((a, b))
    return _united_reading(a, b)


def union_alike(sets: Sequence[Strings]) -> Strings:
    """The texts in any of one or more sets that all have the same patterns."""
    both = ranges.normalize(bound for strings in sets for bound in _to_bounds(strings.ranges))
    if sets[0].is_plain:
        return Strings(_from_bounds(both))
    return narrowed(_from_bounds(both), sets[0].required, sets[0].forbidden)


def complement(a: Strings) -> Strings | None:
    """The texts outside the set, or `None` where patterns leave no single form for that."""
    return Strings(_ranges_complement(a.ranges)) if a.is_plain else None


def covers(a: Strings, b: Strings) -> bool:
    """True if every text in `b` is in `a`; with patterns sound, but not complete."""
    if not _ranges_cover(a.ranges, b.ranges):
        return False
    if a.is_plain:
        return True
    members = b.points()
    if members is not None:
        return all(a.accepts(text) for text in members)
    begun = tuple(_beginning(*one) for one in b.ranges) if a.required else ()
    return all(
        any(p.covers(q) for q in b.required) or all(p.covers(q) for q in begun) for p in a.required
    ) and all(_is_excluded(p, b) for p in a.forbidden)


def narrowed(
    within: tuple[Range, ...], required: tuple[TextTest, ...], forbidden: tuple[TextTest, ...]
) -> Strings:
    """The texts of `within` under patterns, in the plainest form.

    Literal beginnings of required patterns narrow the ranges; patterns implied by others are
    dropped; readings by one function become one; where only finitely many texts are left they are
    tried one by one.
    """
    required = _read_together(required)
    for pattern in required:
        if pattern.prefix:
            bounds = ((_lower(pattern.prefix), _upper(prefix_end(pattern.prefix))),)
            within = _from_bounds(ranges.intersect(_to_bounds(within), bounds))
    candidate = Strings(within, _most_specific(required), _most_general(forbidden))
    members = candidate.points()
    if members is not None:
        return of_points(members)
    if any(isinstance(p, Reading) and p.is_empty for p in required):
        return NO_STRINGS
    if any(p.excludes(q) for p in required for q in required) or any(
        f.covers(p) for f in forbidden for p in required
    ):
        return NO_STRINGS
    positive = Strings(within, candidate.required)
    relevant = tuple(p for p in candidate.forbidden if not _is_excluded(p, positive))
    return Strings(within, candidate.required, relevant)


def successor(text: str) -> str:
    """The text that comes right after `text` in code point order."""
    return text + "\0"


def prefix_end(prefix: str) -> str | None:
    """The first text above all that begin with `prefix`; `None` if there is none.

    Surrogate code points are stepped over: no well-formed text holds one.
    """
    while prefix:
        code = ord(prefix[-1]) + 1
        if code in _SURROGATES:
            code = _SURROGATES.stop
        if code <= _MAX_CODE_POINT:
            return prefix[:-1] + chr(code)
        prefix = prefix[:-1]
    return None


def _beginning(low: str, high: str | None) -> Pattern:
    """The pattern of the common beginning of all texts of a range."""
    at = 0
    if high is not None:
        while at < min(len(low), len(high)) and low[at] == high[at]:
            at += 1
        if at < len(low) and prefix_end(low[: at + 1]) == high:
            at += 1
            while low[at : at + 1] == chr(_MAX_CODE_POINT):  # nothing is above that
                at += 1
    return Pattern.of((*low[:at], Wildcard.ANY_RUN))


def _is_excluded(pattern: TextTest, strings: Strings) -> bool:
    """True if surely no text of the set fits the pattern."""
    if any(g.covers(pattern) for g in strings.forbidden):
        return True
    if any(p.excludes(pattern) for p in strings.required):
        return True
    prefix = ((_lower(pattern.prefix), _upper(prefix_end(pattern.prefix))),)
    return not ranges.intersect(_to_bounds(strings.ranges), prefix)


def _read_together(tests: tuple[TextTest, ...]) -> tuple[TextTest, ...]:
    """The tests with one reading by each function."""
    if not any(isinstance(test, Reading) for test in tests):
        return tests
    readings: dict[str, Reading] = {}
    for test in tests:
        if isinstance(test, Reading):
            known = readings.get(test.function)
            readings[test.function] = test if known is None else known.intersect(test)
    narrowing = (one for one in readings.values() if one.function not in TOTAL or not one.is_any)
    return (*(test for test in tests if isinstance(test, Pattern)), *narrowing)


def _united_reading(a: Strings, b: Strings) -> Strings | None:
    """The texts in either set, if the two differ in one reading by the same function alone."""
    if a.ranges != b.ranges or a.forbidden != b.forbidden or len(a.required) != len(b.required):
        return None
    differ = [(p, q) for p, q in zip(a.required, b.required, strict=True) if p != q]
    if len(differ) != 1:
        return None
    ((one, other),) = differ
    if not isinstance(one, Reading) or not isinstance(other, Reading):
        return None
    union = one.union(other) if one.function == other.function else None
    if union is None:
        return None
    kept = (union if test == one else test for test in a.required)
    return narrowed(a.ranges, tuple(kept), a.forbidden)


def _most_specific(patterns: tuple[TextTest, ...]) -> tuple[TextTest, ...]:
    """The patterns without those that another one implies."""
    kept: list[TextTest] = []
    for pattern in sorted(set(patterns), key=_sort_key):
        if not any(pattern.covers(other) for other in kept):
            kept = [other for other in kept if not other.covers(pattern)] + [pattern]
    return tuple(kept)


def _most_general(patterns: tuple[TextTest, ...]) -> tuple[TextTest, ...]:
    """The patterns without those that another one takes in."""
    kept: list[TextTest] = []
    for pattern in sorted(set(patterns), key=_sort_key):
        if not any(other.covers(pattern) for other in kept):
            kept = [other for other in kept if not pattern.covers(other)] + [pattern]
    return tuple(kept)


def _sort_key(test: TextTest) -> tuple[str, str]:
    return test.sort_key()


def _ranges_cover(a: tuple[Range, ...], b: tuple[Range, ...]) -> bool:
    """True if every text of the ranges `b` is in one of `a`; one pass over the two."""
    at = 0
    for low, high in b:
        while at < len(a) and not _reaches(a[at][1], high):
            at += 1
        if at == len(a) or low < a[at][0]:
            return False
    return True


def _reaches(end: str | None, wanted: str | None) -> bool:
    return end is None or (wanted is not None and wanted <= end)


def _ranges_complement(of: tuple[Range, ...]) -> tuple[Range, ...]:
    return _from_bounds(ranges.complement(_to_bounds(of), _BOTTOM, _TOP))


def _lower(text: str) -> _Bound:
    return (0, text)


def _upper(text: str | None) -> _Bound:
    return _TOP if text is None else (0, text)


def _to_bounds(of: tuple[Range, ...]) -> tuple[tuple[_Bound, _Bound], ...]:
    return tuple((_lower(low), _upper(high)) for low, high in of)


def _from_bounds(bounds: tuple[tuple[_Bound, _Bound], ...]) -> tuple[Range, ...]:
    return tuple((low[1], None if high == _TOP else high[1]) for low, high in bounds)
