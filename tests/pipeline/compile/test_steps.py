from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest

from sapwood import parse_filter
from sapwood.errors import InputError
from sapwood.language.forms import encode_form
from sapwood.pipeline.compile import steps as compiling
from sapwood.pipeline.compile.steps import (
    covers,
    distinct,
    entries,
    home_sizes,
    keyed,
    members,
    set_digest,
)

pytestmark = pytest.mark.spark

WANTED = (
    ("a", "x > 1", "r1"),
    ("b", "not x <= 1", "r1"),
    ("c", "x > 2", "r1"),
    ("d", "x > 2", "r2"),
    ("e", "false", "r2"),
    ("f", "y", None),
)


def subscriptions(spark: Any) -> Any:
    rows = [(id_, bytearray(encode_form(parse_filter(t))), home) for id_, t, home in WANTED]
    return spark.createDataFrame(rows, "id STRING, attributes BINARY, home STRING")


@pytest.mark.long
def test_the_steps_keep_one_filter_for_all_it_covers_at_one_home(spark: Any) -> None:
    wanted = keyed(subscriptions(spark), homes=("r3",))
    keys = {row["id"]: row["key"] for row in wanted.collect()}
    assert keys["a"] == keys["b"] != keys["c"] == keys["d"]
    filters = distinct(wanted)
    sizes = home_sizes(filters)
    assert sorted(sizes) == [("r1", False, 2, 3), ("r2", False, 1, 1), ("r3", False, 1, 1)]
    with covers(filters, sizes) as (covered, count):
        assert count == 1
        assert [tuple(row) for row in covered.collect()] == [("r1", keys["c"], keys["a"], 1)]
        kept = entries(filters, covered).select("home", "key", "subscriptions", "stands_for")
        assert sorted(map(tuple, kept.collect())) == sorted(
            [("r1", keys["a"], 2, 3), ("r2", keys["d"], 1, 1), ("r3", keys["f"], 1, 1)]
        )
        told = {row["id"]: row["entry"] for row in members(wanted, covered).collect()}
    entry = {id_: keys["a"] if id_ in "abc" else keys[id_] for id_ in "abcdf"}
    assert told == {**entry, "e": None}


def test_covers_are_followed_to_their_end_however_far_that_is(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "COVER_ROUNDS_MAX", 7)
    far = 65
    way = {f"k{at:02}": f"k{at + 1:02}" for at in range(far)}
    # Two that accept the same in different forms, each found to cover the other.
    circle = {"m": "n", "n": "m", "leads there": "m"}
    rows = [
        ("h", key, cover, at) for at, (key, cover) in enumerate([*way.items(), *circle.items()])
    ]
    schema = "home STRING, key STRING, cover STRING, subscriptions LONG"
    found = spark.createDataFrame([*rows, ("g", "k00", "k64", 5)], schema)
    with ExitStack() as kept:
        table, gone = compiling._followed(found, kept)
        told = sorted(map(tuple, table.select("home", "key", "cover", "subscriptions").collect()))
    expected = [("g", "k00", "k64", 5), *(("h", key, f"k{far}", at) for at, key in enumerate(way))]
    assert (told, gone) == (expected, far + 1)


@pytest.mark.long
def test_homes_are_drawn_by_id_and_seed_alone(spark: Any) -> None:
    form = bytearray(encode_form(parse_filter("x")))
    rows = [(f"s{n}", form, None) for n in range(200)]
    table = spark.createDataFrame(rows, "id STRING, attributes BINARY, home STRING")
    homes = ("r1", "r2", "r3")

    def drawn(some: Any, seed: int) -> dict[str, str]:
        return {row["id"]: row["home"] for row in keyed(some, homes=homes, seed=seed).collect()}

    everyone = drawn(table, 1)
    assert set(everyone.values()) == set(homes)
    assert drawn(table.where("id > 's5'"), 1).items() <= everyone.items()
    assert drawn(table, 2) != everyone

    def digest(some: Any, seed: int) -> int:
        told: int = some.agg(set_digest(homes=homes, seed=seed)).first()[0]
        return told

    nameless = spark.createDataFrame([(None, None, None)], table.schema)
    assert digest(table.union(nameless).repartition(3), 1) == digest(table, 1)
    assert len({digest(table, 1), digest(table, 2), digest(table.where("id > 's5'"), 1)}) == 3
    assert digest(table.limit(0), 1) == 0
    for nobody in ((), ("",)):
        with pytest.raises(InputError, match="at least one home"):
            keyed(table, homes=nobody)
