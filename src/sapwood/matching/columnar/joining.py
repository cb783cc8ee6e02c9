"""The union of several segments' conjunctions, made from their ranks alone.

A segment has the constants of each attribute sorted, and of every constraint the two constants
between which it lies. So domains are united, and for each former domain a table maps former ranks
to new ones; constants are compared once each, and not for each constraint that has them.

One segment knows the numbers 3 and 7 of an attribute, another one 5 and 7. In the united domain 3,
5, 7 the ranks of the first one become, as the ends of ranges (below, at, and above each)::

    rank              4     5   6        7   8
    where it lies     < 3   3   3 to 7   7   > 7
    as a low end      4     5   6        9   10       above 3 begins behind 3
    as a high end     4     5   8        9   10       below 7 ends before 7
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar.domains import FIRST_NUMBER_RANK
from sapwood.matching.columnar.ranking import (
    Domains,
    Ranked,
    RankedRows,
    Ranks,
    distinct,
    sorted_texts,
)
from sapwood.matching.columnar.rows import Checks, Ints, Outline, selection

Flags: TypeAlias = npt.NDArray[np.bool_]


def joined(parts: Sequence[RankedRows], attributes: int) -> RankedRows:
    """The conjunctions of all parts, in their order, on the attributes `0 .. attributes - 1`.

    Constants that no conjunction has any more are left out.
    """
    lines = [_lines(part.ranked.domains) for part in parts]
    ends = [_ends(part, on) for part, on in zip(parts, lines, strict=True)]
    domains, places = _united(
        [part.ranked.domains for part in parts],
        [_used(one, on) for one, on in zip(ends, lines, strict=True)],
        attributes,
    )
    low: list[Ranks] = []
    high: list[Ranks] = []
    for one, on, found in zip(ends, lines, places, strict=True):
        low_table, high_table = _moved(on, found, domains)
        low.append(low_table[one.low])
        high.append(high_table[one.high])
    outlines = [part.outline for part in parts]
    return RankedRows(
        Outline(
            np.concatenate([one.slot for one in outlines]),
            _joined_starts([one.constraint_start for one in outlines]),
            np.concatenate([one.attribute for one in outlines]),
            _joined_starts([one.range_start for one in outlines]),
            _joined_checks(outlines),
        ),
        Ranked(domains, np.concatenate(low), np.concatenate(high)),
    )


def kept(rows: RankedRows, mask: Flags) -> RankedRows:
    """The conjunctions for which `mask` is true; the domains stay as they are."""
    if mask.all():
        return rows
    outline, (domains, low, high) = rows
    conjunctions = np.flatnonzero(mask)
    constraints, constraint_start = selection(outline.constraint_start, conjunctions)
    picked, range_start = selection(outline.range_start, constraints)
    number = np.cumsum(mask) - 1
    checks = outline.checks
    checked = mask[checks.owner]
    return RankedRows(
        Outline(
            outline.slot[conjunctions],
            constraint_start,
            outline.attribute[constraints],
            range_start,
            Checks(
                number[checks.owner[checked]],
                checks.predicate[checked],
                checks.flags[checked],
            ),
        ),
        Ranked(domains, low[picked], high[picked]),
    )


class _Lines(NamedTuple):
    """All ranks of all domains, one behind the other; a place is `start[attribute] + rank`.

    `step` counts from the first rank of the numbers, or of the texts: step 0 and all even ones are
    gaps, the constants `constant`, `constant + 1` ... have the steps 1, 3, .... Texts come behind
    all numbers.
    """

    start: Ints  # [a]
    attribute: Ints
    rank: Ints
    in_numbers: Flags
    in_texts: Flags
    step: Ints
    constant: Ints
    #: the last step
    last: Ints


class _Ranges(NamedTuple):
    """The ends of all ranges as places in `_Lines`."""

    low: Ints
    high: Ints


def _lines(domains: Domains) -> _Lines:
    sizes = domains.last_ranks() + 1
    start = np.cumsum(sizes) - sizes
    attribute = np.repeat(np.arange(len(sizes)), sizes)
    rank = np.arange(len(attribute)) - start[attribute]
    text_rank = domains.text_ranks()[attribute]
    in_texts = rank >= text_rank
    # The rank between numbers and texts is no end of a range; it counts as neither here.
    in_numbers = (rank >= FIRST_NUMBER_RANK) & (rank < text_rank - 1)
    text_start = len(domains.numbers) + domains.text_start[:-1]
    counts = np.where(
        in_texts, domains.text_counts()[attribute], domains.number_counts()[attribute]
    )
    return _Lines(
        start,
        attribute,
        rank,
        in_numbers,
        in_texts,
        rank - np.where(in_texts, text_rank, FIRST_NUMBER_RANK),
        np.where(in_texts, text_start[attribute], domains.number_start[attribute]),
        2 * counts,
    )


def _ends(part: RankedRows, lines: _Lines) -> _Ranges:
    outline, ranked = part
    start = np.repeat(lines.start[outline.attribute], np.diff(outline.range_start))
    return _Ranges(start + ranked.low, start + ranked.high)


def _used(ends: _Ranges, lines: _Lines) -> Flags:
    """For each constant, texts behind numbers, true if a range begins or ends there."""
    constants = lines.in_numbers | lines.in_texts
    used = np.zeros(int((lines.step[constants] % 2).sum()), np.bool_)
    begins, is_end = (np.zeros(len(lines.rank), np.bool_) for _ in range(2))
    begins[ends.low], is_end[ends.high] = True, True
    begins &= constants & (lines.step > 0)
    is_end &= constants & (lines.step < lines.last)
    used[lines.constant[begins] + (lines.step[begins] - 1) // 2] = True
    used[lines.constant[is_end] + lines.step[is_end] // 2] = True
    return used


def _united(
    parts: Sequence[Domains], used: Sequence[Flags], attributes: int
) -> tuple[Domains, list[Ints]]:
    """The domains of all used constants, and for each part the new places of its constants.

    Places count from the first number, or text, of the attribute; those of unused constants are 0.
    """
    number_used = [one[: len(part.numbers)] for part, one in zip(parts, used, strict=True)]
    text_used = [one[len(part.numbers) :] for part, one in zip(parts, used, strict=True)]
    number_values = np.concatenate(
        [part.numbers[one] for part, one in zip(parts, number_used, strict=True)]
    )
    remainders = np.concatenate(
        [part.remainders[one] for part, one in zip(parts, number_used, strict=True)]
    )
    number_on = np.concatenate(
        [_owners(part.number_start)[one] for part, one in zip(parts, number_used, strict=True)]
    )
    numbers = distinct(number_on, (remainders, number_values), attributes)
    shifts = np.cumsum([0, *(len(part.texts) for part in parts)])
    refs, texts = sorted_texts(
        [text for part in parts for text in part.texts],
        np.concatenate(
            [
                part.text_refs[one].astype(np.int64) + shift
                for part, one, shift in zip(parts, text_used, shifts[:-1], strict=True)
            ]
        ),
    )
    text_on = np.concatenate(
        [_owners(part.text_start)[one] for part, one in zip(parts, text_used, strict=True)]
    )
    text_refs = distinct(text_on, (refs,), attributes)
    domains = Domains(
        numbers.start,
        number_values[numbers.example],
        remainders[numbers.example],
        text_refs.start,
        refs[text_refs.example].astype(np.uint32),
        texts,
    )
    places: list[Ints] = []
    number_at = text_at = 0
    for part, one in zip(parts, used, strict=True):
        place, split = np.zeros(len(one), np.int64), len(part.numbers)
        counts = int(np.count_nonzero(one[:split])), int(np.count_nonzero(one[split:]))
        place[:split][one[:split]] = numbers.rank[number_at : number_at + counts[0]]
        place[split:][one[split:]] = text_refs.rank[text_at : text_at + counts[1]]
        number_at, text_at = number_at + counts[0], text_at + counts[1]
        places.append(place)
    return domains, places


def _owners(start: Ints) -> Ints:
    """The attribute of each constant."""
    return np.repeat(np.arange(len(start) - 1), np.diff(start))


def _moved(lines: _Lines, places: Ints, united: Domains) -> tuple[Ranks, Ranks]:
    """For each former rank its rank in the united domains, as a low end and as a high end."""
    on, step = lines.attribute, lines.step
    in_order = np.append(places, 0)  # for ends that are at no constant
    before = np.clip(lines.constant + (step - 1) // 2, 0, len(places))
    behind = np.clip(lines.constant + step // 2, 0, len(places))
    low = np.where(step > 0, 2 * in_order[before] + 2 - step % 2, 0)
    last = 2 * np.where(lines.in_texts, united.text_counts()[on], united.number_counts()[on])
    high = np.where(step < lines.last, 2 * in_order[behind] + step % 2, last)
    first = np.where(lines.in_texts, united.text_ranks()[on], FIRST_NUMBER_RANK)
    is_kept = ~(lines.in_numbers | lines.in_texts)
    return (
        np.where(is_kept, lines.rank, first + low).astype(np.uint32),
        np.where(is_kept, lines.rank, first + high).astype(np.uint32),
    )


def _joined_starts(parts: Sequence[Ints]) -> Ints:
    ends = np.cumsum([part[-1] for part in parts])
    moved = [part[1:] + shift for part, shift in zip(parts[1:], ends[:-1], strict=True)]
    return np.concatenate([parts[0], *moved])


def _joined_checks(parts: Sequence[Outline]) -> Checks:
    shifts = np.cumsum([0, *(len(part.slot) for part in parts)])
    return Checks(
        np.concatenate(
            [part.checks.owner + shift for part, shift in zip(parts, shifts[:-1], strict=True)]
        ),
        np.concatenate([part.checks.predicate for part in parts]),
        np.concatenate([part.checks.flags for part in parts]),
    )
