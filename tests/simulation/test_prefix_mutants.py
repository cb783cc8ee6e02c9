"""Planted bugs of prefix forwarding: each must be found by the oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from sapwood.language import parse_filter
from sapwood.model.filter import Filter
from sapwood.model.publication import Publication
from sapwood.overlay.shapes import parse_topology
from sapwood.routing.forwarding.prefix import placing, tags, trees
from sapwood.routing.forwarding.prefix import prefix as prefix_module
from sapwood.routing.forwarding.prefix.digest import WHOLE, written
from sapwood.routing.forwarding.prefix.prefix import Prefix
from sapwood.routing.forwarding.prefix.siblings import split
from sapwood.routing.forwarding.prefix.snapshot import Snapshot
from sapwood.routing.forwarding.prefix.tags import Tags
from sapwood.routing.forwarding.prefix.trees import Trees
from sapwood.routing.tables import CLIENTS
from sapwood.simulation.history import ClientName, SubscriptionName
from sapwood.simulation.optimizing import optimized
from sapwood.simulation.scenario import (
    PublishAction,
    Scenario,
    Step,
    SubscribeAction,
    UnsubscribeAction,
    Until,
    WaitAction,
)
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.swarm import Mixture
from tests.simulation.helpers import assert_found, drawn
from tests.simulation.test_protocols import calm

Patch = pytest.MonkeyPatch
LOST, UNEXPECTED = frozenset({"lost"}), frozenset({"unexpected"})


def drops_what_has_no_node(patch: Patch) -> None:
    def place(*given: Any, **more: Any) -> Any:
        placed = placing.place(*given, **more)
        return placed._replace(pieces=[piece for piece in placed.pieces if piece.is_exact])

    patch.setattr(tags, "place", place)


def forgets_what_is_outside(patch: Patch) -> None:
    patch.setattr(placing, "split", lambda asked, axis: (split(asked, axis)[0],) * 2)


def takes_any_version(patch: Patch) -> None:
    patch.setattr(Trees, "of", lambda self, _: self.newest)


def drops_what_it_cannot_read(patch: Patch) -> None:
    followed = Prefix._followed

    def none_left(self: Prefix, batch: Any, plan: Any) -> list[int]:
        followed(self, batch, plan)
        return []

    patch.setattr(Prefix, "_followed", none_left)


def takes_cut_trees_for_whole(patch: Patch) -> None:
    found = Tags.found
    patch.setattr(Tags, "found", lambda self, walks, _: found(self, walks, WHOLE))


def trusts_every_place(patch: Patch) -> None:
    patch.setattr(Prefix, "_accepts", lambda *_: True)


def trusts_no_place_but_exact_ones(patch: Patch) -> None:
    patch.setattr(Prefix, "_accepts", lambda *_: False)


def ignores_the_root(patch: Patch) -> None:
    found = Tags.found

    def rootless(self: Tags, walks: Any, depth: int) -> Any:
        marks, own = self.marks[0].copy(), self._own.get(0)
        self.marks[0] = 0
        answer = found(self, walks, depth)
        self.marks[0] = marks
        assert own is self._own.get(0)
        return answer

    patch.setattr(Tags, "found", rootless)


def clears_marks_that_others_share(patch: Patch) -> None:
    def remove(self: Tags, side: str, key: str, wanted: Filter) -> None:
        if side == CLIENTS:
            self.todo.pop((side, key), None)
            return
        word, bit = divmod(self._bits[side], 64)
        for node, _ in self._places(wanted)[0]:
            self.marks[node, word] &= ~(np.uint64(1) << np.uint64(bit))

    patch.setattr(Tags, "remove", remove)


def uses_a_tree_before_all_is_placed(patch: Patch) -> None:
    patch.setattr(Tags, "is_ready", property(lambda _: True))
    patch.setattr(trees, "DONE_AT_ONCE", 1)
    patch.setattr(trees, "DONE_IN_PLACE_MAX", 0)


def places_nothing_that_comes_later(patch: Patch) -> None:
    add = Trees.learned

    def learned(self: Trees, side: str, key: str, wanted: Filter, **more: Any) -> None:
        kept, self._tags = self._tags, {}
        add(self, side, key, wanted, **more)
        self._tags = {**kept, **self._tags}

    patch.setattr(Trees, "learned", learned)


def walks_with_records_of_documents(patch: Patch) -> None:
    def walk(self: Prefix, publication: Any, known: Tags) -> list[int]:
        return known.snapshot.follow({**(publication.attributes or {})})

    patch.setattr(Prefix, "_walk", walk)


def forgets_records_without_an_attribute(patch: Patch) -> None:
    follow = Snapshot.follow_some

    def followed(self: Snapshot, record: Any, steps_max: int) -> list[int]:
        found = follow(self, record, steps_max) or []
        return [node for node in found if not node or self.nodes[node].attribute in record]

    patch.setattr(Snapshot, "follow_some", followed)


def leaves_out_the_first_step(patch: Patch) -> None:
    patch.setattr(prefix_module, "written", lambda begins, nodes: written(begins, [0, *nodes[2:]]))


MUTANTS: list[tuple[Callable[[Patch], None], frozenset[str], str]] = [
    (drops_what_has_no_node, LOST, "simple+prefix"),
    (forgets_what_is_outside, LOST, "simple+prefix"),
    (takes_any_version, LOST, "simple+prefix"),
    (drops_what_it_cannot_read, LOST, "simple+prefix"),
    (takes_cut_trees_for_whole, LOST, "simple+prefix:1"),
    (trusts_every_place, UNEXPECTED, "simple+prefix"),
    (trusts_no_place_but_exact_ones, LOST, "simple+prefix"),
    (ignores_the_root, LOST, "simple+prefix"),
    (clears_marks_that_others_share, LOST, "simple+prefix"),
    (uses_a_tree_before_all_is_placed, LOST, "simple+prefix"),
    (places_nothing_that_comes_later, LOST, "simple+prefix"),
    (walks_with_records_of_documents, LOST, "simple+prefix"),
    (forgets_records_without_an_attribute, LOST, "simple+prefix"),
    (leaves_out_the_first_step, LOST, "simple+prefix"),
]


def by_hand() -> Scenario:
    """Two subscriptions in one place, one of which goes, and one for what records do not have."""
    texts = {"s1": "a > 1", "s2": "a > 1", "s3": "a < 1 and not exists b"}
    settled = Step(WaitAction(Until.QUIET))
    steps = [
        Step(SubscribeAction(SubscriptionName("r3", "ann", id_), parse_filter(text)))
        for id_, text in texts.items()
    ]
    steps += [settled, Step(UnsubscribeAction(SubscriptionName("r3", "ann", "s1"))), settled]
    for id_, record in (("p1", {"a": 2, "b": 1}), ("p2", {"a": 0})):
        steps.append(Step(PublishAction(ClientName("r1", "bob"), Publication(id_, record))))
    scenario = Scenario("by hand", parse_topology("line:3", lambda n: 0), tuple(steps))
    return optimized(scenario, 0.9, every=3)


def scenarios() -> Iterator[Any]:
    yield by_hand()
    yield optimized(calm("tree:7", 7), 0.0, every=5)
    for seed in range(30):
        scenario = drawn(seed, Mixture(documents=seed % 2 == 0))
        yield optimized(scenario, threshold=0.1 * (seed % 5), every=3)


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
    monkeypatch.setattr(Trees, "validate", lambda *_: None)  # clients are to find it
    assert_found(router_maker(word), wanted, scenarios(), word)
