"""The strategies of Bloom forwarding by name: bits, hashes, and the comparing structures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from sapwood.errors import InputError
from sapwood.routing.forwarding.bloom.bloom import Bloom, Structures
from sapwood.routing.forwarding.bloom.digest import (
    BITS_DEFAULT,
    BITS_MAX,
    BITS_MIN,
    HASHES_DEFAULT,
    MARK,
    PREDICATES,
    shape_of,
)
from sapwood.routing.forwarding.bloom.matrix import Matrix, MatrixDigester
from sapwood.routing.forwarding.bloom.published.counting_sbstree import CountingSbsTree
from sapwood.routing.forwarding.bloom.published.sbstree import SbsTree
from sapwood.routing.forwarding.bloom.published.skiptree import SkipTree
from sapwood.routing.forwarding.bloom.published.structures import Bits, BitsTable, PosetDigester
from sapwood.routing.strategies import ForwardingStrategy, Rule
from sapwood.sketches.shape import PROBES_MAX


def _matrix(bits: int, hashes: int) -> Structures:
    shape = shape_of(bits, hashes)
    return Structures(lambda: MatrixDigester(shape), lambda: Matrix(shape))


PUBLISHED_BITS: Final = 16_384
PUBLISHED_HASHES: Final = 2
"""Bits and hashes of a predicate as in XSiena's example (table 5.1)."""

_TREES: Final[Mapping[str, Callable[[], Bits]]] = MappingProxyType(
    {
        "sbstree": SbsTree,
        "counting-sbstree": CountingSbsTree,
        "skiptree": lambda: SkipTree(PUBLISHED_BITS),
    }
)


def _published(text: str) -> ForwardingStrategy:
    """A structure of the work: predicates in an sbsposet, filters in a tree of that name."""
    shape = shape_of(PUBLISHED_BITS, PUBLISHED_HASHES, PREDICATES)
    structures = Structures(lambda: PosetDigester(shape), lambda: BitsTable(shape, _TREES[text]))
    return replace(
        BLOOM,
        name=f"{BLOOM.name}:{text}",
        summary="the first router writes bits of the predicates that hold; others compare bits in "
        f"a {text}",
        make=lambda _, engines, __: Bloom(engines, structures),
    )


def bloom_by(text: str) -> ForwardingStrategy:
    """Bits and hashes, as in `65536:4`, or a structure of the work; raises `InputError`."""
    if text in _TREES:
        return _published(text)
    bits, _, hashes = text.partition(":")
    try:
        structures = _matrix(_number(bits), _number(hashes) if hashes else HASHES_DEFAULT)
    except (InputError, ValueError) as error:
        raise InputError(
            f"{BLOOM.name}:{text}: behind {BLOOM.name} goes how many bits a digest has, some times "
            f"64 from {BITS_MIN} to {BITS_MAX}, and how many hashes each filter, 1 to "
            f"{PROBES_MAX}, as in {BLOOM.name}:{BITS_DEFAULT}:{HASHES_DEFAULT}, or one of "
            f"{', '.join(_TREES)}"
        ) from error
    return replace(
        BLOOM, name=f"{BLOOM.name}:{text}", make=lambda _, engines, __: Bloom(engines, structures)
    )


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(text)
    return int(text)


_FILTERS_KNOWN: Final = Rule(
    frozenset({"identity", "simple"}),
    "the router that a publication enters at writes the bits of all filters that match anywhere, "
    "and only where every filter travels to every router does it know them: put bloom behind "
    "identity",
)

BLOOM: Final = ForwardingStrategy(
    name="bloom",
    summary="the first router writes bits of the filters that match; others compare bits",
    make=lambda _, engines, __: Bloom(engines, _matrix(BITS_DEFAULT, HASHES_DEFAULT)),
    requires=(_FILTERS_KNOWN,),
    mark=MARK,
    choose=bloom_by,
)
