"""`sapwood explain --filter`: the covers of a filter, its cost, its matches so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from sapwood.cli.output import (
    progress,
)
from sapwood.errors import InputError
from sapwood.language.never import why_never
from sapwood.matching.costs import Cost, cost_of, nanoseconds
from sapwood.matching.lookups import Lookup, LookupKind
from sapwood.model.amounts import amount
from sapwood.model.constraint import Constraint
from sapwood.model.explanation import shortened
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.patterns.pattern import TreePattern

if TYPE_CHECKING:
    from sapwood.session.settings import ConnectionSettings

SHOWN_MAX: Final = 8
"""Covers and conjunctions that are shown; --json has all."""

DEAR_NS: Final = 1_000.0
"""Nanoseconds from which on a filter is called dear: some hundred others cost as much."""

BESIDE_MAX: Final = 100_000
"""Filters of a file that are laid beside the one that is explained, to see how it is looked up: a
few microseconds and some hundred bytes each."""


@dataclass(frozen=True, slots=True)
class Cover:
    """A subscription whose filter covers the one that is explained."""

    name: str
    filter: Interest
    is_equal: bool


@dataclass(frozen=True, slots=True)
class Matched:
    """The numbers of publications in a journal: those that the filter accepts, and all."""

    journal: str
    matched: int
    kept: int


@dataclass(frozen=True, slots=True)
class About:
    """The properties of a filter.

    `of` subscriptions of `source` were looked at for covers; `None` where all that a broker has
    were, or nothing was.
    """

    interest: Interest
    never: str | None
    kinds: dict[str, int]
    cost: Cost
    lookups: tuple[Lookup, ...]
    source: str | None
    covers: tuple[Cover, ...]
    of: int | None
    journal: Matched | None


def about_filter(
    interest: Interest,
    *,
    named: Iterable[tuple[str, Interest]] | None,
    source: str | None,
    broker: str | None,
    settings: ConnectionSettings,
    journal: Path | None,
) -> About:
    """Look at a filter, beside the subscriptions of a file or at a broker, and in a journal."""
    covers: list[Cover] = []
    beside: list[Filter] = []
    count: int | None = None
    if named is not None:
        count = 0
        for name, other in named:
            count += 1
            if isinstance(other, Filter) and len(beside) < BESIDE_MAX:
                beside.append(other)
            if other.covers(interest):
                covers.append(Cover(name, other, other == interest))
    elif broker is not None:
        source, found = _covers_at(broker, interest, settings)
        covers += found
    return About(
        interest,
        why_never(interest),
        kinds_of(interest),
        cost_of(interest),
        _lookups(interest, beside),
        source,
        tuple(covers),
        count,
        None if journal is None else _matched(journal, interest),
    )


def _covers_at(
    broker: str, interest: Interest, settings: ConnectionSettings
) -> tuple[str, list[Cover]]:
    """The covers that a broker knows, and its name."""
    from sapwood.asking.explaining import Explainer

    covers: list[Cover] = []
    with Explainer(broker, settings) as explainer:
        for one in explainer.covers(interest):
            if one.neighbor:
                name = f"{one.id} from {one.neighbor}"
            elif one.durable is not None and one.durable.name:
                name = f"durable {one.durable.name}"
            else:
                name = f"{one.id} of client {one.client}"
            covers.append(Cover(name, one.filter, one.filter == interest))
        return explainer.broker, covers


def _lookups(interest: Interest, beside: Sequence[Filter]) -> tuple[Lookup, ...]:
    if isinstance(interest, Filter):
        from sapwood.matching.columnar.explaining import lookups

        return lookups(interest, beside)
    from sapwood.matching.automaton.explaining import lookup

    assert isinstance(interest, TreePattern), "an interest is of one of two languages"
    return (lookup(interest),)


def kinds_of(interest: Interest) -> dict[str, int]:
    """The number of a record filter's predicates by kind; none for tree patterns."""
    if not isinstance(interest, Filter):
        return {}
    each = (one for conjunction in interest.conjunctions for _, one in conjunction.constraints)
    return dict(Counter(map(_kind, each)))


def _kind(constraint: Constraint) -> str:
    if constraint.patterns:
        return "pattern"
    if constraint.absent:
        return "absence"
    if constraint.points() is not None:
        return "value"
    types = (constraint.booleans, constraint.numbers, constraint.strings.ranges)
    return "presence" if all(types) and constraint.complement() == _ABSENT else "range"


_ABSENT: Final = Constraint(absent=True)


def _matched(journal: Path, interest: Interest) -> Matched:
    """The matches of a filter among a journal's publications; `InputError` without a journal."""
    from sapwood.pipeline.journals.places import Part, bounds, read

    inner = journal / "journal"
    folder = inner if inner.is_dir() else journal
    first, end = bounds(str(folder))
    matched = 0
    with progress("reading", "publications") as advance:
        for _ in read(Part(str(folder), first, end), interest):
            matched += 1
            advance(1)
    return Matched(str(folder), matched, end - first)


def filter_text(found: About) -> str:
    """The properties of a filter, as text for people."""
    lines = [f"filter: {shortened(str(found.interest))}"]
    if found.never is not None:
        lines.append(f"it can never match: {found.never}")
    if found.kinds:
        kinds = ", ".join(f"{count} by {kind}" for kind, count in sorted(found.kinds.items()))
        conjunctions = amount(len(found.lookups), "conjunction")
        lines.append(f"{conjunctions}, predicates: {kinds}")
    lines.append(f"cost: {nanoseconds(found.cost.ns)} for each publication")
    if found.cost.ns >= DEAR_NS:
        lines.append(f"  {found.cost.remedy()}")
    for one in found.lookups[:SHOWN_MAX]:
        lines += _lookup_lines(one)
    if len(found.lookups) > SHOWN_MAX:
        lines.append(f"{len(found.lookups) - SHOWN_MAX} conjunctions more; --json lists them")
    if found.source is not None:
        lines += _cover_lines(found)
    if found.journal is not None:
        of = f"{found.journal.kept:,} publications in {found.journal.journal}"
        lines.append(f"it has matched {found.journal.matched:,} of {of}")
    return "\n".join(lines)


_FOUND: Final[Mapping[LookupKind, str]] = MappingProxyType(
    {
        LookupKind.HASH: "found by a value (hash): {}",
        LookupKind.INTERVAL: "found by a range (interval): {}",
        LookupKind.PAIR: "found by two constraints at once (grid): {}",
        LookupKind.PRESENCE: "tried for every record that has such a value: {}",
        LookupKind.SUFFIX: "found by how a text ends (suffix): {}",
        LookupKind.LITERAL: "found by what a text has in it (literal): {}",
        LookupKind.PATH: "found by a path: {}",
        LookupKind.SCAN: "tried for every record: nothing in it asks for a value that is there",
    }
)


def _lookup_lines(one: Lookup) -> list[str]:
    share = "" if one.share is None else f"; a guess: {one.share:.0%} of records are candidates"
    found = _FOUND[one.way].format(" and ".join(map(shortened, one.by)))
    lines = [f"  {shortened(one.text)}", f"    {found}{share}"]
    if one.compared:
        lines.append(f"    then compared: {'; '.join(map(shortened, one.compared))}")
    if one.patterns:
        texts = "; ".join(map(shortened, one.patterns))
        lines.append(f"    searched for in each of these texts: {texts}")
    return lines


def _cover_lines(found: About) -> list[str]:
    of = "" if found.of is None else f" of {found.of:,}"
    covers = f"{len(found.covers):,}{of} subscriptions" if found.covers else "no subscription"
    lines = [f"covered by {covers} of {found.source}"]
    for one in found.covers[:SHOWN_MAX]:
        relation = " (equal)" if one.is_equal else ""
        lines.append(f"  {one.name}: {shortened(str(one.filter))}{relation}")
    if len(found.covers) > SHOWN_MAX:
        lines.append(f"  and {len(found.covers) - SHOWN_MAX:,} more; --json lists them")
    return lines


def filter_members(found: About) -> dict[str, object]:
    """The same for programs."""
    covers = [
        {"name": one.name, "filter": str(one.filter), "equal": one.is_equal} for one in found.covers
    ]
    return {
        "filter": str(found.interest),
        "never": found.never,
        "predicates": found.kinds,
        "cost_ns": round(found.cost.ns, 3),
        "conjunctions": [one._asdict() for one in found.lookups],
        "source": found.source,
        "covers": covers,
        "of": found.of,
        "journal": None
        if found.journal is None
        else {"matched": found.journal.matched, "kept": found.journal.kept},
    }


def check_journal(journal: Path) -> None:
    """Raise `InputError` unless there is a journal, or a broker's folder with one."""
    from sapwood.store.segments import is_journal

    if not (is_journal(journal) or is_journal(journal / "journal")):
        raise InputError(f"{journal}: there is no journal; give the --data folder of a broker")
