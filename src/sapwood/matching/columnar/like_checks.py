"""What cells cannot say: general `like` patterns.

Conjunctions with such patterns are found like all others, through their other constraints; only
the candidates are then checked. A *probe* is a pair of attribute and pattern. However many
conjunctions share one, it is tried once for each record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar.batch import Found
from sapwood.matching.columnar.rows import Ints
from sapwood.matching.columnar.segment import Annex
from sapwood.model.like import Pattern, Wildcard
from sapwood.model.publication import Record

_NO_TEXT: Final = 0
_FITS: Final = 1
_FITS_NOT: Final = 2

_ESCAPE: Final = "\\"

Flags: TypeAlias = npt.NDArray[np.bool_]

Probe: TypeAlias = tuple[str, Pattern]
"""An attribute, and a pattern that its text is tried against."""


class Probes:
    """The engine's numbered probes; they only ever become more.

    Whoever matches is handed those of one moment (`known`), never this.

    #: _known is a beginning of _probes
    """

    def __init__(self) -> None:
        self._probes: list[Probe] = []
        #: the inverse of `_probes`
        self._numbers: dict[Probe, int] = {}
        self._known: tuple[Probe, ...] = ()

    def __len__(self) -> int:
        """How many there are."""
        return len(self._probes)

    def number(self, attribute: str, pattern: Pattern) -> int:
        """The number of a probe, a new one if it has none yet."""
        number = self._numbers.get((attribute, pattern))
        if number is None:
            number = self._numbers[attribute, pattern] = len(self._probes)
            self._probes.append((attribute, pattern))
        return number

    def known(self) -> tuple[Probe, ...]:
        """All probes by number, as they are now; takes a copy if there are new ones."""
        if len(self._known) < len(self._probes):
            self._known = tuple(self._probes)
        return self._known

    def probe(self, number: int) -> Probe:
        """The probe of a number."""
        return self._probes[number]

    def texts(self) -> Iterator[tuple[str, str]]:
        r"""Attribute and pattern of each probe, in order; `\` escapes in the pattern."""
        for attribute, pattern in self._probes:
            yield attribute, "".join(map(_written, pattern.tokens))

    def restore(self, texts: Sequence[tuple[str, str]]) -> None:
        """Take over what `texts` gave."""
        for attribute, pattern in texts:
            self.number(attribute, Pattern.parse(pattern, _ESCAPE))


def settle(found: Found, annex: Annex, probes: Sequence[Probe], records: Sequence[Record]) -> Flags:
    """Which of the doubtful conjunctions are matches after all.

    Each pair of a record and a probe is tried once. It is numbered `record * len(probes) + probe`:
    of 3 probes, number 7 is probe 1 tried on record 2.
    """
    record = np.repeat(np.arange(len(records)), np.diff(found.doubt_offsets))
    first = np.searchsorted(annex.check_owner, found.doubts)
    counts = np.searchsorted(annex.check_owner, found.doubts, side="right") - first
    starts = np.cumsum(counts) - counts
    checks = np.arange(counts.sum()) + np.repeat(first - starts, counts)
    tries = np.repeat(record, counts) * len(probes) + annex.check_probe[checks]
    distinct, which = np.unique(tries, return_inverse=True)
    outcomes = _outcomes(distinct, probes, records)[which]
    fails = outcomes == np.where(annex.check_forbidden[checks], _FITS, _FITS_NOT)
    return ~np.logical_or.reduceat(fails, starts)


def _outcomes(
    tries: Ints, probes: Sequence[Probe], records: Sequence[Record]
) -> npt.NDArray[np.uint8]:
    pairs = (divmod(one, len(probes)) for one in tries.tolist())
    return np.array([_outcome(probes[probe], records[record]) for record, probe in pairs], np.uint8)


def _outcome(probe: Probe, record: Record) -> int:
    """Whether the attribute is no text, or fits the pattern, or does not."""
    attribute, pattern = probe
    value = record.get(attribute)
    if not isinstance(value, str):
        return _NO_TEXT
    return _FITS if pattern.matches(value) else _FITS_NOT


def _written(token: str | Wildcard) -> str:
    if isinstance(token, Wildcard):
        return token.value
    return _ESCAPE + token if token in ("%", "_", _ESCAPE) else token
