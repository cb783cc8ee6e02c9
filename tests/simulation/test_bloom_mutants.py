"""Planted bugs of Bloom forwarding: each must be found by the oracle.

Bits that stay behind are no bug that it could find: they lead to links that want nothing, and
`test_bloom.py` counts those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from sapwood.routing.forwarding.bloom.bloom import Bloom
from sapwood.routing.forwarding.bloom.matrix import MatrixDigester
from sapwood.routing.forwarding.bloom.published import sbstree
from sapwood.routing.forwarding.bloom.published.counting_sbstree import CountingSbsTree
from sapwood.routing.forwarding.bloom.published.sbsposet import SbsPoset
from sapwood.routing.forwarding.bloom.structures import Matched
from sapwood.routing.holders import KeyBatch
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.swarm import Mixture
from sapwood.sketches.shape import Shape
from sapwood.sketches.sliced import FilterWriter, RowTable, SlicedShape
from tests.simulation.helpers import assert_found, drawn
from tests.simulation.matched_once import sending_the_digest_before, taken_over_under_way
from tests.simulation.test_protocols import calm

Patch = pytest.MonkeyPatch
LOST, UNEXPECTED = frozenset({"lost"}), frozenset({"unexpected"})
PLAIN = "identity+bloom"
COUNTING, TRIE = f"{PLAIN}:counting-sbstree", f"{PLAIN}:sbstree"


def removes_what_others_have_too(patch: Patch) -> None:
    remove = RowTable.remove

    def at_once(self: RowTable, bit: int, element: int) -> None:
        row = self._rows.get(element)
        if row is not None and int(self._masks[row]) & bit:
            self._repeats.pop((row, bit), None)
            remove(self, bit, element)

    patch.setattr(RowTable, "remove", at_once)


def writes_with_a_hash_less(patch: Patch) -> None:
    made = FilterWriter.__init__

    def fewer(self: FilterWriter, shape: SlicedShape) -> None:
        inner = shape.shape
        made(self, SlicedShape(Shape(inner.size, inner.probes - 1, inner.salt), shape.head))

    patch.setattr(FilterWriter, "__init__", fewer)


def delivers_by_bits_alone(patch: Patch) -> None:
    def everyone(self: Bloom, batch: Any, asked: Any) -> KeyBatch:
        numbers = [self.holders.numbers[key] for key in self._sides[""]]
        rows = [numbers if place in asked else [] for place in range(len(batch))]
        return KeyBatch.of(rows, self.holders)

    patch.setattr(Bloom, "_own", everyone)


def asks_no_clients_further_on(patch: Patch) -> None:
    own = Bloom._own
    patch.setattr(Bloom, "_own", lambda self, batch, _: own(self, batch, []))


def leaves_out_the_last_filter(patch: Patch) -> None:
    write = MatrixDigester.write

    def shortened(self: MatrixDigester, batch: Any, matched: Matched) -> Any:
        offsets, elements = matched
        sizes = np.diff(offsets)
        kept = np.arange(len(elements)) != np.repeat(offsets[1:] - 1, sizes)
        kept |= np.repeat(sizes == 1, sizes)
        ends = np.cumsum([0, *np.maximum(sizes - 1, np.minimum(sizes, 1))])
        return write(self, batch, Matched(ends, elements[kept]))

    patch.setattr(MatrixDigester, "write", shortened)


def leaves_out_filters_of_documents(patch: Patch) -> None:
    written = Bloom._written
    patch.setattr(
        Bloom,
        "_written",
        lambda self, batch, came, going, matched: written(self, batch, came, going, matched[:1]),
    )


def keeps_the_number_of_who_had_the_slot(patch: Patch) -> None:
    number = Bloom._number

    def kept(self: Bloom, share: Any, keys: Any, filters: Any) -> None:
        numbers = self._numbers.get(id(share.pool))
        before = list(numbers or ())
        number(self, share, keys, filters)
        if numbers is not None:
            for slot, one in enumerate(before):
                numbers[slot] = one or numbers[slot]

    patch.setattr(Bloom, "_number", kept)


def sends_the_digest_of_another(patch: Patch) -> None:
    patch.setattr(Bloom, "route", sending_the_digest_before(Bloom.route))


def never_sets_counters_back(patch: Patch) -> None:
    match = CountingSbsTree.match

    def unset(self: CountingSbsTree, bits: Any) -> set[str]:
        found = match(self, bits)
        self._now -= 1
        return found

    patch.setattr(CountingSbsTree, "match", unset)


def forgets_what_absence_satisfies(patch: Patch) -> None:
    match = SbsPoset.match

    def present(self: SbsPoset, record: Any) -> set[int]:
        kept, self._optional = self._optional, type(self._optional)()
        bits = match(self, record)
        self._optional = kept
        return bits

    patch.setattr(SbsPoset, "match", present)


def goes_down_by_the_lowest_bits_alone(patch: Patch) -> None:
    match = sbstree.SbsTree.match
    patch.setattr(sbstree.SbsTree, "match", lambda self, bits: match(self, sorted({*bits})[:3]))


MUTANTS: list[tuple[Callable[[Patch], None], frozenset[str], str]] = [
    (removes_what_others_have_too, LOST, PLAIN),
    (writes_with_a_hash_less, LOST, PLAIN),
    (delivers_by_bits_alone, UNEXPECTED, PLAIN),
    (asks_no_clients_further_on, LOST, PLAIN),
    (leaves_out_the_last_filter, LOST, PLAIN),
    (leaves_out_filters_of_documents, LOST, PLAIN),
    (keeps_the_number_of_who_had_the_slot, LOST, PLAIN),
    (sends_the_digest_of_another, LOST, PLAIN),
    (never_sets_counters_back, LOST, COUNTING),
    (forgets_what_absence_satisfies, LOST, TRIE),
    (goes_down_by_the_lowest_bits_alone, LOST, TRIE),
]


def scenarios() -> Iterator[Any]:
    yield taken_over_under_way()
    yield calm("tree:7", 7)
    for seed in range(30):
        yield drawn(seed, Mixture(documents=seed % 2 == 0))


@pytest.mark.parametrize(
    ("plant", "wanted", "word"), MUTANTS, ids=[plant.__name__ for plant, _, _ in MUTANTS]
)
@pytest.mark.one_in(6)
def test_planted_bugs_are_found(
    plant: Callable[[Patch], None],
    wanted: frozenset[str],
    word: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch)
    monkeypatch.setattr(Bloom, "validate", lambda *_: None)  # clients are to find it
    assert_found(router_maker(word), wanted, scenarios(), word)
