"""Workloads of texts: log lines that subscriptions seek words in, and texts that have to be read.

=====  ============================================  =============================================
name   a subscription                                a publication
=====  ============================================  =============================================
like   a pattern on `message`: `%word%` (7 of 10),   `message`, 40 to 100 characters; `host`, one
       `%word` (2) or `%word%word%` (1)              of 200
read   `lower(code) = ...` (4 of 10), or a `host`    `code`, in capitals; `size`, digits; `at`, a
       and `integer(size) < ...` (3) or              timestamp in one of three zones; `host`
       `timestamp(at) >= ...` (3)
=====  ============================================  =============================================

A word has 5 to 12 letters that are drawn independently, uniformly: nearly all are distinct. A
message begins and ends with a word of the kind in subscriptions, which some of them match by
chance, and has shorter ones in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

import numpy as np

from sapwood.model.constraint import Constraint, equal_to
from sapwood.model.filter import Filter
from sapwood.model.like import Pattern
from sapwood.model.numbers import Interval
from sapwood.model.publication import Value
from sapwood.model.readings import Reading, timestamp_of
from sapwood.model.strings import between, like, point, reads_as
from sapwood_lab.workload.records.draws import ranks, zipf
from sapwood_lab.workload.records.neutral import box
from sapwood_lab.workload.records.source import Workload

WORDS: Final = 1_000_000
"""Words of subscriptions, with which messages also begin and end."""

WORD_CHARS: Final = (5, 12)
MESSAGE_CHARS: Final = (40, 100)
HOSTS: Final = 200
CODES: Final = 100_000
SIZE_MAX: Final = 1_000_000

_LETTERS: Final = np.array(list("abcdefghijklmnopqrstuvwxyz"))
_FILLER_CHARS: Final = (3, 9)
_WORD_SEED: Final = 91
_LIKE_SHARES: Final = (0.7, 0.9)
_READ_SHARES: Final = (0.4, 0.7)
_FIRST: Final = datetime(2026, 1, 1, tzinfo=UTC)
_DAYS: Final = 365
_ZONES: Final = tuple(timezone(timedelta(hours=hours)) for hours in (0, 1, -5))


def word(number: int) -> str:
    """A word by its number; the same in every run."""
    random = np.random.default_rng((_WORD_SEED, number))
    return _drawn(random, WORD_CHARS)


def _drawn(random: np.random.Generator, chars: tuple[int, int]) -> str:
    size = int(random.integers(*chars, endpoint=True))
    return "".join(_LETTERS[random.integers(len(_LETTERS), size=size)])


def _like_filters(random: np.random.Generator, count: int) -> Sequence[Filter]:
    numbers = random.integers(WORDS, size=(count, 2)).tolist()
    kinds = random.random(count).tolist()
    return [
        _like(word(first), word(second), kind)
        for (first, second), kind in zip(numbers, kinds, strict=True)
    ]


def _like(first: str, second: str, kind: float) -> Filter:
    text = f"%{first}%"
    if kind >= _LIKE_SHARES[0]:
        text = f"%{first}" if kind < _LIKE_SHARES[1] else f"%{first[:3]}%{second[:3]}%"
    return Filter((box({"message": Constraint(strings=like(Pattern.parse(text)))}),))


def _like_records(random: np.random.Generator, count: int) -> Sequence[dict[str, Value]]:
    hosts = ranks(random, zipf(HOSTS), count).tolist()
    return [{"message": _message(random), "host": f"h{host:03d}"} for host in hosts]


def _message(random: np.random.Generator) -> str:
    first, last = (word(number) for number in random.integers(WORDS, size=2).tolist())
    size = int(random.integers(*MESSAGE_CHARS, endpoint=True))
    parts = [first]
    while len(" ".join(parts)) + len(last) + 1 < size:
        parts.append(_drawn(random, _FILLER_CHARS))
    return " ".join((*parts, last))[-size:]


def _read_filters(random: np.random.Generator, count: int) -> Sequence[Filter]:
    hosts = ranks(random, zipf(HOSTS), count).tolist()
    kinds, levels = random.random(count).tolist(), random.random(count).tolist()
    return [_read(*drawn) for drawn in zip(hosts, kinds, levels, strict=True)]


def _read(host: int, kind: float, level: float) -> Filter:
    name, reading = "code", Reading("lower", point(f"c{int(level * CODES)}"))
    if kind >= _READ_SHARES[1]:
        since = timestamp_of(_instant(level, 0))
        assert since is not None, "instants are timestamps"
        name, reading = "at", Reading("timestamp", between(since, None))
    elif kind >= _READ_SHARES[0]:
        most = int(level * SIZE_MAX)
        below = Interval(float("-inf"), most, high_open=True)
        name, reading = "size", Reading("integer", (below,))
    own = {name: Constraint(strings=reads_as(reading))}
    return Filter((box(own if name == "code" else {**own, "host": equal_to(f"h{host:03d}")}),))


def _read_records(random: np.random.Generator, count: int) -> Sequence[dict[str, Value]]:
    hosts = ranks(random, zipf(HOSTS), count).tolist()
    codes, sizes = (random.integers(most, size=count).tolist() for most in (CODES, SIZE_MAX))
    levels, zones = random.random(count).tolist(), random.integers(len(_ZONES), size=count).tolist()
    return [
        {"host": f"h{host:03d}", "code": f"C{code}", "size": f"{size:07d}", "at": _instant(*at)}
        for host, code, size, at in zip(
            hosts, codes, sizes, zip(levels, zones, strict=True), strict=True
        )
    ]


def _instant(level: float, zone: int) -> str:
    """A second of the year, at its place in it, as it is written in a zone."""
    at = _FIRST + timedelta(seconds=int(level * _DAYS * 24 * 60 * 60))
    return at.astimezone(_ZONES[zone]).isoformat()


LIKE: Final = Workload(
    "like",
    "a pattern such as %word% on messages of 40 to 100 letters",
    _like_filters,
    _like_records,
)
READ: Final = Workload(
    "read", "what texts read as: lower case, integers, timestamps", _read_filters, _read_records
)
