"""One form for equal filters: the canonical set of boxes of a union of boxes.

A filter is a union of boxes (conjunctions). Different unions can hold the same records; the set of
*maximal* boxes inside the union, however, depends on the records alone. It is the Blake canonical
form of switching theory, here over many-valued attributes: close the boxes under *consensus* (two
boxes that differ in one attribute and together hold a larger box), drop covered ones. From that
set, in a defined order, every box that the others hold together is removed, so that no box is
superfluous and the result still depends on the records alone.

The closure can be exponentially larger than the filter, so it runs within
`limits.CANONICAL_STEPS_MAX`; beyond that the result is only reduced, not canonical. Constraints
with general `like` patterns have no union or complement in general; boxes that need one are left
as they are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from sapwood.limits import (
    CANONICAL_CONJUNCTIONS_MAX,
    CANONICAL_STEPS_MAX,
    NORMAL_FORM_STEPS_MAX,
)
from sapwood.model.conjunction import Conjunction
from sapwood.model.reduction import Allowance, in_normal_order, reduced


def canonical(
    boxes: Iterable[Conjunction], steps_max: int = NORMAL_FORM_STEPS_MAX
) -> tuple[Conjunction, ...]:
    """The normal form of a union of boxes, sorted; canonical within the limits above.

    Applying it again changes nothing: maximal boxes, and the reduced ones that are left where the
    closure was too large, cannot be reduced further.

    Raises `LimitError` past `steps_max`. The form does not depend on it: with few steps there is
    this form or none.
    """
    given = tuple(boxes)
    if len(given) < 2:
        return given
    smaller = reduced(given, Allowance(steps_max))
    if 1 < len(smaller) <= CANONICAL_CONJUNCTIONS_MAX:
        allowance = _part_of(steps_max)
        maximal = _closure(smaller, allowance)
        _check_left(allowance, steps_max)
        if maximal is not None:
            allowance = _part_of(steps_max)
            least = _irredundant(maximal, allowance)
            _check_left(allowance, steps_max)
            return tuple(least)
    return tuple(smaller)


def _part_of(steps_max: int) -> Allowance:
    """The allowance of the closure, and of the step after it, each."""
    return Allowance(min(CANONICAL_STEPS_MAX, steps_max))


def _check_left(allowance: Allowance, steps_max: int) -> None:
    """`LimitError` where with more steps another form might have come out."""
    if allowance.left < 0 and steps_max < CANONICAL_STEPS_MAX:
        allowance.charge(0)


def held_by(box: Conjunction, boxes: Sequence[Conjunction], allowance: Allowance) -> bool:
    """True if every record of `box` is surely in the union of `boxes`.

    Subtracts the boxes one after the other until nothing is left of `box`. Sound; complete
    without general `like` patterns and within the allowance.
    """
    pieces = [box]
    for taken in boxes:
        left: list[Conjunction] = []
        for piece in pieces:
            sizes = len(taken.constraints), len(taken.constraints) + len(piece.constraints)
            if not allowance.spend(1 + sizes[0] * sizes[1] // 16 + taken.weight // 8):
                return False
            left.extend(_subtract(piece, taken))
        if not left:
            return True
        pieces = left
    return False


def consensus(a: Conjunction, b: Conjunction) -> Iterator[Conjunction]:
    """The boxes that `a` and `b` hold together, each along one attribute.

    Only an attribute in which neither box covers the other gives a box that is not in one of the
    two already; attributes in which they are disjoint must be united for there to be any.
    """
    others = dict(b.constraints)
    shared = [(name, own, others[name]) for name, own in a.constraints if name in others]
    apart = [name for name, own, other in shared if own.intersect(other).is_empty]
    for name, own, other in shared:
        if [name] == apart or not (apart or own.covers(other) or other.covers(own)):
            union = own.union(other)
            both = None if union is None else a.without(name).intersect(b.without(name))
            if union is not None and both is not None:
                yield both.with_constraint(name, union)


def _closure(boxes: list[Conjunction], allowance: Allowance) -> list[Conjunction] | None:
    """All maximal boxes, sorted, or `None` past the allowance.

    Iterated consensus: each box meets all that are closed already, and then joins them.
    """
    closed: list[Conjunction] = []
    waiting = deque(boxes)
    while waiting:
        box = waiting.popleft()
        steps = 1 + box.weight // 8
        if not allowance.spend(steps * (1 + len(closed))):
            return None
        if any(own.covers(box) for own in closed):
            continue
        closed = [own for own in closed if not box.covers(own)]
        for own in closed:
            if not allowance.spend(steps + len(own.constraints) * len(box.constraints)):
                return None
            waiting.extend(consensus(own, box))
        closed.append(box)
    return in_normal_order(closed)


def _irredundant(boxes: list[Conjunction], allowance: Allowance) -> list[Conjunction]:
    """Remove, most specific first, each box that the remaining ones hold together."""
    kept = list(boxes)
    for box in reversed(boxes):
        others = [other for other in kept if other is not box]
        if held_by(box, others, allowance):
            kept = others
    return kept


def _subtract(box: Conjunction, taken: Conjunction) -> list[Conjunction]:
    """Disjoint boxes that together hold the records of `box` that are not in `taken`.

    Where a complement does not exist because of patterns the whole box is left, which is sound.
    """
    if not box.intersects(taken):
        return [box]
    pieces: list[Conjunction] = []
    rest = box
    for attribute, constraint in taken.constraints:
        own = rest.constraint(attribute)
        if constraint.covers(own):
            continue
        outside = constraint.complement()
        if outside is None:
            return [box]
        remaining = own.intersect(outside)
        if not remaining.is_empty:
            pieces.append(rest.with_constraint(attribute, remaining))
        rest = rest.with_constraint(attribute, own.intersect(constraint))
    return pieces
