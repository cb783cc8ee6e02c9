"""A small workload of its own: documents of a made-up vocabulary, and paths that some of them have.

Elements of a name always have children of the same few names, as documents of one DTD do.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final

SEED: Final = 7
_NAMES: Final = 60
_CHILDREN: Final = 6
_DEPTH_MAX: Final = 6
_DOCUMENTS: Final = 100
_WILDCARD_SHARE: Final = 0.1
_DESCENDANT_SHARE: Final = 0.2
_CHILDREN_MAX: Final = 3


def made_documents() -> tuple[bytes, ...]:
    """The documents, some sixty elements each."""
    random = Random(SEED)  # noqa: S311 - samples, not secrets
    return tuple(_element(random, 0, 1).encode() for _ in range(_DOCUMENTS))


def made_expressions(count: int) -> Iterator[str]:
    """Distinct linear paths that the vocabulary allows, with `*` and `//` here and there."""
    random = Random(SEED + 1)  # noqa: S311 - likewise
    made: set[str] = set()
    while len(made) < count:
        expression = _path(random)
        if expression not in made:
            made.add(expression)
            yield expression


def _children(name: int) -> range:
    """The names of children: each has its own few, and all can be reached from the first."""
    first = (name * _CHILDREN + 1) % _NAMES
    return range(first, first + _CHILDREN)


def _element(random: Random, name: int, depth: int) -> str:
    inside = ""
    if depth < _DEPTH_MAX:
        for child in random.choices(_children(name), k=random.randint(1, _CHILDREN_MAX)):
            inside += _element(random, child % _NAMES, depth + 1)
    return f'<e{name} n="{random.randint(1, 20)}">{inside}</e{name}>'


def _path(random: Random) -> str:
    name, path = 0, ""
    for step in range(random.randint(2, _DEPTH_MAX)):
        if step:
            name = random.choice(_children(name)) % _NAMES
        is_descendant = random.random() < _DESCENDANT_SHARE
        if step and is_descendant:  # one level is passed over
            name = random.choice(_children(name)) % _NAMES
        axis = "//" if is_descendant else "/"
        path += axis + ("*" if random.random() < _WILDCARD_SHARE else f"e{name}")
    return path
