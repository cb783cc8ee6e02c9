"""Advertisements of documents, as values."""

from __future__ import annotations

from typing import Final

from sapwood.errors import LimitError
from sapwood.limits import ADVERTISEMENT_NESTING_MAX, ADVERTISEMENT_STEPS_MAX
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.model.patterns.advertisements.automaton import START, Automaton, automaton_of
from sapwood.model.patterns.advertisements.expressions import (
    Chain,
    Choice,
    Expression,
    PathKind,
    Repeat,
    alternatives_of,
    kind_of,
)
from sapwood.model.patterns.advertisements.intersection import includes, may_accept
from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.publication import Publication
from sapwood.xml.document import Document, local_name

_ASKED_MAX: Final = 4096
"""Patterns of which an advertisement remembers the answer."""


class Advertisement(AdvertisedContent):
    """An advertisement: it accepts documents each of whose root-to-leaf paths is a word.

    Names compare by their local part. A publisher of several kinds of paths states one value with
    alternatives, not several values: a document has paths of several kinds at once. Two values are
    equal iff their expressions have equal normal forms; `covers` both ways finds more equivalent
    ones. `source` is the text that it was read from and does not count.

    Make advertisements with `sapwood.parse_advertisement` or, from a DTD, with
    `advertisement_of`. Raises `LimitError` beyond `limits.ADVERTISEMENT_STEPS_MAX` steps or
    `limits.ADVERTISEMENT_NESTING_MAX` levels of parentheses.
    """

    __slots__ = ("_asked", "_automaton", "expression")

    expression: Expression
    #: the patterns compared last, and whether each intersects it; depends on immutable values
    _asked: dict[TreePattern, bool]
    #: depends on the expression, which never changes
    _automaton: Automaton | None

    def __init__(self, expression: Expression, source: str | None = None) -> None:
        check_size(expression)
        super().__init__(expression, source)
        object.__setattr__(self, "expression", expression)
        object.__setattr__(self, "_automaton", None)
        object.__setattr__(self, "_asked", {})

    def __repr__(self) -> str:
        return f"Advertisement(expression={self.expression!r})"

    def intersects(self, other: Interest) -> bool:
        """True if some document of this advertisement may be accepted; a filter accepts none.

        `False` only if none can be. For patterns that test elements only, `True` is certain as
        well, `or` included, within `limits.ADVERTISEMENT_STATES_MAX` and `..._READS_MAX`.
        Attributes and texts are not advertised: any may be there.
        """
        if not isinstance(other, TreePattern):
            return False
        known = self._asked.get(other)
        if known is None:
            # Each link, table and watch of a router makes the same comparison.
            if len(self._asked) >= _ASKED_MAX:
                del self._asked[next(iter(self._asked))]
            known = self._asked[other] = self._intersects(other)
        return known

    def _intersects(self, other: TreePattern) -> bool:
        if not other.intersects(other):
            return False
        return not other.twigs or any(may_accept(self.automaton, one) for one in other.twigs)

    def covers(self, other: AdvertisedContent) -> bool:
        """True if every document of `other` is one of this; no interest is covered.

        `True` is certain; `False` is within `limits.ADVERTISEMENT_STATES_MAX` and `..._READS_MAX`.

        The work takes the test of absolute XPEs for it (L339). There `/a` covers `/a/b`, because
        paths may go on; paths of an advertisement may not, so that test would lose publications.
        """
        if not isinstance(other, Advertisement):
            return False
        return self == other or includes(self.automaton, other.automaton)

    def matches(self, publication: Publication) -> bool:
        """True if the publication has a document that is admitted."""
        contents = publication.read_document()
        return contents is not None and self.admits(contents)

    def admits(self, document: Document) -> bool:
        """True if each root-to-leaf path of the document is a word, so that it may be sent."""
        automaton = self.automaton
        following: dict[int, int] = {}
        read: list[int] = []
        is_leaf = [True] * len(document)
        for name, parent in zip(document.names, document.parents, strict=True):
            above = START
            if parent >= 0:
                above = read[parent]
                is_leaf[parent] = False
            allowed = following.get(above)
            if allowed is None:
                allowed = following[above] = automaton.next(above)
            states = allowed & automaton.readers(local_name(name))
            if not states:
                return False
            read.append(states)
        return all(
            states & automaton.last for states, ends in zip(read, is_leaf, strict=True) if ends
        )

    @property
    def automaton(self) -> Automaton:
        """The automaton whose words are the paths; made at the first call."""
        if self._automaton is None:
            object.__setattr__(self, "_automaton", automaton_of(self.expression))
        assert self._automaton is not None, "it was just made"
        return self._automaton

    @property
    def alternatives(self) -> tuple[Advertisement, ...]:
        """The advertisements, in the work's sense, of which this is the union."""
        return tuple(map(Advertisement, alternatives_of(self.expression)))

    @property
    def kind(self) -> PathKind:
        """Its class in the work; `GENERAL` for one with alternatives."""
        return kind_of(self.expression)

    def __str__(self) -> str:
        """The normal form; reading it gives an equal advertisement."""
        return str(self.expression)


def check_size(expression: Expression) -> None:
    """Raise `LimitError` for too many steps or too many parts inside each other."""
    steps, waiting = 0, [(expression, 0)]
    while waiting:
        one, depth = waiting.pop()
        if depth > ADVERTISEMENT_NESTING_MAX:
            raise LimitError(
                "ADVERTISEMENT_NESTING_MAX",
                ADVERTISEMENT_NESTING_MAX,
                None,
                "the nesting of the advertisement",
            )
        match one:
            case Chain(parts=inner):
                waiting.extend((part, depth) for part in inner)
            case Choice(alternatives=inner):
                waiting.extend((part, depth + 1) for part in inner)
            case Repeat(inner=part):
                waiting.append((part, depth if isinstance(part, Choice) else depth + 1))
            case _:
                steps += 1
    if steps > ADVERTISEMENT_STEPS_MAX:
        raise LimitError(
            "ADVERTISEMENT_STEPS_MAX",
            ADVERTISEMENT_STEPS_MAX,
            steps,
            "the number of steps in the advertisement",
        )
