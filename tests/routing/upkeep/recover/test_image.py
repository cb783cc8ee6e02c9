"""Images: what is made of one is the object that it was taken of, to the letter."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.covering.catalogue import DEFAULT_COVERING, covering_manager
from sapwood.errors import FileFormatError
from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath
from sapwood.model.filter import Filter
from sapwood.routing.confirmation import Confirmations
from sapwood.routing.inputs import LinkDown, LinkUp
from sapwood.routing.propagation.backlog import Backlog
from sapwood.routing.upkeep.recover.checkpoint import FORMS
from sapwood.routing.upkeep.recover.image import Reader, Unwritable, Writer
from sapwood.simulation.trace import Trace
from tests import strategies
from tests.examples import examples


def image(root: object) -> list[bytes]:
    return list(Writer(FORMS).parts(root))


def again(root: Any, like: Any = None) -> Any:
    made = type(root)() if like is None else like
    Reader(FORMS, {}, {}).read(image(root), made)
    return made


def test_the_worked_example_is_what_is_written() -> None:
    assert [msgspec.msgpack.decode(part) for part in image({"a": (1, {})})] == [
        [[], [[0, ["a", [1, [1, [0, 1, 0]]]]], [1, []]]]
    ]


atoms = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)
keys = atoms | st.text() | st.binary() | st.tuples(st.text(), st.integers(0, 9))
values: st.SearchStrategy[Any] = st.recursive(
    keys,
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(keys, inner)
        | st.tuples(inner, inner)
        | st.sets(st.text())
        | st.frozensets(st.integers(0, 99))
        | st.builds(deque, st.lists(inner))
        | st.builds(Counter, st.text())
    ),
)


@settings(max_examples=examples(40))
@given(st.dictionaries(keys, values))
def test_values_come_back_equal_in_their_order_and_of_their_types(root: dict[Any, Any]) -> None:
    made = again(root)
    assert repr(made) == repr(root) or made == root
    assert [repr(key) for key in made] == [repr(key) for key in root]
    assert image(made) == image(root)


@settings(max_examples=examples(30))
@given(st.lists(strategies.filters()))
def test_filters_come_back_equal_and_once_each(filters: list[Filter]) -> None:
    made = again([*filters, *filters])
    assert made == [*filters, *filters]
    assert all(a is b for a, b in zip(made, made[len(filters) :], strict=False))


def test_what_is_shared_stays_shared_and_circles_stay_circles() -> None:
    shared: list[Any] = [1]
    root: list[Any] = [shared, {"again": shared}, parse_xpath("//a[b]"), LinkUp("b")]
    shared.append(root)
    made = again(root)
    assert made[0] is made[1]["again"]
    assert made[0][1] is made
    assert made[2:] == [parse_xpath("//a[b]"), LinkUp("b")]


def test_tables_of_many_entries_come_in_several_parts() -> None:
    root = {f"k{n}": [n] for n in range(20_000)}
    parts = image(root)
    assert len(parts) > 2
    assert list(again(root).items()) == list(root.items())


def test_arrays_come_back_and_can_be_written() -> None:
    made = again([np.arange(6, dtype=np.uint16).reshape(2, 3)])[0]
    made[1, 2] = 9
    assert made.tolist() == [[0, 1, 2], [3, 4, 9]]
    assert made.dtype == np.uint16


@settings(max_examples=examples(40))
@given(st.lists(strategies.filters(), max_size=20), st.lists(strategies.filters(), max_size=10))
def test_a_covering_manager_decides_as_the_one_that_it_is_the_image_of(
    before: list[Filter], after: list[Filter]
) -> None:
    first = covering_manager(DEFAULT_COVERING)
    for one in before:
        first.subscribe(one)
    for one in before[::3]:
        first.unsubscribe(one)
    second = again(first, covering_manager(DEFAULT_COVERING))
    second.validate()
    for one in after:
        assert second.subscribe(one) == first.subscribe(one)
    for one in before[1::3]:
        assert second.unsubscribe(one) == first.unsubscribe(one)
    assert image(second) == image(first)


@pytest.mark.parametrize(
    "what",
    [
        Backlog(["k"], None),
        np.array([object()]),
        2**70,
        Trace(),
    ],
)
def test_what_has_no_image_is_said(what: object) -> None:
    with pytest.raises(Unwritable):
        image([what])


def test_the_image_of_another_version_is_refused_with_the_reason() -> None:
    (part,) = image([Confirmations()])
    other = part.replace(b"waiting", b"wanting")
    with pytest.raises(FileFormatError, match=r"had the fields .*wanting"):
        Reader(FORMS, {}, {}).read([other], [])
    missing = part.replace(b"Confirmations", b"Confirmatiums")
    with pytest.raises(FileFormatError, match="Confirmatiums"):
        Reader(FORMS, {}, {}).read([missing], [])
    strange = part.replace(b"sapwood.routing", b"sapwood.broking")
    with pytest.raises(FileFormatError, match="has no image"):
        Reader(FORMS, {}, {}).read([strange], [])
    with pytest.raises(FileFormatError, match="cannot be read"):
        Reader(FORMS, {}, {}).read([b"\xc1"], [])


def test_a_value_is_made_by_its_class() -> None:
    assert again([LinkDown("b", for_good=True), parse_filter("a > 1 or b like 'x%'")]) == [
        LinkDown("b", for_good=True),
        parse_filter("a > 1 or b like 'x%'"),
    ]
