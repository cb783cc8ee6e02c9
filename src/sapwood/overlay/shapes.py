"""Topologies by name: `line:5`, `star:8`, `tree:31:2`, `random:50`.

Routers are called `r1` to `rn`. The first number is always how many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from sapwood.errors import InputError, LimitError, UnknownNameError
from sapwood.limits import OVERLAY_ROUTERS_MAX
from sapwood.overlay.topology import Link, Topology

Draw: TypeAlias = Callable[[int], int]
"""`draw(n)` is some whole number from 0 to n - 1: `random.Random(seed).randrange`, say."""

_Parents: TypeAlias = Callable[[int], int]
"""For router number i >= 1 (counted from 0), the number of the router before it, less than i."""

_BRANCHING_DEFAULT: Final = 2


@dataclass(frozen=True, slots=True)
class Shape:
    """A family of topologies.

    `parents(numbers, draw)` takes the numbers after the first one; `numbers_max` says how many
    it accepts.
    """

    name: str
    usage: str
    summary: str
    numbers_max: int
    parents: Callable[[tuple[int, ...], Draw], _Parents]


def parse_topology(text: str, draw: Draw) -> Topology:
    """The topology that `text` names, such as `tree:31:2`; `draw` is asked where chance decides.

    Raises `UnknownNameError` for a shape that is not in `SHAPES`, `InputError` where its numbers
    are missing or wrong, `LimitError` for more than `OVERLAY_ROUTERS_MAX` routers.
    """
    name, *words = text.split(":")
    shape = SHAPES.get(name)
    if shape is None:
        raise UnknownNameError("topology", name, SHAPES)
    numbers = tuple(_number(word, text, shape) for word in words)
    if not 1 <= len(numbers) <= 1 + shape.numbers_max:
        raise InputError(f"topology {text!r}: write {shape.usage}")
    count, *rest = numbers
    if count > OVERLAY_ROUTERS_MAX:
        raise LimitError(
            "OVERLAY_ROUTERS_MAX", OVERLAY_ROUTERS_MAX, count, f"topology {text!r}: its size"
        )
    parent = shape.parents(tuple(rest), draw)
    names = tuple(f"r{number}" for number in range(1, count + 1))
    return Topology(names, tuple(Link(names[parent(i)], names[i]) for i in range(1, count)))


def _number(word: str, text: str, shape: Shape) -> int:
    # A size of a few digits: `int` alone would also take "1_0", " 7" and a megabyte of digits.
    if not (word.isascii() and word.isdigit()) or len(word) > len(str(OVERLAY_ROUTERS_MAX)) + 2:
        raise InputError(f"topology {text!r}: {word!r} is not a size; write {shape.usage}")
    number = int(word)
    if number < 1:
        raise InputError(f"topology {text!r}: sizes begin at 1; write {shape.usage}")
    return number


def _line(_numbers: tuple[int, ...], _draw: Draw) -> _Parents:
    return lambda i: i - 1


def _star(_numbers: tuple[int, ...], _draw: Draw) -> _Parents:
    return lambda _: 0


def _tree(numbers: tuple[int, ...], _draw: Draw) -> _Parents:
    branching = numbers[0] if numbers else _BRANCHING_DEFAULT
    return lambda i: (i - 1) // branching


def _random(_numbers: tuple[int, ...], draw: Draw) -> _Parents:
    return draw


SHAPES: Final[Mapping[str, Shape]] = MappingProxyType(
    {
        shape.name: shape
        for shape in (
            Shape("line", "line:5", "each router linked to the next", 0, _line),
            Shape("star", "star:8", "the first router linked to all others", 0, _star),
            Shape("tree", "tree:31 or tree:31:2", "a full tree; branching is 2", 1, _tree),
            Shape("random", "random:50", "each router linked to an earlier one, drawn", 0, _random),
        )
    }
)
"""The shapes that `parse_topology` knows."""
