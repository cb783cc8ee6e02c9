"""Random publications and filters that reach every type and every edge, and what must match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final, TypeAlias

from sapwood.language.parser import parse
from tests.oracles import holds

Nested: TypeAlias = dict[str, Any]
Pair: TypeAlias = tuple[str, str]

SCHEMA: Final = (
    "id STRING, attributes STRUCT<n: BIGINT, x: DOUBLE, b: BOOLEAN, s: STRING, "
    "d: STRUCT<e: INT, `f g`: STRING>, unread: STRING, t: ARRAY<INT>, "
    "i: ARRAY<STRUCT<p: INT, q: ARRAY<STRING>>>>"
)

_INTEGERS: Final = (None, 0, 1, -1, 5, 2**53, 2**53 + 1, 2**63 - 1, -(2**63))
_FLOATS: Final = (None, 0.0, -0.0, 0.5, 1.0, 1.5, -1e300, 2.0**53, float("inf"), float("-inf"))
_TEXTS: Final = (None, "", "a", "ab", "abc", "b%", "ü", "\U0001f600", "true", "1")
_LITERALS: Final = (
    *("0", "1", "5", "0.5", "1.0", "-1", "1e300", "9007199254740992", "9007199254740993"),
    *("9007199254740992.0", "9223372036854775807", "''", "'a'", "'abc'", "'ü'"),
)
_BOOLEANS: Final = ("true", "false")
_NAMES: Final = ("n", "x", "b", "s", "d.e", '"d.f g"', "missing", "t", "t", "i.p", "i.q")
_PATTERNS: Final = ("a%", "%b%", "_", "%", "a_c", "b!%' escape '!")


def attributes(random: Random) -> Nested:
    """One record, as the fields of `SCHEMA` hold it."""
    inner = {"e": random.choice((None, 0, 1, 5)), "f g": random.choice(_TEXTS)}
    return {
        "n": random.choice(_INTEGERS),
        "x": random.choice(_FLOATS),
        "b": random.choice((None, True, False)),
        "s": random.choice(_TEXTS),
        "d": random.choice((None, inner, inner)),
        "unread": "u",
        "t": random.choice((None, [1], [], [0, None, 5], [5, 5])),
        "i": random.choice((None, [], [_item(random)], [_item(random), None, _item(random)])),
    }


def _item(random: Random) -> Nested:
    """An element of an array of objects."""
    texts = random.choice((None, [], ["a"], ["ab", "", None, "b%"]))
    return {"p": random.choice((None, 0, 1, 5)), "q": texts}


def publications(count: int, seed: int) -> dict[str, Nested]:
    """Records by id."""
    random = Random(seed)
    return {f"p{number}": attributes(random) for number in range(count)}


def filters(count: int, seed: int) -> dict[str, str]:
    """Texts of filters by id."""
    random = Random(seed)
    return {f"s{number}": _filter(random, 2) for number in range(count)}


def visible(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The flat view, written down once more."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            flat |= visible(value, f"{prefix}{name}.")
        elif isinstance(value, list):
            for inner, one in elements(prefix + name, value):
                flat[inner] = (*flat.get(inner, ()), one)
        elif value is not None:
            flat[prefix + name] = value
    return flat


def elements(name: str, values: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """The values of all attributes in an array, under their names."""
    for value in values:
        if isinstance(value, list):
            yield from elements(name, value)
        elif isinstance(value, dict):
            for key, inner in value.items():
                yield from elements(f"{name}.{key}", [inner])
        elif value is not None:
            yield name, value


def expected(records: Mapping[str, Nested], wanted: Mapping[str, str]) -> list[Pair]:
    """The pairs that must be delivered, sorted: brute force over syntax trees."""
    flat = {id_: visible(record) for id_, record in records.items()}
    trees = {id_: parse(text) for id_, text in wanted.items()}
    return sorted(
        (publication, subscription)
        for publication, record in flat.items()
        for subscription, tree in trees.items()
        if holds(tree, record)
    )


def pairs(deliveries: Any) -> list[Pair]:
    """The rows of a table of deliveries, sorted."""
    found: Sequence[Any] = deliveries.select("publication", "subscription").collect()
    return sorted((row["publication"], row["subscription"]) for row in found)


def _filter(random: Random, depth: int) -> str:
    if depth and random.random() < 0.6:
        parts = [_filter(random, depth - 1) for _ in range(random.choice((1, 2, 3)))]
        joined = f" {random.choice(('and', 'or'))} ".join(f"({part})" for part in parts)
        return f"not ({joined})" if random.random() < 0.25 else joined
    return _predicate(random)


def _predicate(random: Random) -> str:
    name, literal = random.choice(_NAMES), random.choice(_LITERALS)
    match random.randrange(9):
        case 0:
            return f"{name} between {literal} and {random.choice(_LITERALS)}"
        case 1:
            return f"{name} in ({literal}, {random.choice((*_LITERALS, *_BOOLEANS))})"
        case 2:
            pattern = random.choice(_PATTERNS)
            return f"{name} like '{pattern}" + ("" if pattern.endswith("'") else "'")
        case 3:
            return f"{name} is {random.choice(('null', 'not null'))}"
        case 4:
            return random.choice((f"exists {name}", name, "true"))
        case 5:
            return f"{name} {random.choice(('=', '<>'))} {random.choice(_BOOLEANS)}"
        case _:
            return f"{name} {random.choice(('=', '<>', '<', '<=', '>', '>='))} {literal}"
