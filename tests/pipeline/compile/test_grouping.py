"""The law of `compile` on its pure functions: what is kept reaches the same homes as all."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.covering.batch.groups import last_covers
from sapwood.errors import LimitError
from sapwood.language.forms import decode_interest, encode_form
from sapwood.model.filter import NOTHING, Filter
from sapwood.model.interest import Interest
from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.publication import Record
from sapwood.pipeline.compile.grouping import Cuts, FindCovers, PlaceFilters
from tests.covering.patterns import patterns
from tests.examples import examples
from tests.strategies import filters, records
from tests.xml.made import documents

HOMES = ("r1", "r2")
"""Cut into several groups, and compared in one."""


def is_written(pattern: TreePattern) -> bool:
    """True if the text of a pattern is within the bounds of those that can be read."""
    try:
        decode_interest(encode_form(pattern))
    except LimitError:
        return False
    return True


WANTED = st.one_of(filters(), patterns().filter(is_written))
SETS = st.lists(st.tuples(st.sampled_from(HOMES), WANTED), max_size=14)
SLOTS = st.integers(1, 4)
PUBLISHED = st.lists(st.one_of(records(), documents()), max_size=8)


def distinct(wanted: list[tuple[str, Interest]]) -> dict[tuple[str, str], bytes]:
    """Normal forms by home and key."""
    forms = dict.fromkeys(
        (home, encode_form(interest)) for home, interest in wanted if interest != NOTHING
    )
    return {(home, f"{at:08x}"): form for at, (home, form) in enumerate(forms)}


def gone(found: dict[tuple[str, str], bytes], slots: int, some: int) -> set[tuple[str, str]]:
    """The filters that need not be kept, found as workers do it."""
    cuts = Cuts.of(list(found.values())[:some])
    place = PlaceFilters({"r1": slots}, {"r1": slots}, cuts)
    homes, keys = [home for home, _ in found], [key for _, key in found]
    columns = [homes, keys, list(found.values()), [int(key, 16) for key in keys]]
    types = (pa.string(), pa.string(), pa.binary(), pa.int64())
    arrays = [pa.array(column, type_) for column, type_ in zip(columns, types, strict=True)]
    batch = pa.RecordBatch.from_arrays(arrays, names=["home", "key", "form", "subscriptions"])
    placed = pa.Table.from_batches(place(iter([batch])))
    ordered = placed.sort_by([("slot", "ascending"), ("home", "ascending")])
    batches = FindCovers()(iter(ordered.to_batches(max_chunksize=3)))
    covers = [row for batch in batches for row in batch.to_pylist()]
    assert all(row["subscriptions"] == int(row["key"], 16) for row in covers)
    told: set[tuple[str, str]] = set()
    for home in HOMES:
        ways = {row["key"]: row["cover"] for row in covers if row["home"] == home}
        keys = sorted({*ways, *ways.values()})
        numbers = {key: number for number, key in enumerate(keys)}
        by_number = {numbers[key]: numbers[cover] for key, cover in ways.items()}
        told |= {(home, keys[number]) for number, _ in last_covers(by_number, keys)}
    return told


def reached(some: dict[tuple[str, str], bytes], takes: Callable[[Interest], bool]) -> set[str]:
    return {home for (home, _), form in some.items() if takes(decode_interest(form))}


def taken(publication: Record | bytes) -> Callable[[Interest], bool]:
    """The predicate that is true if an interest accepts a record, or a document."""
    if isinstance(publication, bytes):
        return lambda wanted: isinstance(wanted, TreePattern) and wanted.matches(publication)
    return lambda wanted: isinstance(wanted, Filter) and wanted.accepts(publication)


@settings(max_examples=examples(30))
@given(SETS, SLOTS, st.integers(0, 14), PUBLISHED)
def test_what_is_kept_reaches_the_same_homes(
    wanted: list[tuple[str, Interest]], slots: int, some: int, published: list[Record | bytes]
) -> None:
    found = distinct(wanted)
    left_out = gone(found, slots, some)
    kept = {name: form for name, form in found.items() if name not in left_out}
    for publication in published:
        assert reached(kept, taken(publication)) == reached(found, taken(publication))


@settings(max_examples=examples(30))
@given(SETS, SLOTS, st.integers(0, 14))
def test_nothing_that_is_kept_could_go(
    wanted: list[tuple[str, Interest]], slots: int, some: int
) -> None:
    found = distinct(wanted)
    kept = found.keys() - gone(found, slots, some)
    interests = {name: decode_interest(found[name]) for name in kept}
    for home, key in kept:
        for other in kept - {(home, key)}:
            assert other[0] != home or not interests[other].covers(interests[home, key])
