"""`sapwood covers`: how two filters relate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import click

from sapwood.cli.output import dialect_option, json_option, print_json
from sapwood.cli.subscribe import read_bindings
from sapwood.errors import InputError
from sapwood.language.written import Language, Written, read_interest
from sapwood.limits import COVERING_STEPS_MAX
from sapwood.model.canonical import held_by
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.patterns.conditions import (
    AllOf,
    AnyOf,
    Axis,
    Below,
    StringValue,
    Text,
    descend,
)
from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.reduction import Allowance

_DOUBTS: Final = (
    "(?) not proved: general like patterns (other than a text or a prefix) and unions of many "
    "conjunctions are compared by rules that are sound, but not complete"
)


_PATTERN_DOUBTS: Final = (
    "(?) not proved: XPaths with branches, `*` and `//`, with an `or`, or with the text of an "
    "element are compared by rules that are sound, but not complete"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """Yes or no, and whether that is proved or only the safe side."""

    holds: bool
    proved: bool

    def __str__(self) -> str:
        return ("yes" if self.holds else "no") + ("" if self.proved else " (?)")


@click.command
@click.argument("a")
@click.argument("b")
@click.option("--xpath", "as_xpath", is_flag=True, help="A and B are XPaths, for documents.")
@click.option(
    "--namespace",
    "namespaces",
    multiple=True,
    metavar="PREFIX=NAMESPACE",
    help="A prefix of the XPaths; with one, names compare expanded. May be given several times.",
)
@dialect_option
@json_option
def command(
    *,
    a: str,
    b: str,
    as_xpath: bool,
    namespaces: tuple[str, ...],
    dialect: str | None,
    as_json: bool,
) -> None:
    """Say whether one filter covers the other, and whether they intersect.

    A covers B if every publication that B accepts is accepted by A. "Covers: yes" and
    "intersects: no" are always right; an answer on the safe side, that could not be proved, is
    marked.
    """
    if namespaces and not as_xpath:
        raise click.UsageError("only XPaths have namespaces; add --xpath")
    if dialect is not None and as_xpath:
        raise click.UsageError("only filters have a dialect; leave --dialect out")
    bindings = read_bindings(namespaces)
    language: Language = "xpath" if as_xpath else "filter"
    one, other = (
        _read(name, Written(language, text, bindings, dialect))
        for name, text in (("A", a), ("B", b))
    )
    answers = compared(one, other)
    if as_json:
        holds = {name: answer.holds for name, answer in answers.items()}
        proved = {name: answer.proved for name, answer in answers.items()}
        print_json({"a": str(one), "b": str(other), **holds, "proved": proved})
        return
    click.echo(f"A: {one}\nB: {other}\n")
    titles = ("A covers B", "B covers A", "intersect")
    for title, answer in zip(titles, answers.values(), strict=True):
        click.echo(f"{title:<12}{answer}")
    if not all(answer.proved for answer in answers.values()):
        click.echo(f"\n{_PATTERN_DOUBTS if as_xpath else _DOUBTS}")


def _read(name: str, written: Written) -> Interest:
    """Read an argument; a syntax error names the argument and the position."""
    try:
        return read_interest(written)
    except InputError as error:
        raise click.BadParameter(str(error), param_hint=f"'{name}'") from None


def compared(a: Interest, b: Interest) -> dict[str, Answer]:
    """The relations of two filters of one language."""
    if isinstance(a, Filter) and isinstance(b, Filter):
        return {
            "a_covers_b": covers(a, b),
            "b_covers_a": covers(b, a),
            "intersects": intersects(a, b),
        }
    assert isinstance(a, TreePattern), "both are of one language"
    assert isinstance(b, TreePattern), "both are of one language"
    decided = are_decided(a, b)
    meet = a.intersects(b)
    return {
        "a_covers_b": Answer(holds := a.covers(b), holds or decided),
        "b_covers_a": Answer(holds := b.covers(a), holds or decided),
        "intersects": Answer(meet, not meet or not (_asks_values(a) or _asks_values(b))),
    }


def are_decided(a: TreePattern, b: TreePattern) -> bool:
    """True if covering of two patterns is decided by the rules (`model.documents.containment`)."""
    asked = [*descend(a.root), *descend(b.root)]
    if any(isinstance(one, AnyOf | StringValue | Text) for one in asked):
        return False
    steps = [one for one in asked if isinstance(one, Below)]
    has_wildcards = any(step.test is None for step in steps)
    has_descendants = any(step.axis is Axis.DESCENDANT for step in steps)
    is_linear = not any(isinstance(one, AllOf) and one.operands for one in asked)
    return is_linear or not (has_wildcards and has_descendants)


def _asks_values(which: TreePattern) -> bool:
    return any(isinstance(one, StringValue) for one in descend(which.root))


def covers(a: Filter, b: Filter) -> Answer:
    """The answer whether `a` covers `b`. Yes is proof; no is, where the rules are complete."""
    holds = a.covers(b)
    return Answer(holds, holds or not (_has_patterns(a) or _has_patterns(b) or _runs_out(a, b)))


def intersects(a: Filter, b: Filter) -> Answer:
    """The answer whether `a` and `b` intersect. No is proof; yes is, where rules are complete."""
    holds = a.intersects(b)
    return Answer(holds, not holds or not (_has_patterns(a) or _has_patterns(b)))


def _has_patterns(which: Filter) -> bool:
    return any(
        not constraint.strings.is_plain
        for conjunction in which.conjunctions
        for _, constraint in conjunction.constraints
    )


def _runs_out(a: Filter, b: Filter) -> bool:
    """True if the search for a record of `b` outside `a` ends before it has found one."""
    allowance = Allowance(COVERING_STEPS_MAX)
    found = any(not held_by(box, a.conjunctions, allowance) for box in b.conjunctions)
    return found and allowance.left < 0
