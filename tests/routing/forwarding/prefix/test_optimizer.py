"""The tree optimizer, the difference of trees, and trees that travel (XSiena P21 to P23)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError, LimitError
from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath
from sapwood.limits.prefix import TREES_KEPT
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import equal_to
from sapwood.model.filter import Filter
from sapwood.routing.forwarding.prefix import optimizer as module
from sapwood.routing.forwarding.prefix import parts
from sapwood.routing.forwarding.prefix.difference import difference
from sapwood.routing.forwarding.prefix.optimizer import Optimizer
from sapwood.routing.forwarding.prefix.parts import ATTRIBUTE, data_of, part_of, parts_of
from sapwood.routing.forwarding.prefix.reading import read
from sapwood.routing.forwarding.prefix.snapshot import version_of, written
from tests.routing.forwarding.prefix.drawing import grown, many


def tree(*texts: str) -> Any:
    return grown([parse_filter(text) for text in texts]).root


@given(many, many)
def test_a_difference_is_a_share_and_the_same_from_both_sides(
    first: list[Filter], second: list[Filter]
) -> None:  # P21
    one, other = grown(first), grown(second)
    share = difference(one.root, other.root)
    assert 0 <= share <= 1
    assert share == pytest.approx(difference(other.root, one.root))
    assert (share == 0) == (written(one) == written(other))
    assert difference(one.root, read(written(one)).root) == 0


def test_differences_are_as_by_hand() -> None:
    assert difference(tree("x > 5 and x < 9", "x <= 5"), tree()) == 1
    first, second = tree("x > 5 and y = 2", "x <= 5"), tree("x > 5 and y = 1")
    assert difference(first, second) == pytest.approx((1 / 2 + 1 + 1 / 2) / (5 / 2 + 3 / 2))
    assert difference(tree("x = 1"), tree("x = 2")) == 1
    deep = ("x = 1 and y = 1", "x = 1 and y = 1 and z = 1")
    assert difference(tree(deep[0]), tree(deep[1])) < difference(
        tree(deep[0]), tree(deep[0], "z = 1")
    )


def test_an_optimizer_states_a_tree_when_it_differs_by_more_than_the_threshold() -> None:  # P22
    optimizer = Optimizer(0.5)
    assert optimizer.update() is not None  # an empty tree says that there is an optimizer
    assert optimizer.update() is None
    optimizer.hear([parse_filter("x = 1"), parse_xpath("//a")])
    update = optimizer.update()
    assert update is not None
    assert (update.clock, optimizer.clock, optimizer.updates) == (2, 2, 2)
    optimizer.hear([parse_filter("x = 1"), parse_filter("x = 2"), parse_filter("x = 3")])
    assert optimizer.difference == 0.5  # no more than that
    assert optimizer.update() is None
    optimizer.hear([parse_filter("x = 2"), parse_filter("x = 3"), update.subscriptions[0][1]])
    assert optimizer.nodes == 3
    assert optimizer.update() is not None


def test_a_lower_threshold_never_states_fewer_trees_while_they_grow() -> None:  # P22
    optimizers = [Optimizer(threshold) for threshold in (0.0, 0.1, 0.3, 0.8)]
    filters = [parse_filter(f"x > {n % 7} and y = {n}") for n in range(60)]
    for count in range(len(filters)):
        for optimizer in optimizers:
            optimizer.hear(filters[:count])
            optimizer.update()
    counts = [optimizer.updates for optimizer in optimizers]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == len(filters)


def test_versions_that_were_replaced_often_enough_are_withdrawn() -> None:
    optimizer, stated = Optimizer(0.0, clock=100), list[str]()
    for n in range(10):
        optimizer.hear([parse_filter(f"x = {n}")])
        update = optimizer.update()
        assert update is not None
        assert update.clock == 101 + n
        stated += [id_ for id_, _ in update.subscriptions]
        stated = [id_ for id_ in stated if id_ not in update.withdrawn]
    assert len(stated) == TREES_KEPT
    assert stated[-1] == "tree-110-0"


@pytest.mark.parametrize("threshold", [-0.1, 1.1])
def test_a_threshold_that_is_no_share_is_refused(threshold: float) -> None:
    with pytest.raises(InputError, match="from 0 to 1"):
        Optimizer(threshold)


def test_what_would_make_a_tree_too_large_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TREE_NODES_MAX", 3)
    optimizer = Optimizer(0.0)
    optimizer.hear([parse_filter(text) for text in ("x = 1", "x = 2 and y = 3", "x = 4")])
    assert (optimizer.nodes, optimizer.left_out) == (3, 1)
    monkeypatch.setattr(module, "TREE_BYTES_MAX", 8)
    with pytest.raises(LimitError, match="TREE_BYTES_MAX"):
        optimizer.update()


@given(many, st.integers(0, 2**53))
def test_a_tree_in_parts_is_the_tree(some: list[Filter], clock: int) -> None:
    data = written(grown(some))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "TREE_PART_CHARS", 40)
        filters = parts_of(clock, data)
    assert len(filters) > len(data) // 200
    travelled = [parse_filter(str(one)) for one in filters]
    found = [part_of(one) for one in travelled]
    assert all(part is not None for part in found)
    kept = [part for part in found if part is not None]
    assert [part.place for part in kept] == [*range(len(filters))]
    (name,) = {part.name for part in kept}
    assert name == (clock, version_of(data), len(filters))
    assert data_of(name, [part.letters for part in kept]) == data


@pytest.mark.parametrize(
    "text", ["", "1 1 0 00", "1 1 1 0011223344556677 x", "1 1 0 00112233445566 x",
             "1 1 0 zz11223344556677 x", "x 1 0 0011223344556677 x", "1 9999 0 0011223344556677 x",
             "9999999999999999999999 1 0 0011223344556677 x"],
)  # fmt: skip
def test_a_text_that_is_no_part_is_none(text: str) -> None:
    assert part_of(Filter((Conjunction(((ATTRIBUTE, equal_to(text)),)),))) is None


def test_other_filters_are_no_parts() -> None:
    for text in (
        f"exists {ATTRIBUTE}",
        "x = 1",
        f"{ATTRIBUTE} = 3",
        f"{ATTRIBUTE} = 'a' and x = 1",
    ):
        assert part_of(parse_filter(text)) is None
    assert part_of(parse_xpath("//a")) is None


def test_parts_that_make_no_tree_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = written(grown([parse_filter("x = 1")]))
    part = part_of(parts_of(1, data)[0])
    assert part is not None
    other = part.name._replace(version=bytes(8))
    letters = part.letters
    wrong = [(part.name, one) for one in ("x", "~", letters[:-5], letters + "00000")]
    for name, given_ in [(other, letters), *wrong]:
        with pytest.raises(InputError):
            data_of(name, [given_])
    monkeypatch.setattr(parts, "TREE_BYTES_MAX", 4)
    with pytest.raises(LimitError, match="bytes of a routing tree"):
        data_of(part.name, [part.letters])
