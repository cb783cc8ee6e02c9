"""The XPE dissemination work's procedures by which an XPE meets an advertisement (1.4.2 to 1.4.4).

An XPE *meets* an advertisement if it accepts some advertised path. Routers use the product
automaton (`sapwood.model.patterns.advertisements.intersection`), which also handles branches and
repeated choice, and whose time does not grow with the nesting of repetitions. The procedures are
here to be compared with it.

They are the printed ones where those are right (figures 1.4, 1.7, 1.9 and 1.10). Departures:

* figures 1.5 and 1.6 search a relative XPE as Knuth, Morris and Pratt do, which goes wrong with
  `*`: `sequences.py` has that search, and the one that is used by default;
* figure 1.8 does not compare the repetitions that it skips, and takes one more where their number
  comes out whole: `/a(/a)+/a` meets `/a/a/a/b` there, and `/a(/b)+/b/a` not `/a/b/b/b/a`;
* figures 1.8 to 1.10 are for absolute XPEs without descendants. For all others, repetitions are
  written out: an XPE of k steps needs no more than k of one, since those that none of its steps
  lies in can be left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, product
from typing import TypeAlias

from sapwood.covering.published.sequences import Names, Search, lies_at, overlaps, position
from sapwood.covering.xpe import XPE, steps_of
from sapwood.errors import InputError
from sapwood.model.patterns.advertisements import (
    Advertisement,
    Chain,
    Choice,
    Expression,
    Repeat,
    Step,
)
from sapwood.model.patterns.conditions import Axis
from sapwood.model.patterns.pattern import TreePattern


@dataclass(frozen=True, slots=True)
class Repetition:
    """A form that is repeated, once or more often."""

    form: Form


Form: TypeAlias = "tuple[str | Repetition | None, ...]"
"""An advertisement without choice: steps and repetitions, one below the other."""


def meets(advertisement: Advertisement, pattern: TreePattern, search: Search = position) -> bool:
    """True if an XPE meets an advertisement, by the procedure for the classes of both.

    Relative runs of steps are found by `search` (RelExprAndAdv). The time grows exponentially with
    the nesting of repetitions. Raises `InputError` for a pattern that is no XPE, and for an
    advertisement with choice inside a repetition: the work has no procedure for these cases.
    """
    steps = steps_of(pattern)
    if steps is None:
        raise InputError(f"{pattern} is no XPE: it has branches or asks for content")
    pieces = pieces_of(steps)
    is_absolute = steps[0].axis is Axis.CHILD
    forms = forms_of(advertisement.expression)
    if is_absolute and len(pieces) == 1:
        return any(absolute_meets(form, pieces[0]) for form in forms)
    written = (names for form in forms for names in written_out(form, len(steps)))
    return any(
        pieces_meet(names, pieces, is_absolute=is_absolute, search=search) for names in written
    )


def pieces_of(steps: XPE) -> tuple[Names, ...]:
    """An XPE of at least one step, cut at its descendant operators."""
    pieces: list[list[str | None]] = []
    for step in steps:
        if not pieces or step.axis is not Axis.CHILD:
            pieces.append([])
        pieces[-1].append(None if step.test is None else step.test.local)
    return tuple(map(tuple, pieces))


def forms_of(expression: Expression) -> tuple[Form, ...]:
    """The advertisements without choice that an expression is the union of.

    Raises `InputError` where a choice is repeated: each time may choose anew.
    """
    match expression:
        case Step(name=name):
            return ((name,),)
        case Choice(alternatives=alternatives):
            return tuple(chain.from_iterable(map(forms_of, alternatives)))
        case Chain(parts=parts):
            return tuple(tuple(chain(*one)) for one in product(*map(forms_of, parts)))
        case Repeat(inner=inner):
            forms = forms_of(inner)
            if len(forms) > 1:
                raise InputError(f"no procedure is known for a repeated choice, as in {expression}")
            return ((Repetition(forms[0]),),)


# Advertisements without repetitions ------------------------------------------------------------


def prefix_meets(advertised: Names, subscribed: Names) -> bool:
    """True if an absolute XPE meets an advertisement (figure 1.4, AbsExprAndAdv)."""
    return lies_at(advertised, subscribed, 0, overlaps)


def pieces_meet(
    advertised: Names, pieces: tuple[Names, ...], *, is_absolute: bool, search: Search = position
) -> bool:
    """True if an XPE with descendants meets an advertisement (figure 1.7, DesExprAndAdv).

    Each piece is taken at its first place behind the piece before. That loses nothing, since no two
    steps share a place.
    """
    rest = sum(map(len, pieces))
    end = 0
    for number, piece in enumerate(pieces):
        if rest > len(advertised) - end:
            return False
        if number == 0 and is_absolute:
            found = 0 if prefix_meets(advertised, piece) else None
        else:
            found = search(advertised, piece, end, overlaps)
        if found is None:
            return False
        end = found + len(piece)
        rest -= len(piece)
    return True


# Advertisements with repetitions ---------------------------------------------------------------


def absolute_meets(advertised: Form, subscribed: Names) -> bool:
    """True if an absolute XPE without descendants meets an advertisement of any class.

    Repetitions are resolved from the left: the innermost in closed form where no other follows
    (`simple_meets`, figure 1.8), one that is followed by others copy by copy (figure 1.9), one that
    holds others likewise (figure 1.10).
    """
    at = next((n for n, part in enumerate(advertised) if isinstance(part, Repetition)), None)
    if at is None:
        return prefix_meets(_plain(advertised), subscribed)
    first, behind = advertised[at], advertised[at + 1 :]
    assert isinstance(first, Repetition)
    before, inner = _plain(advertised[:at]), first.form
    if not any(isinstance(part, Repetition) for part in (*inner, *behind)):
        return simple_meets(before, _plain(inner), _plain(behind), subscribed)
    if len(subscribed) <= len(before):
        return prefix_meets(before, subscribed)
    if not prefix_meets(before, subscribed[: len(before)]):
        return False
    rest = subscribed[len(before) :]
    return any(
        absolute_meets((*inner * copies, *behind), rest) for copies in range(1, len(rest) + 1)
    )


def simple_meets(before: Names, inner: Names, behind: Names, subscribed: Names) -> bool:
    """True if an absolute XPE meets `before (inner)+ behind` (figure 1.8, corrected)."""
    once = (*before, *inner)
    if len(subscribed) <= len(once):
        return prefix_meets(once, subscribed)
    if not prefix_meets(once, subscribed[: len(once)]):
        return False
    for start in range(len(once), len(subscribed) + 1, len(inner)):
        rest = subscribed[start:]
        if prefix_meets(behind, rest):
            return True
        if not prefix_meets(inner, rest[: len(inner)]):
            return False
    return True


def written_out(advertised: Form, copies: int) -> Iterator[Names]:
    """The advertisement with each repetition written one to `copies` times, all combinations."""
    places = (place for place, part in enumerate(advertised) if isinstance(part, Repetition))
    first = next(places, len(advertised))
    before = _plain(advertised[:first])
    if first == len(advertised):
        yield before
        return
    repeated, behind = advertised[first], advertised[first + 1 :]
    assert isinstance(repeated, Repetition)
    for number in range(1, copies + 1):
        for times in product(*(tuple(written_out(repeated.form, copies)) for _ in range(number))):
            for names in written_out(behind, copies):
                yield (*before, *chain(*times), *names)


def _plain(form: Form) -> Names:
    """A form that has no repetitions, as names."""
    return tuple(part for part in form if not isinstance(part, Repetition))
