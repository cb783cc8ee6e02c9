"""Overlays by name: `line:5`, `tree:31:2`, `ring:8`, `mesh:20:40`, `transit-stub` and others.

Routers are called `r1` to `rn`. The first number, where there is any, is how many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import Final, TypeAlias

from sapwood.errors import InputError, LimitError, UnknownNameError
from sapwood.limits import MESH_ROUTERS_MAX, OVERLAY_ROUTERS_MAX
from sapwood.overlay.graph import overlay_of
from sapwood.overlay.planetlab import planetlab
from sapwood.overlay.topology import Link, Overlay, Topology
from sapwood.overlay.transit_stub import Draw, transit_stub

_Parents: TypeAlias = Callable[[int], int]
"""For router number i >= 1 (counted from 0), the number of the router before it, less than i."""

_BRANCHING_DEFAULT: Final = 2


@dataclass(frozen=True, slots=True)
class Shape:
    """A family of overlays: `make(numbers, draw)` takes one of these counts of numbers."""

    name: str
    usage: str
    summary: str
    counts: tuple[int, ...]
    make: Callable[[tuple[int, ...], Draw], Overlay]


def parse_topology(text: str, draw: Draw) -> Overlay:
    """The overlay that `text` names, such as `tree:31:2`; `draw` gives random numbers.

    Raises `UnknownNameError` for a shape that is not in `SHAPES`, `InputError` where its numbers
    are missing or wrong, `LimitError` for more than `OVERLAY_ROUTERS_MAX` routers.
    """
    name, *words = text.split(":")
    shape = SHAPES.get(name)
    if shape is None:
        raise UnknownNameError("topology", name, SHAPES)
    numbers = tuple(_number(word, text, shape) for word in words)
    if len(numbers) not in shape.counts:
        raise InputError(f"topology {text!r}: write {shape.usage}")
    if numbers and numbers[0] > OVERLAY_ROUTERS_MAX:
        raise LimitError(
            "OVERLAY_ROUTERS_MAX", OVERLAY_ROUTERS_MAX, numbers[0], f"topology {text!r}: its size"
        )
    return shape.make(numbers, draw)


def _number(word: str, text: str, shape: Shape) -> int:
    # A size of a few digits: `int` alone would also take "1_0", " 7" and a megabyte of digits.
    if not (word.isascii() and word.isdigit()) or len(word) > len(str(OVERLAY_ROUTERS_MAX)) + 2:
        raise InputError(f"topology {text!r}: {word!r} is not a size; write {shape.usage}")
    number = int(word)
    if number < 1:
        raise InputError(f"topology {text!r}: sizes begin at 1; write {shape.usage}")
    return number


def _joined(count: int, parent: _Parents) -> Topology:
    names = tuple(f"r{number}" for number in range(1, count + 1))
    return Topology(names, tuple(Link(names[parent(i)], names[i]) for i in range(1, count)))


def _line(numbers: tuple[int, ...], _draw: Draw) -> Topology:
    return _joined(numbers[0], lambda i: i - 1)


def _star(numbers: tuple[int, ...], _draw: Draw) -> Topology:
    return _joined(numbers[0], lambda _: 0)


def _tree(numbers: tuple[int, ...], _draw: Draw) -> Topology:
    count, branching = (*numbers, _BRANCHING_DEFAULT)[:2]
    return _joined(count, lambda i: (i - 1) // branching)


def _random(numbers: tuple[int, ...], draw: Draw) -> Topology:
    return _joined(numbers[0], draw)


def _ring(numbers: tuple[int, ...], _draw: Draw) -> Overlay:
    line = _joined(numbers[0], lambda i: i - 1)
    ends = line.routers[-1], line.routers[0]
    closing = (Link(*ends),) if len(line.routers) > 2 else ()
    return overlay_of(line.routers, (*line.links, *closing))


def _mesh(numbers: tuple[int, ...], draw: Draw) -> Overlay:
    count, links = numbers
    most = count * (count - 1) // 2
    if not count - 1 <= links <= most:
        raise InputError(
            f"topology 'mesh:{count}:{links}': so many routers have {count - 1} to {most} links"
        )
    if links >= count > MESH_ROUTERS_MAX:
        what = f"topology 'mesh:{count}:{links}': its size"
        raise LimitError("MESH_ROUTERS_MAX", MESH_ROUTERS_MAX, count, what)
    tree = _joined(count, draw)
    joined = {(link.a, link.b) for link in tree.links}
    apart = [ends for ends in combinations(tree.routers, 2) if ends not in joined]
    more = tuple(Link(*apart.pop(draw(len(apart)))) for _ in range(links - len(tree.links)))
    return overlay_of(tree.routers, (*tree.links, *more))


def _transit_stub(_numbers: tuple[int, ...], draw: Draw) -> Topology:
    return transit_stub(draw).tree


def _planetlab(_numbers: tuple[int, ...], _draw: Draw) -> Topology:
    return planetlab()


SHAPES: Final[Mapping[str, Shape]] = MappingProxyType(
    {
        shape.name: shape
        for shape in (
            Shape("line", "line:5", "each router linked to the next", (1,), _line),
            Shape("star", "star:8", "the first router linked to all others", (1,), _star),
            Shape("tree", "tree:31 or tree:31:2", "a full tree; branching is 2", (1, 2), _tree),
            Shape("random", "random:50", "each linked to an earlier one, drawn", (1,), _random),
            Shape(
                "ring",
                "ring:8",
                "each router linked to the next, and the last to the first",
                (1,),
                _ring,
            ),
            Shape("mesh", "mesh:20:40", "so many routers and links, drawn", (2,), _mesh),
            Shape(
                "transit-stub",
                "transit-stub",
                "64 routers, 24 at the edge: a spanning tree of a drawn transit-stub graph",
                (0,),
                _transit_stub,
            ),
            Shape(
                "planetlab",
                "planetlab",
                "22 routers with the link delays of a world-wide test bed",
                (0,),
                _planetlab,
            ),
        )
    }
)
"""The shapes that `parse_topology` knows."""
