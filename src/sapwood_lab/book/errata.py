"""Errata of the works: a printed claim, and the counter-example, computed with the book."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from random import Random
from typing import Final

from sapwood.covering.published.sequences import Names, position, table_position
from sapwood.model.constraint import equal_to
from sapwood.overlay.shapes import parse_topology
from sapwood.routing.forwarding.bloom.digest import PREDICATES, shape_of
from sapwood.routing.forwarding.bloom.published.structures import bits_of
from sapwood.sketches.accuracy import (
    equal_bits,
    false_membership,
    false_on_link,
    sketch_bytes,
    theorem_6,
)
from sapwood_lab.experiments.skiptree_fingers import EVENT, searched

WAVE: Final = 100
"""Messages of a wave of withdrawals, or of subscriptions that are sent again."""


@dataclass(frozen=True, slots=True)
class Erratum:
    """A printed claim of a work that is wrong; `found` gives the truth, as computed here."""

    work: str
    place: str
    printed: str
    found: Callable[[], str]


def errata_of(work: str) -> list[Erratum]:
    """The errata of one work, by the name that experiments have for it."""
    return [one for one in ERRATA if one.work == work]


def adaptive_cost(wave: int, useless: int) -> int:
    """The cost of adaptive waiting when a link returns after `useless` useless messages (Shen 5.7).

    It waits until that costs as much as a `wave`, and lets go then: one wave of withdrawals, and
    one of repeated subscriptions.
    """
    return useless if useless <= wave else 3 * wave


def optimal_cost(wave: int, useless: int) -> int:
    """The cost with the outage known beforehand: the useless traffic, or both waves at once."""
    return min(useless, 2 * wave)


def depth_of_tree(routers: int) -> int:
    """Links from the root of a binary tree to its deepest router."""
    tree = parse_topology(f"tree:{routers}:2", Random(0).randrange)  # noqa: S311 - not drawn
    root = tree.routers[0]
    return max(len(tree.tree(root).path(root, one)) - 1 for one in tree.routers)


def _theorem_7() -> str:
    useless = WAVE + 1
    ours, best = adaptive_cost(WAVE, useless), optimal_cost(WAVE, useless)
    return (
        f"with waves of {WAVE} messages and a link that returns after {useless} useless ones it "
        f"costs {ours}, and who waits {best}: {ours / best:.2f} times"
    )


def _three_differ() -> str:
    bound, exact = theorem_6(4_000, 2, 1_000, 3), equal_bits(4_000, 2, 1_000, 3)
    return f"the theorem gives {bound:.4f}, the exact value is {exact:.4f}"


def _sketch() -> str:
    size = sketch_bytes(1_000, 4)
    return f"4 bits for each of 1,000 entries are {size:,} bytes, a {50_000 // size}th of 50,000"


def _small_run() -> str:
    return f"one cell of 257 times 257 is {100 / 257**2:.4f} %"


def _depth() -> str:
    depth = depth_of_tree(100)
    return f"that logarithm rounded up is 7; the tree has a depth of {depth}, it rounded down"


def _next_table() -> str:
    a, b = "a", "b"
    pairs = (
        ((a, b, a, b), (a, None, b)),
        ((a, None, b, a), (a, b, a)),
        ((a, b, a, b, b), (a, None, b)),
    )
    each = (
        f"{_path(wanted)} lies in {_path(longer)} {_from(position(longer, wanted))}, and the table "
        f"says {_from(table_position(longer, wanted))}"
        for longer, wanted in pairs
    )
    return f"{'; '.join(each)}: that steps meet is not transitive where there are wildcards"


def _path(names: Names) -> str:
    return "/".join(name or "*" for name in names)


def _from(place: int | None) -> str:
    return "nowhere" if place is None else f"from step {place + 1} on"


def _flooded() -> str:
    return (
        f"64,000 XPEs, flooded to 127 brokers, are {64_000 * 127:,} messages; the table has "
        "654,871 with all publications, which fits 1,000 XPEs in all"
    )


def _heavier() -> str:
    small, large = 26_146 / 25_789 - 1, 257_567 / 254_900 - 1
    return f"by the tables it is {large:.2%}, and {small:.2%} on the smaller tree"


def bound_6_4(delay_s: Fraction, drift: Fraction) -> Fraction:
    """The bound of a delay by equation 6.4, on a clock that loses as much as it may."""
    return delay_s * (1 - drift) * (1 + drift)


def _bound() -> str:
    drift = Fraction(100, 1_000_000)
    short = 1 - bound_6_4(Fraction(1), drift)
    return (
        f"a clock that loses 100 ppm shows {float(1 - drift)} s of a second, and the bound is "
        f"{float(10**9 * short):g} ns less than the second that was bounded; to divide by 1 - rho "
        "is right"
    )


def _gaps() -> str:
    bits = sorted({0, *EVENT, 15_000})
    found = searched(EVENT, {"f": bits})
    event, own = (", ".join(map(str, some)) for some in (sorted(EVENT), bits))
    said = "is matched" if found else "is not matched"
    return f"a filter with the bits {own} {said} by an event with the bits {event} alone"


def _stored() -> str:
    stored, matched = 5_000, 60
    by_stored = false_membership(4_096, 4, stored)
    by_matched = false_on_link(4_096 // 4, 4, matched, stored - matched)
    return (
        f"{by_stored:.1%} is the chance after {stored:,} elements, which are stored; an event has "
        f"the bits of those that it satisfies, and after {matched} of them one of the others seems "
        f"to match with {by_matched:.1%}"
    )


def first_with_equal_bits(value: int, bits: int) -> int:
    """The first number above a value such that `x = number` has the same one of `bits` bits."""
    shape = shape_of(bits, 1, PREDICATES)
    wanted = bits_of(("x", equal_to(value)), shape)
    return next(n for n in count(value + 1) if bits_of(("x", equal_to(n)), shape) == wanted)


def _counters() -> str:
    other = first_with_equal_bits(0, 64)
    return (
        f"with 64 bits and one hash x = 0 and x = {other} have the same bits; where one interface "
        "has both, and bits are not counted, the second goes with the first"
    )


ERRATA: Final = (
    Erratum("Shen", "theorem 7", "Adaptive costs at most twice the optimum", _theorem_7),
    Erratum(
        "Shen",
        "section 5.5, figure 5.1",
        "With 4 bits and 2 probes tables that differ in three entries look alike once in 1,000 "
        "times",
        _three_differ,
    ),
    Erratum("Shen", "section 5.5", "A sketch of 1,000 entries has 4,000 bytes", _sketch),
    Erratum("Shen", "section 4.6", "A small run of the square has 0.015 % of it", _small_run),
    Erratum("Shen", "section 3.4", "100 routers: log 100, rounded up, is a depth of 6", _depth),
    Erratum(
        "XPE dissemination",
        "section 1.4",
        "A next table finds relative XPEs in advertisements",
        _next_table,
    ),
    Erratum(
        "XPE dissemination",
        "table 1.3",
        "64 subscribers have 1,000 XPEs each",
        _flooded,
    ),
    Erratum(
        "XPE dissemination",
        "section 1.6",
        "Imperfect merging makes 1.04 % more messages than perfect on 127 brokers",
        _heavier,
    ),
    Erratum(
        "XSiena",
        "equation 6.4",
        "A message was under way for (D - A)(1 + rho) at most",
        _bound,
    ),
    Erratum(
        "XSiena",
        "section 5.3.2",
        "Filters are removed from the sbstree without additional counters",
        _counters,
    ),
    Erratum(
        "XSiena",
        "section 5.6.2",
        "The skiptree's search excludes by the bits between bit 0 and an event's first bit, and "
        "between each two of its bits",
        _gaps,
    ),
    Erratum(
        "XSiena",
        "section 9.2",
        "By figure 5.3 almost all events would be false positives with 5,000 filters, 4,096 bits "
        "and 4 hashes",
        _stored,
    ),
)
"""In the order of the book."""
