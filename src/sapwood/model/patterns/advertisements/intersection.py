"""Intersection of advertisements and tree patterns, and inclusion of advertisements.

A document is one of the advertisement if each of its root-to-leaf paths is a word. Below one
element anything that continues a word may stand beside anything else, so a pattern is looked for
branch by branch, in the states that the path to an element has led to. What matters is the *set* of
those states: all paths through the element share its beginning but each may be another word. A
pattern without branches needs one path only, so single states do (the product automaton).

This takes the place of the work's procedures (figures 1.4 to 1.10), which know neither branches nor
repeated choice, and whose time grows exponentially with the nesting of repetitions. They are in
`sapwood.covering.published.procedures`, corrected, to be compared with this.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sapwood.limits import ADVERTISEMENT_READS_MAX, ADVERTISEMENT_STATES_MAX
from sapwood.model.patterns.advertisements.automaton import START, Automaton, bits
from sapwood.model.patterns.twigs import Twig

_NEW_NAME: Final = "*"
"""Stands for every name that the automaton does not mention; no element is called so."""


class _TooManyError(Exception):
    """More states than are looked at."""


def may_accept(automaton: Automaton, twig: Twig) -> bool:
    """True if a twig at the document accepts some document whose paths are words.

    `False` is certain. `True` is too, but for tests of attributes and texts, and beyond
    `limits.ADVERTISEMENT_STATES_MAX` sets of states (single ones do without branches) or
    `limits.ADVERTISEMENT_READS_MAX` states looked at.
    """
    try:
        return _Search(automaton, is_linear=_is_linear(twig)).accepts(twig)
    except _TooManyError:
        return True


def includes(wide: Automaton, narrow: Automaton) -> bool:
    """True if every word of `narrow` is one of `wide`.

    `True` is certain; `False` is too, within `limits.ADVERTISEMENT_STATES_MAX` pairs of a state of
    `narrow` and a set of states of `wide`, and `limits.ADVERTISEMENT_READS_MAX` states looked at.
    """
    seen: set[tuple[int, int]] = set()
    begun: set[tuple[int, int]] = set()
    following: dict[int, int] = {}
    reads = 0
    waiting = [(narrow.first, wide.first)]
    while waiting:
        states, allowed = waiting.pop()
        if (states, allowed) in begun:
            continue
        begun.add((states, allowed))
        reads += states.bit_count()
        if reads > ADVERTISEMENT_READS_MAX:
            return False
        for state in bits(states):
            # A name that occurs nowhere is read by fewest states, so it stands for any name.
            name = narrow.names[state] or _NEW_NAME
            reading = allowed & wide.readers(name)
            if not reading or (narrow.last >> state & 1 and not reading & wide.last):
                return False
            if (state, reading) in seen:
                continue
            if len(seen) >= ADVERTISEMENT_STATES_MAX:
                return False
            seen.add((state, reading))
            if reading not in following:
                following[reading] = wide.next(reading)
            waiting.append((narrow.follow[state], following[reading]))
    return True


def _is_linear(twig: Twig) -> bool:
    """True if the twig is one path, without branches."""
    while True:
        below = (*twig.near, *(one for _, one in twig.far))
        if len(below) + bool(twig.height) > 1:
            return False
        if not below:
            return True
        (twig,) = below


class _Search:
    """Looks for a document; remembers which twigs can be satisfied in which states."""

    def __init__(self, automaton: Automaton, *, is_linear: bool) -> None:
        self.automaton = automaton
        self.is_linear = is_linear
        #: twig (by identity: all live as long as the search) and states -> whether it fits
        self.known: dict[tuple[int, int], bool] = {}
        #: states looked at, all reads together
        self.reads = 0
        #: set of states -> what follows it
        self.following: dict[int, int] = {}

    def accepts(self, document: Twig) -> bool:
        """True if some root element satisfies all conditions of the twig at the document."""
        return any(self.fits_root(document, root) for root in self.roots(document))

    def roots(self, document: Twig) -> Iterator[int]:
        """The states of root elements whose name all `near` twigs accept."""
        names = {one.test.local for one in document.near if one.test is not None}
        if len(names) > 1:
            return iter(())
        return self.read(START, names.pop() if names else None)

    def fits_root(self, document: Twig, root: int) -> bool:
        """True if a root element satisfies the document's conditions, each one level less deep."""
        return (
            self.is_high(root, document.height - 1)
            and all(self.fits(one, root) for one in document.near)
            and all(
                (levels <= 1 and self.is_read(one, root) and self.fits(one, root))
                or self.has_below(one, root, max(1, levels - 1))
                for levels, one in document.far
            )
        )

    def is_read(self, twig: Twig, states: int) -> bool:
        """True if an element that was read with these states has the twig's name."""
        name = None if twig.test is None else twig.test.local
        return name is None or states & ~self.automaton.readers(name) == 0

    def fits(self, twig: Twig, states: int) -> bool:
        """True if an element with these states can satisfy the twig, its name apart."""
        key = (id(twig), states)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = (
                self.is_high(states, twig.height)
                and all(self.has_child(one, states) for one in twig.near)
                and all(self.has_below(one, states, levels) for levels, one in twig.far)
            )
        return found

    def has_child(self, twig: Twig, states: int) -> bool:
        name = None if twig.test is None else twig.test.local
        return any(self.fits(twig, child) for child in self.read(states, name))

    def has_below(self, twig: Twig, states: int, levels: int) -> bool:
        """True if some element at least `levels` levels below can satisfy the twig."""
        return any(self.has_child(twig, above) for above in self.at_depth(states, levels - 1))

    def at_depth(self, states: int, levels: int) -> Iterator[int]:
        """The states of elements at least `levels` levels below, each once."""
        level = {states: None}
        for _ in range(levels):
            level = {child: None for one in level for child in self.read(one, None)}
        seen, waiting = dict(level), list(level)
        while waiting:
            one = waiting.pop()
            yield one
            for child in self.read(one, None):
                if child not in seen:
                    seen[child] = None
                    waiting.append(child)

    def is_high(self, states: int, levels: int) -> bool:
        """True if there can be `levels` levels of elements below."""
        if levels <= 0:
            return True
        return next(self.at_depth(states, levels), None) is not None

    def read(self, states: int, name: str | None) -> Iterator[int]:
        """The states of children of that name, or of each name there may be."""
        allowed = self.next(states)
        if name is not None:
            allowed &= self.automaton.readers(name)
        self.reads += allowed.bit_count()
        if self.reads > ADVERTISEMENT_READS_MAX:
            raise _TooManyError
        if self.is_linear:
            return (1 << state for state in bits(allowed))
        if name is not None:
            return iter((allowed,) if allowed else ())
        return self.automaton.by_letter(allowed)

    def next(self, states: int) -> int:
        found = self.following.get(states)
        if found is None:
            if not self.is_linear and len(self.following) >= ADVERTISEMENT_STATES_MAX:
                raise _TooManyError
            found = self.following[states] = self.automaton.next(states)
        return found
