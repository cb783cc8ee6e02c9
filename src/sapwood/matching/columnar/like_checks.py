"""Predicates that ranks do not decide: general `like` patterns, and readings of texts.

Conjunctions with such predicates are found like all others, through their other constraints; only
the candidates are then checked. A *like predicate* is a pair of attribute and pattern. It is tried
once for each record, however many conjunctions share it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.language import parse_filter
from sapwood.matching.columnar.batch import SegmentMatches
from sapwood.matching.columnar.literals import LikePredicate
from sapwood.matching.columnar.rows import DECIDED, FORBIDDEN, Ints
from sapwood.matching.columnar.segment import Annex
from sapwood.model.like import Pattern, Wildcard
from sapwood.model.printing import print_text_test
from sapwood.model.publication import Record
from sapwood.model.readings import Reading
from sapwood.model.strings import TextTest

_NO_TEXT: Final = 0
_FITS: Final = 1
_FITS_NOT: Final = 2

_ESCAPE: Final = "\\"
_PATTERN: Final = "l"
_READING: Final = "r"
_ANY_NAME: Final = "a"
"""A placeholder: the attribute in the text of a reading, which is stored beside it."""

Flags: TypeAlias = npt.NDArray[np.bool_]


class LikePredicates:
    """The engine's numbered like predicates, to which new ones are only ever added.

    A match reads the predicates of one moment (`known`), never this object.

    #: _known is a beginning of _probes
    """

    def __init__(self) -> None:
        self._predicates: list[LikePredicate] = []
        #: the inverse of `_predicates`
        self._numbers: dict[LikePredicate, int] = {}
        self._known: tuple[LikePredicate, ...] = ()

    def __len__(self) -> int:
        """The number of like predicates."""
        return len(self._predicates)

    def number(self, attribute: str, pattern: TextTest) -> int:
        """The number of a like predicate, a new one if it has none yet."""
        predicate = attribute, pattern
        number = self._numbers.get(predicate)
        if number is None:
            number = self._numbers[predicate] = len(self._predicates)
            self._predicates.append(predicate)
        return number

    def known(self) -> tuple[LikePredicate, ...]:
        """All like predicates by number, as they are now; copies the list if there are new ones."""
        if len(self._known) < len(self._predicates):
            self._known = tuple(self._predicates)
        return self._known

    def predicate(self, number: int) -> LikePredicate:
        """The like predicate of a number."""
        return self._predicates[number]

    def texts(self) -> Iterator[tuple[str, str]]:
        """Attribute and test of each like predicate, in order, as `restore` reads them."""
        for attribute, test in self._predicates:
            yield attribute, _written(test)

    def restore(self, texts: Sequence[tuple[str, str]]) -> None:
        """Add the like predicates that `texts` yielded."""
        for attribute, text in texts:
            self.number(attribute, _read(text))


def verify(
    found: SegmentMatches,
    annex: Annex,
    predicates: Sequence[LikePredicate],
    records: Sequence[Record],
) -> Flags:
    """True for each unverified conjunction that is a match after all.

    Each pair of a record and a like predicate is tried once. It is numbered `record *
    len(predicates) + predicate`: of 3 like predicates, number 7 is like predicate 1 tried on record
    2.
    """
    record = np.repeat(np.arange(len(records)), np.diff(found.unverified_offsets))
    first = np.searchsorted(annex.check_owner, found.unverified)
    counts = np.searchsorted(annex.check_owner, found.unverified, side="right") - first
    starts = np.cumsum(counts) - counts
    checks = np.arange(counts.sum()) + np.repeat(first - starts, counts)
    tries = np.repeat(record, counts) * len(predicates) + annex.check_probe[checks]
    flags = annex.check_flags[checks]
    is_open = (flags & DECIDED) == 0
    distinct, which = np.unique(tries[is_open], return_inverse=True)
    outcomes = np.full(len(tries), _NO_TEXT, np.uint8)
    outcomes[is_open] = _outcomes(distinct, predicates, records)[which]
    fails = outcomes == np.where(flags & FORBIDDEN, _FITS, _FITS_NOT)
    return ~np.logical_or.reduceat(fails, starts)


def _outcomes(
    tries: Ints, predicates: Sequence[LikePredicate], records: Sequence[Record]
) -> npt.NDArray[np.uint8]:
    outcomes = np.empty(len(tries), np.uint8)
    record: Record = {}
    known = -1
    for at, one in enumerate(tries.tolist()):
        number, predicate = divmod(one, len(predicates))
        if number != known:
            # A record may have to be decoded: only once, as tries are sorted.
            record, known = records[number], number
        outcomes[at] = _outcome(predicates[predicate], record)
    return outcomes


def _outcome(predicate: LikePredicate, record: Record) -> int:
    """The outcome: the attribute is no text, or fits the pattern, or does not."""
    attribute, pattern = predicate
    value = record.get(attribute)
    if not isinstance(value, str):
        return _NO_TEXT
    return _FITS if pattern.matches(value) else _FITS_NOT


def _written(test: TextTest) -> str:
    r"""A test as text: a mark and a pattern, in which `\` escapes, or a mark and a condition."""
    if isinstance(test, Reading):
        return _READING + print_text_test(_ANY_NAME, test)
    return _PATTERN + "".join(map(_token, test.tokens))


def _read(text: str) -> TextTest:
    """The test of a text that `_written` made."""
    if text.startswith(_PATTERN):
        return Pattern.parse(text[1:], _ESCAPE)
    (conjunction,) = parse_filter(text[1:]).conjunctions
    (test,) = conjunction.constraint(_ANY_NAME).strings.required
    return test


def _token(token: str | Wildcard) -> str:
    if isinstance(token, Wildcard):
        return token.value
    return _ESCAPE + token if token in ("%", "_", _ESCAPE) else token
