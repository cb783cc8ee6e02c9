"""The decisions of the XPE dissemination work's procedures (figures 1.5, 1.6, 1.12 to 1.14).

Covers: of a set of XPEs every ordered pair is decided by the procedure for the classes of both and
by `TreePattern.covers`, which is exact for XPEs. A *false* cover is claimed and does not hold:
publications would be lost. A *missed* one costs messages and table entries. RelSimCov is run with
each search for a run of steps: naive, as printed; by the *next* table that is announced and not
printed (L323), made by the rule for covers or by that for advertisements; by bits. Absolute XPEs
over relative ones, among which there is no cover according to the work, have a row of their own.

Advertisements: relative XPEs without `//` and advertisements without repetition meet or not, by
RelExprAndAdv with each search and by the product automaton. False is harmless here (a subscription
travels in vain), missed loses publications.

The XPEs are those drawn over a DTD that name two elements; over NITF as well where the folder that
`SAPWOOD_DATA` names has it; and, as `small`, all of up to three steps over two names and `*`, with
all advertisements of up to four: what no DTD forbids. The work claims that its procedures decide
covering and prints no figures of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias, TypeVar

from sapwood.covering.published.containments import (
    Runs,
    Version,
    descendant_covers,
    procedure_covers,
    runs_of,
)
from sapwood.covering.published.procedures import Repetition, forms_of
from sapwood.covering.published.sequences import (
    Names,
    Rule,
    Search,
    naive_position,
    overlaps,
    position,
    table_position,
)
from sapwood.language.xpath import parse_xpath
from sapwood.model.patterns.advertisements import (
    Advertisement,
    PathKind,
    Step,
    advertisements_of,
)
from sapwood.model.patterns.advertisements.expressions import chain
from sapwood.model.patterns.pattern import TreePattern
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.particular import particular_patterns
from sapwood_lab.experiments.paths import dtd_named, nitf_missing, with_nitf
from sapwood_lab.experiments.report import Finding, Report, Row, number, table

SIZES: Final = (1_000,)
WORKLOADS: Final = ("news", "proteins")
SMALL: Final = "small"

ABSOLUTE: Final = "AbsSimCov"
RELATIVE: Final = "RelSimCov"
ACROSS: Final = "absolute over relative"
DESCENDANT: Final = "DesCov"
ADVERTISED: Final = "RelExprAndAdv"

NAIVE: Final = "naive"
BITS: Final = "bits"
TABLE: Final = "next table"
LOOSE: Final = "next table by overlaps"

TIMED: Final = frozenset({"us", "exact_us"})
COLUMNS: Final = (
    *("workload", "xpes", "procedure", "version", "pairs", "hold", "found"),
    *("false", "published_false", "missed", "published_missed", "us", "exact_us"),
)

ADVERTISEMENTS_MAX: Final = 100
"""Of a DTD's advertisements without repetition about this number is compared, evenly spread."""

SMALL_STEPS: Final = 3
SMALL_ADVERTISED: Final = 4
"""Steps of all XPEs and advertisements of the workload `small`."""

WHY: Final[Mapping[tuple[str, str], str]] = MappingProxyType(
    {
        (ACROSS, "printed"): "One that begins with `*` alone, as `/*` and `/*//a`, covers some.",
        (RELATIVE, TABLE): "What a `*` has passed is forgotten: `a/*/a` covers `a/a/b/a`.",
        (RELATIVE, LOOSE): "To overlap is not transitive: `a/*/a` is said to cover `a/b/b/a`.",
        (DESCENDANT, Version.PRINTED.value): "Lines 12 and 17 drop a last `*` where nothing need "
        "follow (`a/*` over `b//b/a`), and ask for a step too many elsewhere.",
        (DESCENDANT, Version.REPAIRED.value): "A `*` before what a run names is not moved over a "
        "`//`: `*/a` covers `/b//a`.",
        (ADVERTISED, TABLE): "To overlap is not transitive: `a/*/b` is found in `a/b/a/b`, and "
        "`a/b/a` not in `a/*/b/a`.",
    }
)
"""By procedure and version, the reason why it is wrong or incomplete, where it is."""

_Pair = TypeVar("_Pair")
_Cover: TypeAlias = tuple["_XPE", "_XPE"]


class _XPE(NamedTuple):
    """An XPE as it is, and as the procedures have it."""

    pattern: TreePattern
    runs: Runs


def configurations(choices: Choices) -> list[Configuration]:
    """One configuration for each DTD and number of XPEs, and one for all small XPEs."""
    sources = (choices.source,) if choices.source else with_nitf(WORKLOADS)
    drawn: list[Configuration] = [
        {"workload": name, "xpes": size, "seed": choices.seed}
        for name in sources
        for size in choices.sizes or SIZES
    ]
    every = {"workload": SMALL, "xpes": len(small_xpes()), "seed": choices.seed}
    return drawn if choices.source else [*drawn, every]


def measure(configuration: Configuration) -> list[Row]:
    """The decisions of each procedure on `xpes` of a `workload`; a row a procedure."""
    name = configuration["workload"]
    if name == SMALL:
        return measure_set(small_xpes(), small_advertisements(), small_narrow())
    dtd = dtd_named(name)
    plain = [one for one in advertisements_of(dtd.paths) if one.kind is PathKind.NON_RECURSIVE]
    return measure_set(
        particular_patterns(dtd, configuration["xpes"], configuration["seed"]),
        plain[:: max(1, len(plain) // ADVERTISEMENTS_MAX)],
    )


def measure_set(
    patterns: Sequence[TreePattern],
    advertisements: Sequence[Advertisement],
    narrow_ones: Sequence[TreePattern] = (),
) -> list[Row]:
    """The decisions of each procedure on all pairs of XPEs, and of XPEs and advertisements.

    The advertisements have no repetitions. RelSimCov is also run on XPEs over further ones without
    `//`, `narrow_ones`.
    """
    xpes = _decomposed(patterns)
    pairs: dict[str, list[_Cover]] = {name: [] for name in (ABSOLUTE, RELATIVE, ACROSS, DESCENDANT)}
    for wide, narrow in product(xpes, xpes):
        if wide is not narrow:
            pairs[_class_of(wide.runs, narrow.runs)].append((wide, narrow))
    simple = [one for one in xpes if one.runs.is_simple and not one.runs.is_absolute]
    pairs[RELATIVE] += product(simple, _decomposed(narrow_ones))
    rows: list[Row] = []
    for name, asked in pairs.items():
        if asked:
            truth, exact_us = _timed(_is_cover, asked)
            for version, decide in _PROCEDURES[name].items():
                answers, took_us = _timed(decide, asked)
                row = _row(name, version, truth, answers)
                rows.append({**row, "us": took_us, "exact_us": exact_us})
    if simple and advertisements:
        rows += _advertised_rows(advertisements, simple)
    return rows


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """The false and the missed covers of every procedure; the work has no figures of them."""
    rows = [{**row, "published_false": 0, "published_missed": 0} for row in rows]
    settings: dict[str, str | int | float | None] = {"seed": choices.seed}
    missing = nitf_missing()
    if choices.source is None and missing is not None:
        settings["nitf"] = f"left out: {missing}"
    return Report(
        title="What the work's covering procedures decide (XPE, figures 1.5, 1.6, 1.12 to 1.14)",
        settings=settings,
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare=(
            "that procedures claim no cover in vain and miss none, which is what the work says "
            "they do: it prints no counts. XPEs over a DTD seldom come near the cases that go "
            "wrong; all small ones do. Times are of pairs whose answer is mostly no."
        ),
        findings=_findings(rows),
        timed=TIMED,
    )


DESIGN: Final = Design(configurations, measure, report, Choices((150,)))


def small_xpes() -> list[TreePattern]:
    """All XPEs of up to three steps over two names and `*`."""
    steps = tuple(product(("/", "//"), ("a", "b", "*")))
    return [
        parse_xpath("".join(axis + name for axis, name in path))
        for size in range(1, SMALL_STEPS + 1)
        for path in product(steps, repeat=size)
    ]


def small_narrow() -> list[TreePattern]:
    """All relative XPEs of four steps over the same without `//`: there a *next* table errs."""
    paths = product(("a", "b", "*"), repeat=SMALL_STEPS + 1)
    return [parse_xpath("/".join(path)) for path in paths]


def small_advertisements() -> list[Advertisement]:
    """All advertisements of up to four steps over two names and `*`."""
    return [
        Advertisement(chain(map(Step, path)))
        for size in range(1, SMALL_ADVERTISED + 1)
        for path in product(("a", "b", None), repeat=size)
    ]


def _decomposed(patterns: Sequence[TreePattern]) -> list[_XPE]:
    return [_XPE(one, runs) for one in patterns if (runs := runs_of(one)) is not None]


def _class_of(wide: Runs, narrow: Runs) -> str:
    """The procedure for a pair."""
    if wide.is_absolute and not narrow.is_absolute:
        return ACROSS
    if not (wide.is_simple and narrow.is_simple):
        return DESCENDANT
    return ABSOLUTE if wide.is_absolute else RELATIVE


def _is_cover(pair: _Cover) -> bool:
    return pair[0].pattern.covers(pair[1].pattern)


def _by(version: Version, search: Search, pair: _Cover) -> bool:
    return procedure_covers(pair[0].runs, pair[1].runs, version, search)


def _by_descendants(version: Version, pair: _Cover) -> bool:
    return descendant_covers(pair[0].runs, pair[1].runs, version)


def _strict_table(longer: Names, wanted: Names, start: int, rule: Rule) -> int | None:
    """The printed search, with a table by the rule that the search is for."""
    return table_position(longer, wanted, start, rule)


def _loose_table(longer: Names, wanted: Names, start: int, rule: Rule) -> int | None:
    """The printed search, with a table by the rule for advertisements whatever it is for."""
    return table_position(longer, wanted, start, rule, overlaps)


_PROCEDURES: Final[Mapping[str, Mapping[str, Callable[[_Cover], bool]]]] = MappingProxyType(
    {
        ABSOLUTE: {"printed": partial(_by, Version.PRINTED, naive_position)},
        RELATIVE: {
            NAIVE: partial(_by, Version.PRINTED, naive_position),
            BITS: partial(_by, Version.PRINTED, position),
            TABLE: partial(_by, Version.PRINTED, _strict_table),
            LOOSE: partial(_by, Version.PRINTED, _loose_table),
        },
        ACROSS: {"printed": partial(_by_descendants, Version.PRINTED)},
        DESCENDANT: {version.value: partial(_by_descendants, version) for version in Version},
    }
)
"""Each procedure in its versions."""

_SEARCHES: Final[Mapping[str, Search]] = MappingProxyType(
    {NAIVE: naive_position, BITS: position, TABLE: _strict_table}
)


def _advertised_rows(advertisements: Sequence[Advertisement], xpes: Sequence[_XPE]) -> list[Row]:
    names: dict[int, list[Names]] = {}
    for at, one in enumerate(advertisements):
        forms = forms_of(one.expression)
        assert not any(isinstance(part, Repetition) for form in forms for part in form)
        names[at] = [
            tuple(part for part in form if not isinstance(part, Repetition)) for form in forms
        ]
    pairs = list(product(range(len(advertisements)), xpes))
    truth, exact_us = _timed(
        lambda pair: advertisements[pair[0]].intersects(pair[1].pattern), pairs
    )
    rows: list[Row] = []
    for version, search in _SEARCHES.items():

        def meets(pair: tuple[int, _XPE], search: Search = search) -> bool:
            at, xpe = pair
            wanted = xpe.runs.runs[0]
            return any(search(form, wanted, 0, overlaps) is not None for form in names[at])

        answers, took_us = _timed(meets, pairs)
        row = _row(ADVERTISED, version, truth, answers)
        rows.append({**row, "us": took_us, "exact_us": exact_us})
    return rows


def _timed(ask: Callable[[_Pair], bool], pairs: Sequence[_Pair]) -> tuple[list[bool], float]:
    """The answers, and the mean processor time of one in microseconds."""
    begin = time.process_time()
    answers = [ask(pair) for pair in pairs]
    return answers, round((time.process_time() - begin) / len(pairs) * 1e6, 2)


def _row(name: str, version: str, truth: Sequence[bool], answers: Sequence[bool]) -> Row:
    both = list(zip(truth, answers, strict=True))
    return {
        "procedure": name,
        "version": version,
        "pairs": len(truth),
        "hold": sum(truth),
        "found": sum(answers),
        "false": both.count((False, True)),
        "missed": both.count((True, False)),
    }


def _findings(rows: Sequence[Row]) -> tuple[Finding, ...]:
    """Of each procedure, over all sets together, whether it is right and whether it is complete."""
    sums: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        found = sums.setdefault((str(row["procedure"]), str(row["version"])), [0.0] * 3)
        for at, column in enumerate(("hold", "false", "missed")):
            found[at] += number(row[column])
    findings: list[Finding] = []
    for (name, version), (hold, false, missed) in sums.items():
        about = name if name == ACROSS else f"{name}, {version}"
        why = WHY.get((name, version), "")
        relation = "meetings" if name == ADVERTISED else "covers"
        if name != ACROSS:
            findings.append(
                Finding(
                    f"{about}: claims no {relation} that do not hold",
                    not false,
                    f"{false:,.0f} beside {hold:,.0f} that hold",
                    why,
                )
            )
        claim = "there are no covers" if name == ACROSS else f"misses no {relation}"
        shown = f"{missed:,.0f} of {hold:,.0f} missed"
        findings.append(Finding(f"{about}: {claim}", not missed, shown, why))
    return tuple(findings)
