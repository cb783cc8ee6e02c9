"""Advertisements from a DTD (XPE dissemination, section 1.4.1, which prints no algorithm).

Without recursion: one advertisement for each path. With it, a set of names that can be below each
other (a component of the DTD's graph) is passed through by walks without end. Those of a small
component are stated exactly: a walk from u goes round through u as often as it likes, then on
without it. Exact forms of large ones explode; there any order of the component's names may follow
the first, and any way out the last, `(/u|/u(/u|/v|/w)+)(/x|/y)`: that announces all that can come
and more that cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from itertools import islice, product
from typing import Final, TypeAlias

from sapwood.errors import LimitError
from sapwood.limits import ADVERTISEMENTS_MAX
from sapwood.model.patterns.advertisements.advertisement import Advertisement, check_size
from sapwood.model.patterns.advertisements.expressions import (
    Chain,
    Choice,
    Expression,
    Step,
    chain,
    choice,
    repeat,
)
from sapwood.xml.dtd import Paths

COMPONENT_MAX: Final = 3
"""The default for the most names of a component that is stated exactly: with a fourth,
a fully connected one takes ten times as many steps."""

_Walk: TypeAlias = tuple[Expression, ...]

_Exits: TypeAlias = dict[str, Expression | None]
"""For each name of a component the names outside that may come below it."""


def advertisement_of(paths: Paths, component_max: int = COMPONENT_MAX) -> Advertisement:
    """The advertisement of a DTD's documents, with beginnings that paths share written once.

    It has every path of `paths`; it has no other if no component with recursion has more than
    `component_max` names. Raises `LimitError` for more than `limits.ADVERTISEMENT_STEPS_MAX` steps
    or `limits.ADVERTISEMENT_NESTING_MAX` levels of parentheses.
    """
    #: name -> its component, for all names below those still to come
    known: dict[str, _Component] = {}
    for names in paths.components:
        component = _Component(paths, names, component_max, known)
        known.update(dict.fromkeys(names, component))
    return Advertisement(known[paths.root].entered((paths.root,)))


def advertisements_of(
    paths: Paths, component_max: int = COMPONENT_MAX
) -> tuple[Advertisement, ...]:
    """The advertisements of a DTD's documents as the work counts them: without choices but in `+`.

    Their union is `advertisement_of`. Raises `LimitError` beyond `limits.ADVERTISEMENTS_MAX`.
    """
    whole = advertisement_of(paths, component_max).expression
    found = dict.fromkeys(islice(_expanded(whole), ADVERTISEMENTS_MAX + 1))
    if len(found) > ADVERTISEMENTS_MAX:
        raise LimitError(
            "ADVERTISEMENTS_MAX", ADVERTISEMENTS_MAX, None, "the number of advertisements"
        )
    return tuple(map(Advertisement, found))


def _expanded(expression: Expression) -> Iterator[Expression]:
    """The alternatives, multiplied out."""
    match expression:
        case Choice(alternatives=alternatives):
            for one in alternatives:
                yield from _expanded(one)
        case Chain(parts=parts):
            yield from map(chain, product(*map(tuple, map(_expanded, parts))))
        case _:
            yield expression


class _Component:
    """Names that can be below each other, and the paths that begin with some of them."""

    def __init__(
        self,
        paths: Paths,
        names: Collection[str],
        component_max: int,
        known: dict[str, _Component],
    ) -> None:
        self.paths = paths
        self.names = names
        self.is_exact = len(names) <= component_max or not paths.repeats(tuple(names))
        self.inside = frozenset(names)
        self.exits: _Exits = {name: self.exit(name, known) for name in names}

    def exit(self, name: str, known: dict[str, _Component]) -> Expression | None:
        """The expression of the paths below a name once they leave the component."""
        entries: dict[_Component, list[str]] = {}
        for child in self.paths.children(name):
            if child not in self.inside:
                entries.setdefault(known[child], []).append(child)
        if not entries:
            return None
        return _checked(choice(one.entered(names) for one, names in entries.items()))

    def entered(self, entries: Collection[str]) -> Expression:
        """All paths that begin with one of these names."""
        if self.is_exact:
            return _checked(choice(one for name in entries for one in self.exact(name)))
        return _checked(choice(self.careful(entries)))

    def exact(self, start: str) -> Iterator[Expression]:
        """The paths that begin with a name, no other."""
        for end, below in self.exits.items():
            if end in self.paths.ends or below is not None:
                is_end = partial(str.__eq__, end)
                heads = choice(map(chain, _walks(self.paths, start, is_end, self.names)))
                yield from self.ended(heads, below, may_end=end in self.paths.ends)

    def careful(self, entries: Collection[str]) -> Iterator[Expression]:
        """Paths through the component in any order, left from anywhere."""
        first = choice(map(Step, entries))
        heads = choice((first, chain((first, repeat(choice(map(Step, self.names)))))))
        ways = [below for below in self.exits.values() if below is not None]
        may_end = not self.paths.ends.isdisjoint(self.names)
        yield from self.ended(heads, choice(ways) if ways else None, may_end=may_end)

    @staticmethod
    def ended(
        heads: Expression, below: Expression | None, *, may_end: bool
    ) -> Iterator[Expression]:
        if may_end:
            yield heads
        if below is not None:
            yield chain((heads, below))


def _checked(expression: Expression) -> Expression:
    """The expression, before larger ones are made of it."""
    check_size(expression)
    return expression


def _walks(
    paths: Paths, start: str, is_end: Callable[[str], bool], inside: Iterable[str]
) -> Iterator[_Walk]:
    """Walks from `start` to an end through names of `inside`, `start` among them."""
    step = Step(start)
    children = paths.children(start)
    others = [name for name in inside if name != start]
    further = [name for name in children if name in others]

    def returns(name: str) -> bool:
        return start in paths.children(name)

    loops: list[_Walk] = [()] if start in children else []
    loops += [walk for name in further for walk in _walks(paths, name, returns, others)]
    tails: list[_Walk] = [()] if is_end(start) else []
    tails += [walk for name in further for walk in _walks(paths, name, is_end, others)]
    for tail in tails:
        if loops == [()]:
            yield (repeat(step), *tail)
            continue
        yield (step, *tail)
        if loops:
            yield (repeat(choice(chain((step, *loop)) for loop in loops)), step, *tail)
