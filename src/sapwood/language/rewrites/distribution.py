"""Distribute `and` over `or`: a tree to a union of boxes, within limits.

Adjacent boxes are joined and covered ones dropped on the way, so that
`(a is null or a > 5) and (b is null or b > 5) and ...` stays one box however long it gets.
"""

from __future__ import annotations

from sapwood.errors import LimitError
from sapwood.language.rewrites.conditions import accepted_values
from sapwood.language.syntax import And, Condition, Constant, Node, Not, Or
from sapwood.limits import CONJUNCTIONS_MAX, LIKE_PATTERNS_MAX, NORMAL_FORM_STEPS_MAX
from sapwood.model.conjunction import EVERY_RECORD, Conjunction, conjunction
from sapwood.model.constraint import Constraint
from sapwood.model.reduction import Allowance, join, reduced


def distribute(node: Node, allowance: Allowance | None = None) -> list[Conjunction]:
    """The boxes whose union the tree describes; negation must be at the leaves.

    Boxes that cannot be satisfied are dropped. Raises `LimitError` as soon as more than
    `limits.CONJUNCTIONS_MAX` boxes are needed at once, or more than `limits.LIKE_PATTERNS_MAX`
    patterns on one attribute, or past the allowance (`limits.NORMAL_FORM_STEPS_MAX`).
    """
    return _alternatives(node, allowance or Allowance(NORMAL_FORM_STEPS_MAX))


def _alternatives(node: Node, allowance: Allowance) -> list[Conjunction]:
    match node:
        case Or():
            boxes = [box for part in node.operands for box in _alternatives(part, allowance)]
            return _bounded(join(boxes, allowance), allowance)
        case And():
            return _conjoined([_alternatives(part, allowance) for part in node.operands], allowance)
        case Constant():
            return [EVERY_RECORD] if node.value else []
        case Not(operand=operand):
            assert isinstance(operand, Condition), "negation was not pushed to the leaves"
            box = conjunction([(operand.attribute, accepted_values(operand, negated=True))])
        case condition:
            box = conjunction([(condition.attribute, accepted_values(condition, negated=False))])
    return [] if box is None else [box]


def _conjoined(operands: list[list[Conjunction]], allowance: Allowance) -> list[Conjunction]:
    """The product of all operands, those without alternatives first."""
    if not all(operands):
        return []
    core = _intersection([boxes[0] for boxes in operands if len(boxes) == 1])
    product = [] if core is None else [core]
    for boxes in operands:
        if len(boxes) > 1:
            product = _product(product, reduced(boxes, allowance), allowance)
    return product


def _intersection(boxes: list[Conjunction]) -> Conjunction | None:
    """The intersection of boxes, one attribute after the other."""
    sides: dict[str, list[Constraint]] = {}
    for box in boxes:
        for name, own in box.constraints:
            sides.setdefault(name, []).append(own)
    _check_patterns(max((sum(own.patterns for own in all_) for all_ in sides.values()), default=0))
    return conjunction((name, _all_of(constraints)) for name, constraints in sides.items())


def _all_of(constraints: list[Constraint]) -> Constraint:
    """The values in all constraints, by pairs, then pairs of pairs: large ones cost more."""
    while len(constraints) > 1:
        rest = constraints[-1:] if len(constraints) % 2 else []
        pairs = zip(constraints[::2], constraints[1::2], strict=False)
        constraints = [a.intersect(b) for a, b in pairs] + rest
    return constraints[0]


def _product(a: list[Conjunction], b: list[Conjunction], allowance: Allowance) -> list[Conjunction]:
    boxes: list[Conjunction] = []
    weight = sum(right.weight for right in b)
    for left in a:
        allowance.charge(len(b) * (4 + left.weight) + weight)
        both = [box for right in b if (box := left.intersect(right)) is not None]
        _check_patterns(max((box.patterns for box in both), default=0))
        boxes = _bounded([*boxes, *both], allowance)
    return boxes if len(a) == 1 else reduced(boxes, allowance)


def _bounded(boxes: list[Conjunction], allowance: Allowance) -> list[Conjunction]:
    """The boxes, reduced if they are too many; raises `LimitError` if they still are."""
    if len(boxes) > CONJUNCTIONS_MAX:
        boxes = reduced(boxes, allowance)
    if len(boxes) > CONJUNCTIONS_MAX:
        raise LimitError(
            "CONJUNCTIONS_MAX",
            CONJUNCTIONS_MAX,
            None,
            "the number of conjunctions in the filter's normal form",
        )
    return boxes


def _check_patterns(count: int) -> None:
    if count > LIKE_PATTERNS_MAX:
        raise LimitError(
            "LIKE_PATTERNS_MAX",
            LIKE_PATTERNS_MAX,
            count,
            "the number of general like patterns on one attribute of a conjunction",
        )
