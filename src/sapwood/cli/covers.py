"""`sapwood covers`: how two filters relate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import click

from sapwood.cli.output import json_option, print_json
from sapwood.errors import InputError
from sapwood.limits import COVERING_STEPS_MAX
from sapwood.model.canonical import held_by
from sapwood.model.filter import Filter
from sapwood.model.reduction import Allowance

_DOUBTS: Final = (
    "(?) not proved: general like patterns (other than a text or a prefix) and unions of many "
    "conjunctions are compared by rules that are sound, but not complete"
)


def _read(_ctx: click.Context, _param: click.Parameter, text: str) -> Filter:
    """Read an argument; a syntax error names the argument and the position."""
    from sapwood.language import parse_filter

    try:
        return parse_filter(text)
    except InputError as error:
        raise click.BadParameter(str(error)) from None


@dataclass(frozen=True, slots=True)
class Answer:
    """Yes or no, and whether that is proved or only the safe side."""

    holds: bool
    proved: bool

    def __str__(self) -> str:
        return ("yes" if self.holds else "no") + ("" if self.proved else " (?)")


@click.command
@click.argument("a", callback=_read)
@click.argument("b", callback=_read)
@json_option
def command(*, a: Filter, b: Filter, as_json: bool) -> None:
    """Say whether one filter covers the other, and whether they intersect.

    A covers B if every publication that B accepts is accepted by A. "Covers: yes" and
    "intersects: no" are always right; an answer on the safe side, that could not be proved, is
    marked.
    """
    answers = {
        "a_covers_b": covers(a, b),
        "b_covers_a": covers(b, a),
        "intersects": intersects(a, b),
    }
    if as_json:
        holds = {name: answer.holds for name, answer in answers.items()}
        proved = {name: answer.proved for name, answer in answers.items()}
        print_json({"a": str(a), "b": str(b), **holds, "proved": proved})
        return
    click.echo(f"A: {a}\nB: {b}\n")
    titles = ("A covers B", "B covers A", "intersect")
    for title, answer in zip(titles, answers.values(), strict=True):
        click.echo(f"{title:<12}{answer}")
    if not all(answer.proved for answer in answers.values()):
        click.echo(f"\n{_DOUBTS}")


def covers(a: Filter, b: Filter) -> Answer:
    """Whether `a` covers `b`. Yes is proof; no is, where the rules are complete."""
    holds = a.covers(b)
    return Answer(holds, holds or not (_has_patterns(a) or _has_patterns(b) or _runs_out(a, b)))


def intersects(a: Filter, b: Filter) -> Answer:
    """Whether `a` and `b` intersect. No is proof; yes is, where the rules are complete."""
    holds = a.intersects(b)
    return Answer(holds, not holds or not (_has_patterns(a) or _has_patterns(b)))


def _has_patterns(which: Filter) -> bool:
    return any(
        not constraint.strings.is_plain
        for conjunction in which.conjunctions
        for _, constraint in conjunction.constraints
    )


def _runs_out(a: Filter, b: Filter) -> bool:
    """Whether the search for a record of `b` outside `a` ends before it has found one."""
    allowance = Allowance(COVERING_STEPS_MAX)
    found = any(not held_by(box, a.conjunctions, allowance) for box in b.conjunctions)
    return found and allowance.left < 0
