"""Mutations: valid bytes, texts and values, changed as an attacker would change them.

Every function takes its randomness as an argument, and few calls of it: millions of inputs are
drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final, TypeVar

T = TypeVar("T")

_BYTES: Final = (
    b"\x00\x01\x7f\x80\x90\x9f\xa0\xc0\xc1\xc4\xc6\xd9\xdc\xdd\xde\xdf\xff <>{}[]\"'\\/\n"
)
_INTEGERS: Final = tuple(
    number.to_bytes(size, "big")
    for size in (2, 4, 8)
    for number in (0, 1, 2 ** (8 * size - 1) - 1, 2 ** (8 * size - 1), 2 ** (8 * size) - 1)
)
_PIECES: Final = (
    *("", "'", '"', "\\", "(", ")", "[", "]", "{", "}", ",", ":", ".", "*", "%", "_", "//", "@"),
    *(
        "not ",
        " and ",
        " or ",
        " in ",
        " like ",
        " is null",
        "null",
        "true",
        "false",
        "\0",
        "\ud800",
    ),
    *(
        "\u0660",
        "\u2028",
        "\ufeff",
        "\U0001f600",
        "e\u0301",
        "\n",
        "\t",
        "--",
        "/*",
        "#",
        "0",
        "-0",
    ),
    *("1e999", "-1e-999", "9" * 25, "0x1F", "1_0", ".5", "5.", "1e", "nan", "inf", "a" * 300),
)
_LEAVES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**53, 2**63 - 1, -(2**63), 2**64 - 1, 1.5, -0.0),
    *(float("inf"), float("nan"), "", "a", "price > 1", "\0", "x" * 600, b"", b"\xc1", b"\x93", []),
    *({}, [[]], [None], ["xpath", "//a"], {"a": 1}, {"": None}, [["a"], ["b"]], (1, 2, 3)),
)


def pick(random: Random, some: Sequence[T]) -> T:
    """One of them: `choice` in a third of its time."""
    return some[int(random.random() * len(some))]


def mutated(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """Bytes after one to four changes; every eighth stays as it is."""
    if random.random() < 0.125:
        return data
    changed = bytearray(data)
    for _ in range(1 + int(random.random() ** 2 * 4)):
        pick(random, _CHANGES)(random, changed, seeds)
    return bytes(changed)


def _place(random: Random, data: bytearray) -> int:
    return int(random.random() * (len(data) + 1))


def _flip(random: Random, data: bytearray, _: Sequence[bytes]) -> None:
    if data:
        data[int(random.random() * len(data))] ^= 1 << int(random.random() * 8)


def _replace(random: Random, data: bytearray, _: Sequence[bytes]) -> None:
    if data:
        at = int(random.random() * len(data))
        data[at] = pick(random, _BYTES) if random.random() < 0.7 else int(random.random() * 256)


def _insert(random: Random, data: bytearray, _: Sequence[bytes]) -> None:
    at = _place(random, data)
    data[at:at] = random.randbytes(1 + int(random.random() * 6))


def _cut(random: Random, data: bytearray, _: Sequence[bytes]) -> None:
    at = _place(random, data)
    del data[at : at + 1 + int(random.random() * 8)]


def _end(random: Random, data: bytearray, _: Sequence[bytes]) -> None:
    del data[_place(random, data) :]


def _repeat(random: Random, data: bytearray, _: Sequence[bytes]) -> None:
    at = _place(random, data)
    data[at:at] = data[at : at + 1 + int(random.random() * 16)] * (1 + int(random.random() * 3))


def _integer(random: Random, data: bytearray, _: Sequence[bytes]) -> None:
    at, number = _place(random, data), pick(random, _INTEGERS)
    data[at : at + len(number)] = number


def _splice(random: Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    other = pick(random, seeds)
    begin = int(random.random() * (len(other) + 1))
    at = _place(random, data)
    data[at : at + 4] = other[begin : begin + 1 + int(random.random() * 24)]


_CHANGES: Final[tuple[Callable[[Random, bytearray, Sequence[bytes]], None], ...]] = (
    *(_flip, _replace, _replace, _insert, _cut, _end, _repeat, _integer, _splice),
)


def mutated_text(random: Random, text: str, seeds: Sequence[str]) -> str:
    """A text after one to three changes; every fourth stays as it is."""
    if random.random() < 0.25:
        return text
    for _ in range(1 + int(random.random() * 3)):
        at = int(random.random() * (len(text) + 1))
        end = at + int(random.random() * 6)
        which = random.random()
        if which < 0.4:
            text = text[:at] + pick(random, _PIECES) + text[end:]
        elif which < 0.55:
            text = text[:at] + text[end:]
        elif which < 0.7:
            text = text[:at] + text[at:end] * (2 + int(random.random() * 30)) + text[end:]
        elif which < 0.8:
            text = text[:at] + chr(int(random.random() ** 3 * 0x11000)) + text[at:]
        else:
            other = pick(random, seeds)
            begin = int(random.random() * (len(other) + 1))
            text = text[:at] + other[begin : begin + 30] + text[end:]
    return text


def changed_value(random: Random, value: Any) -> Any:
    """A value of lists, objects and scalars with something else in one place of it."""
    if isinstance(value, list) and value and random.random() < 0.85:
        at = int(random.random() * len(value))
        which = random.random()
        if which < 0.08:
            return value[:at] + value[at + 1 :]
        if which < 0.16:
            return [*value[:at], leaf(random), *value[at:]]
        return [*value[:at], changed_value(random, value[at]), *value[at + 1 :]]
    if isinstance(value, dict) and value and random.random() < 0.85:
        key = pick(random, list(value))
        which = random.random()
        if which < 0.1:
            return {name: one for name, one in value.items() if name != key}
        if which < 0.25:
            return value | {
                pick(random, ("", "a", "b.c", "x" * 40, "\0", key + ".z")): leaf(random)
            }
        return value | {key: changed_value(random, value[key])}
    if isinstance(value, str) and random.random() < 0.3:
        return mutated_text(random, value, (value,))
    return leaf(random)


def leaf(random: Random) -> Any:
    """A value on its own, extreme ones mostly."""
    return pick(random, _LEAVES)
