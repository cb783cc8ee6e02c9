"""Routing trees: split, insertion, removal, versions, and what records reach (XSiena P14-P20)."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError, InvariantError, LimitError
from sapwood.language import parse_filter
from sapwood.model.conjunction import Conjunction
from sapwood.model.filter import Filter
from sapwood.routing.forwarding.prefix import placing, reading, snapshot
from sapwood.routing.forwarding.prefix.placing import place
from sapwood.routing.forwarding.prefix.reading import read
from sapwood.routing.forwarding.prefix.siblings import Node, span_of, split
from sapwood.routing.forwarding.prefix.snapshot import version_of, written
from sapwood.routing.forwarding.prefix.tree import RoutingTree
from tests.routing.forwarding.prefix.drawing import VALUES, filters, frozen, grown, intervals, many
from tests.routing.forwarding.prefix.drawing import records as records_


def box_of(text: str) -> Conjunction:
    (box,) = parse_filter(text).conjunctions
    return box


def way_to(node: Node) -> list[Node]:
    """The nodes from below the root down to one."""
    way: list[Node] = []
    at: Node | None = node
    while at is not None and at.parent is not None:
        way.append(at)
        at = at.parent
    return way[::-1]


def accepts_all(node: Node, record: dict[str, Any]) -> bool:
    return all(one.constraint.accepts(record.get(one.attribute)) for one in way_to(node))


def drawing_of(node: Node) -> Any:
    """A tree as nested texts, children in order."""
    return [
        (str(Conjunction(((child.attribute, child.constraint),))), drawing_of(child))
        for child in node.ordered()
    ]


@pytest.mark.parametrize(
    ("text", "axis", "inside", "outside"),
    [  # XSiena, table 4.2 and figure 4.3
        ("x < 9", "x > 5", "x > 5 and x < 9", "x <= 5"),
        ("x < 9", "x >= 5", "x >= 5 and x < 9", "x < 5"),
        ("x > 1", "x < 6", "x > 1 and x < 6", "x >= 6"),
        ("x < 5", "x > 1", "x > 1 and x < 5", "x <= 1"),
        ("x >= 'b' and x < 'd'", "x > 'c'", "x > 'c' and x < 'd'", "x >= 'b' and x <= 'c'"),
    ],
)
def test_a_split_has_one_part_inside_and_one_outside(
    text: str, axis: str, inside: str, outside: str
) -> None:
    ((_, asked),) = box_of(text).constraints
    ((_, other),) = box_of(axis).constraints
    parts = split(asked, other)
    assert parts == (box_of(inside).constraints[0][1], box_of(outside).constraints[0][1])


@given(intervals, intervals, st.sampled_from(VALUES))
def test_parts_are_disjoint_and_accept_together_what_was_split(
    first: Filter, second: Filter, value: Any
) -> None:  # P14
    for box, other in zip(first.conjunctions, second.conjunctions, strict=False):
        asked, axis = box.constraints[0][1], other.constraints[0][1]
        inside, outside = split(asked, axis)
        assert asked.accepts(value) == (inside.accepts(value) or outside.accepts(value))
        assert not (inside.accepts(value) and outside.accepts(value))
        are_spans = span_of(asked) and span_of(axis) and not inside.is_empty
        if are_spans and not (asked.covers(axis) or axis.covers(asked)):  # a proper overlap
            assert span_of(inside)
            assert span_of(outside)


def test_the_tree_of_figure_4_2_is_split_where_filters_cross() -> None:
    tree = grown(
        [
            parse_filter("x > 5 and y < 3"),
            parse_filter("x < 9 and y > 2 and z > 1"),
            parse_filter("y > 4"),
        ]
    )
    tree.validate()
    assert drawing_of(tree.root) == [
        ("x <= 5", [("y > 2", [("z > 1", [])])]),
        ("x > 5", [("x > 5 and x < 9", [("y > 2", [("z > 1", [])])]), ("y < 3", [])]),
        ("y > 4", []),
    ]
    version = read(written(tree))
    walked = version.follow({"x": 6, "y": 5, "z": 2})
    assert [str(Conjunction(((n.attribute, n.constraint),)))
            for n in map(version.nodes.__getitem__, walked[1:])] == [
        "x > 5", "x > 5 and x < 9", "y > 2", "z > 1", "y > 4"
    ]  # fmt: skip


def test_a_node_that_covers_several_adopts_all_of_them() -> None:
    tree = grown([parse_filter(text) for text in ("x = 1", "x = 2", "x = 8", "x < 5")])
    assert drawing_of(tree.root) == [("x < 5", [("x = 1", []), ("x = 2", [])]), ("x = 8", [])]


@given(many, st.randoms(use_true_random=False), records_)
def test_siblings_stay_disjoint_whatever_comes_and_goes(
    some: list[Filter], generator: Random, record: dict[str, Any]
) -> None:  # P15
    tree = grown(some)
    tree.validate()
    left = [*dict.fromkeys(some)]
    generator.shuffle(left)
    for gone in left[: len(left) // 2]:
        tree.remove(gone)
        tree.validate()
    assert {*tree.filters} == {*left[len(left) // 2 :]}
    version = read(written(tree))
    assert_found(version, left[len(left) // 2 :], record)


def assert_found(version: snapshot.Snapshot, some: list[Filter], record: dict[str, Any]) -> None:
    """Check that a walk reaches a place of each filter that accepts, and exact ones prove it."""
    walked = {*version.follow(record)}
    for one in some:
        pieces = [piece for box in one.conjunctions for piece in place(version.root, box).pieces]
        reached = [piece for piece in pieces if piece.node.number in walked]
        assert bool(reached) >= one.accepts(record)
        assert one.accepts(record) or not any(piece.is_exact for piece in reached)


@given(many, st.lists(filters, max_size=4), records_)
def test_a_record_reaches_whom_it_is_for_and_known_filters_exactly(
    known: list[Filter], others: list[Filter], record: dict[str, Any]
) -> None:  # P15, P20
    version = frozen(known)
    size = len(version)
    assert version.follow(record) == sorted(
        node.number for node in version.nodes if accepts_all(node, record)
    )
    assert_found(version, [*known, *others], record)
    assert len(version.nodes) == size == len(read(written(grown(known))))
    # Siblings with patterns are not split: what is below one may be looked for below another.
    boxes = [box for one in known for box in one.conjunctions]
    if not any(box.patterns for box in boxes):
        for box in boxes:
            assert all(piece.is_exact for piece in place(version.root, box).pieces)


@given(many, st.lists(filters, max_size=4), records_, st.sampled_from([0, 1, 2, 3, 5, 8]))
def test_what_is_placed_in_few_steps_is_placed_less_exactly_and_found_all_the_same(
    known: list[Filter], others: list[Filter], record: dict[str, Any], steps_max: int
) -> None:  # P20
    version = frozen(known)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placing, "TREE_STEPS_MAX", steps_max)
        assert_found(version, [*known, *others], record)


@given(many, records_, st.integers(0, 12))
def test_a_walk_is_the_whole_one_or_none(
    known: list[Filter], record: dict[str, Any], steps_max: int
) -> None:
    version = frozen(known)
    found = version.follow_some(record, steps_max)
    assert found is None or found == version.follow(record)
    assert found is not None or len(version) * (len(record) + 1) > steps_max


@pytest.mark.parametrize("shape", ["deep", "wide", "odd"])
def test_a_tree_of_any_shape_takes_few_steps_to_place_a_filter_in(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placing, "TREE_STEPS_MAX", 30)
    texts = {
        "deep": [f"x > {n}" for n in range(60)],
        "wide": [f"x > {2 * n} and x < {2 * n + 1}" for n in range(60)],
        "odd": [f"(x = {n} or not exists x)" for n in range(60)],
    }
    version = frozen([parse_filter(text) for text in texts[shape]])
    for text in ("x > 9999", "x > -1", "x != 7", "x in (1, 3, 5)", "not exists x"):
        placed = place(version.root, box_of(text))
        assert placed.looked <= 30
        assert placed.pieces


@given(many)
def test_filters_in_one_order_make_one_tree_and_reading_it_changes_nothing(
    some: list[Filter],
) -> None:  # P16
    first, again = grown(some), grown(some)
    assert written(first) == written(again)
    version = read(written(first))
    assert drawing_of(version.root) == drawing_of(first.root)
    assert version.version == version_of(written(first))
    for node in version.nodes:
        below = [one.number for one in version.nodes if node in way_to(one) or node is version.root]
        assert version.lasts[node.number] == max(below)
        assert version.depths[node.number] == len(way_to(node))


@given(many, st.randoms(use_true_random=False), records_)
def test_another_order_makes_another_tree_that_finds_the_same(
    some: list[Filter], generator: Random, record: dict[str, Any]
) -> None:  # P16
    mixed = [*some]
    generator.shuffle(mixed)
    for order in (some, mixed):
        assert_found(frozen(order), some, record)


@given(many, records_, records_)
def test_whoever_is_reached_by_less_is_reached_by_more(
    some: list[Filter], first: dict[str, Any], second: dict[str, Any]
) -> None:  # P18
    version = frozen(some)
    less, more = {*version.follow(first)}, {*version.follow(second)}
    if less <= more:
        plain = [one for one in some if not any(box.patterns for box in one.conjunctions)]
        assert all(one.accepts(second) for one in plain if one.accepts(first))


def test_what_was_split_is_found_again_after_what_split_it_has_gone() -> None:
    tree = grown([parse_filter(text) for text in ("x < 10", "x > 5 and y = 1", "x < 3")])
    tree.remove(parse_filter("x < 10"))
    tree.validate()
    version = read(written(tree))
    (box,) = parse_filter("x > 5 and y = 1").conjunctions
    pieces = place(version.root, box).pieces
    assert len(pieces) == 2
    assert all(piece.is_exact for piece in pieces)


def test_without_growing_what_has_no_node_stays_where_it_has_come_to() -> None:
    version = frozen(  # figure 4.5, with the splits that insertR has to follow
        [parse_filter(text) for text in ("x > 5 and y < 3", "x < 9 and y > 2 and z > 1", "y > 4")]
    )

    def places(text: str) -> list[tuple[str, bool]]:
        found = [
            (" / ".join(str(Conjunction(((n.attribute, n.constraint),))) for n in way), exact)
            for node, exact, _ in place(version.root, box_of(text)).pieces
            for way in [way_to(node)]
        ]
        return sorted(found)

    assert places("x > 5 and y < 7") == [("x > 5", False)]
    assert places("x < 7 and y > 4") == [
        ("x <= 5 / y > 2", False),
        ("x > 5 / x > 5 and x < 9", False),
    ]
    assert places("y > 8 and z < 6") == [("y > 4", False)]
    assert places("x > 5 and y < 3") == [("x > 5 / y < 3", True)]


def test_a_filter_is_split_into_a_bounded_number_of_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    (box,) = parse_filter("x > 1 and x < 37 and y = 1").conjunctions
    for pieces_max, exact in ((3, 3), (2, 1), (1, 0)):
        monkeypatch.setattr(placing, "TREE_PIECES_MAX", pieces_max)
        tree = grown([parse_filter(f"x > {n} and x < {n + 2}") for n in (0, 12, 36)])
        pieces = place(tree.root, box, grow=True).pieces
        assert [piece.is_exact for piece in pieces].count(True) == exact
        assert len(pieces) == pieces_max
    assert [*tree.root.children["x"]] == [*tree.root.ordered()]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        snapshot._ENCODER.encode([(2, b"", "x = 1")]),
        snapshot._ENCODER.encode([(0, b"", "x = 1")]),
        snapshot._ENCODER.encode([(1, b"", "x = 1 and y = 2")]),
        snapshot._ENCODER.encode([(1, b"", "true")]),
        snapshot._ENCODER.encode([(1, b"", "x = ")]),
        snapshot._ENCODER.encode([(1, b"\x91\x90\x90", "")]),
        snapshot._ENCODER.encode([(1, b"", "x < 5"), (1, b"", "x > 2")]),
        snapshot._ENCODER.encode([(1, b"", "x = 1"), (1, b"", "x = 1")]),
    ],
)
def test_bytes_that_are_no_tree_are_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        read(data)


def test_a_tree_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = written(grown([parse_filter(f"limited = {n}") for n in range(4)]))
    monkeypatch.setattr(reading, "TREE_NODES_MAX", 4)
    with pytest.raises(LimitError, match="nodes in a routing tree"):
        read(data)


def test_damage_is_told() -> None:
    for damage in range(5):
        tree = grown([parse_filter("x > 5 and y = 1"), parse_filter("x > 8")])
        (node,) = tree.root.ordered()
        if damage == 0:
            node.refs += 1
        elif damage == 1:
            tree.size += 1
        elif damage == 2:
            node.parent = node
        elif damage == 3:
            below = Node("a", node.constraint)
            node.adopt(below)
            tree._used[parse_filter("true")] = [below]
            below.refs, tree.size = 1, tree.size + 1
        else:
            tree.root.children["x"]._numbers.nodes.append(node)
        with pytest.raises(InvariantError):
            tree.validate()


def test_equal_filters_count_once() -> None:
    tree: RoutingTree = grown([parse_filter("x = 1"), parse_filter("x <= 1 and x >= 1")])
    assert (len(tree), tree.size) == (1, 2)
    tree.remove(parse_filter("x = 1"))
    tree.remove(parse_filter("x = 1"))
    assert (len(tree), tree.size, parse_filter("x = 1") in tree) == (0, 1, False)
