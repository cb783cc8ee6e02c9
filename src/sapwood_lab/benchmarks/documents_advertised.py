"""XPEs against the advertisements of a DTD: the product automaton beside the work's procedures.

Every pair is decided in both ways, by class of advertisement (XPE dissemination, 1.4.1). What is
made once for each advertisement and each XPE is made before the clock starts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, Final, TypeAlias

from sapwood.covering.published.procedures import meets
from sapwood.errors import InputError
from sapwood.model.patterns.advertisements import Advertisement, PathKind, advertisements_of
from sapwood.model.patterns.pattern import TreePattern
from sapwood.xml.dtd import Dtd

KIND_MAX: Final = 100
"""Advertisements compared of each class, spread evenly over those there are."""

_Pair: TypeAlias = tuple[Advertisement, TreePattern]


def advertised_rows(
    dtd: Dtd, xpes: Sequence[TreePattern], kind_max: int = KIND_MAX
) -> Iterator[dict[str, Any]]:
    """A row for each class that the DTD has: microseconds of a pair, and whether both agree.

    Where the work has no procedure (choice inside a repetition), that time is `None`.
    """
    by_kind: dict[PathKind, list[Advertisement]] = {}
    for one in advertisements_of(dtd.paths):
        by_kind.setdefault(one.kind, []).append(one)
    for kind in PathKind:
        if kind in by_kind:
            asked = by_kind[kind][:: -(-len(by_kind[kind]) // kind_max)]
            yield {"kind": kind.value, "advertisements": len(by_kind[kind]), **_row(asked, xpes)}


def _row(asked: Sequence[Advertisement], xpes: Sequence[TreePattern]) -> dict[str, Any]:
    pairs = list(product(asked, xpes))
    for one in asked:
        one.intersects(xpes[0])
    for xpe in xpes:
        asked[0].intersects(xpe)
    answers, automaton_us = _timed(lambda pair: pair[0].intersects(pair[1]), pairs)
    try:
        by_procedure, procedure_us = _timed(lambda pair: meets(*pair), pairs)
    except InputError:
        return _figures(answers, automaton_us, None, "no procedure")
    verdict = "agrees" if by_procedure == answers else "WRONG"
    return _figures(answers, automaton_us, procedure_us, verdict)


def _figures(
    answers: Sequence[bool], automaton_us: float, procedure_us: float | None, verdict: str
) -> dict[str, Any]:
    return {
        "pairs": len(answers),
        "meet": sum(answers) / len(answers),
        "automaton_us": automaton_us,
        "procedure_us": procedure_us,
        "verdict": verdict,
    }


def _timed(ask: Callable[[_Pair], bool], pairs: Sequence[_Pair]) -> tuple[list[bool], float]:
    """The answers, and the mean processor time of one in microseconds."""
    begin = time.process_time()
    answers = [ask(pair) for pair in pairs]
    return answers, (time.process_time() - begin) / len(pairs) * 1e6
