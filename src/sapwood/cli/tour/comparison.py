"""Comparison pair by pair: deliveries of one way that the other lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import msgspec

Pair: TypeAlias = tuple[str, str]
"""Publication id, subscription id."""


class _Line(msgspec.Struct):
    publication: str
    subscription: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two bags of pairs side by side; `duplicated` counts the surplus of pairs seen twice."""

    left: int
    right: int
    only_left: tuple[Pair, ...]
    only_right: tuple[Pair, ...]
    duplicated: int
    by_subscription: Counter[str]

    @property
    def equal(self) -> bool:
        """True if both hold the same pairs, each once."""
        return not self.only_left and not self.only_right and not self.duplicated


def compare(left: Iterable[Pair], right: Iterable[Pair]) -> Comparison:
    """Compare two bags of pairs."""
    left_list, right_list = list(left), list(right)
    left_set, right_set = set(left_list), set(right_list)
    return Comparison(
        left=len(left_list),
        right=len(right_list),
        only_left=tuple(sorted(left_set - right_set)),
        only_right=tuple(sorted(right_set - left_set)),
        duplicated=len(left_list) + len(right_list) - len(left_set) - len(right_set),
        by_subscription=Counter(subscription for _, subscription in left_set & right_set),
    )


def read_json_lines(path: Path) -> Iterator[Pair]:
    """The pairs in a file of deliveries."""
    decoder = msgspec.json.Decoder(_Line)
    with path.open("rb") as lines:
        for line in lines:
            delivery = decoder.decode(line)
            yield delivery.publication, delivery.subscription


def read_parquet(folder: Path) -> Iterator[Pair]:
    """The pairs in a folder of deliveries as Spark writes it."""
    import pyarrow.dataset

    columns = ["publication", "subscription"]
    for batch in pyarrow.dataset.dataset(folder, format="parquet").to_batches(columns=columns):
        yield from zip(
            batch.column("publication").to_pylist(),
            batch.column("subscription").to_pylist(),
            strict=True,
        )
