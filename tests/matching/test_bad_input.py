"""Input that is too large, contradictory, odd or damaged: a clear error or the exact result."""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from sapwood import Index, parse_filter
from sapwood.errors import FileFormatError, FilterSyntaxError, LimitError, UnknownIdError
from sapwood.limits import CONJUNCTIONS_MAX, FILTER_TEXT_CHARS_MAX, INTEGER_MAX, INTEGER_MIN
from sapwood.matching.engines import EngineInfo
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint
from sapwood.model.filter import Filter
from sapwood.model.numbers import Interval
from sapwood.model.publication import Value
from tests.matching.variants import VARIANTS, loaded

MANY = 100_000
FAST = [info for info in VARIANTS if info.name in ("columnar", "columnar-mixed", "counting")]
"""Engines for what takes the others seconds."""


@pytest.fixture(params=VARIANTS, ids=lambda info: info.name)
def info(request: pytest.FixtureRequest) -> EngineInfo:
    found: EngineInfo = request.param
    return found


def list_of(chars: int) -> str:
    """A filter of so many characters that accepts 10, 11, 12, ..."""
    text = "x in (" + ", ".join(str(number) for number in range(10, 12_000))
    head = text[: chars - 20].rsplit(",", 1)[0]
    return head + ")" + " " * (chars - len(head) - 1)


@cache
def longest() -> tuple[str, Filter]:
    """The longest filter, read once for all engines: that takes longer than to match it."""
    text = list_of(FILTER_TEXT_CHARS_MAX)
    return text, parse_filter(text)


@pytest.mark.one_in(3)
def test_filter_of_the_most_characters_is_exact_and_of_one_more_refused(info: EngineInfo) -> None:
    index = Index(info)
    text, read = longest()
    index.add("a", read)
    last = int(text.rstrip().rstrip(")").rsplit(" ", 1)[1])
    assert last > 10_000
    asked = (9, 10, last, last + 1, 10.5)
    assert [index.match_count({"x": value}) for value in asked] == [0, 1, 1, 0, 0]
    with pytest.raises(LimitError, match="65536"):
        index.add("b", text + " ")
    assert list(index) == ["a"]
    index.validate()


@pytest.mark.parametrize("info", FAST, ids=lambda info: info.name)
def test_filter_of_the_most_conjunctions_is_exact_and_of_more_refused(info: EngineInfo) -> None:
    index = Index(info)
    text = " or ".join(f"a{number} = 1" for number in range(CONJUNCTIONS_MAX))
    index.add("a", text)
    assert index.match({f"a{CONJUNCTIONS_MAX - 1}": 1, "a3": 2}) == ["a"]
    assert index.match({"a3": 2}) == []
    with pytest.raises(LimitError, match="CONJUNCTIONS_MAX"):
        index.add("b", f"{text} or c = 1")
    assert list(index) == ["a"]
    index.fold()
    index.remove("a")
    assert index.match({"a0": 1}) == []


@cache
def widest() -> Filter:
    """A filter of many values, which no text could have said."""
    values = Constraint(numbers=tuple(Interval(2 * at, 2 * at) for at in range(MANY)))
    return Filter((Conjunction((("x", values),)),))


@pytest.mark.parametrize("info", FAST, ids=lambda info: info.name)
@pytest.mark.one_in(4)
def test_disjunction_of_100_000_values_is_exact_or_refused(info: EngineInfo) -> None:
    index = Index(info)
    with pytest.raises(LimitError, match="FILTER_TEXT_CHARS_MAX"):
        index.add("text", " or ".join(f"x = {number}" for number in range(MANY)))
    index.add("made", widest())
    index.fold()
    asked = (-1, 0, 1, MANY, MANY + 1, 2 * MANY - 2, 2 * MANY)
    assert [index.match_count({"x": at}) for at in asked] == [0, 1, 0, 1, 0, 1, 0]
    index.remove("made")
    assert index.match_count({"x": 0}) == 0


CONTRADICTIONS = (
    "x > 5 and x < 3",
    "x = 1 and x = 2",
    "x = 'a' and x > 5",
    "x and not x",
    "x is null and exists x",
    "x like 'a%' and x < 'a'",
    "x between 5 and 3",
    "false",
)


def test_contradictions_are_taken_and_never_match(info: EngineInfo, tmp_path: Path) -> None:
    index = Index(info)
    for number, text in enumerate(CONTRADICTIONS):
        index.add(f"s{number}", text)
    values: tuple[Value, ...] = (1, 2, 4, 6, "a", "", True)
    asked: list[dict[str, Value]] = [{}, *({"x": value} for value in values)]
    index.save(tmp_path / "index")
    for one in (index, loaded(tmp_path / "index", info)):
        assert [one.match(record) for record in asked] == [[]] * len(asked)
        assert len(one) == len(CONTRADICTIONS)
        one.validate()
        for number in range(len(CONTRADICTIONS)):
            one.remove(f"s{number}")
        assert len(one) == 0


@pytest.mark.one_in(3)
def test_attributes_of_one_subscription_each_are_told_apart(info: EngineInfo) -> None:
    index = Index(info)
    for number in range(400):
        index.add(f"s{number}", f"own{number} = 1 and own{number}.more > 0")
    for number in (0, 7, 399):
        record = {f"own{number}": 1, f"own{number}.more": 1, "unknown": 1}
        assert index.match(record) == [f"s{number}"]
    assert index.match({f"own{number}": 1 for number in range(400)}) == []


BEYOND = (
    *(2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, 2**60 + 1, 2**60, INTEGER_MAX, INTEGER_MIN),
    *(float(2**53), float(2**53 + 2), float(2**60), float(2**63), -float(2**63)),
)


@pytest.mark.one_in(3)
def test_integers_beyond_the_floats_are_compared_exactly(info: EngineInfo, tmp_path: Path) -> None:
    index = Index(info)
    expected: dict[str, list[bool]] = {}
    for number, constant in enumerate(BEYOND):
        text = repr(constant) if isinstance(constant, int) else format(constant, ".1f")
        for name, operator in (("eq", "="), ("lt", "<"), ("ge", ">=")):
            index.add(f"{name}{number}", f"x {operator} {text}")
        expected[f"eq{number}"] = [value == constant for value in BEYOND]
        expected[f"lt{number}"] = [value < constant for value in BEYOND]
        expected[f"ge{number}"] = [value >= constant for value in BEYOND]
    index.save(tmp_path / "index")
    for one in (index, loaded(tmp_path / "index", info)):
        for at, value in enumerate(BEYOND):
            assert one.match({"x": value}) == sorted(
                n for n, holds in expected.items() if holds[at]
            )


def test_empty_texts_are_texts_like_others(info: EngineInfo) -> None:
    index = Index(info)
    texts = ("x = ''", "x >= ''", "x < 'a'", "x > ''", "x like ''", "x in ('', 'b')", "x <> ''")
    for number, text in enumerate(texts):
        index.add(str(number), text)
    assert index.match({"x": ""}) == ["0", "1", "2", "4", "5"]
    assert index.match({"x": "a"}) == ["1", "3", "6"]
    assert index.match({"x": 0}) == []
    assert index.match({}) == []
    with pytest.raises(FilterSyntaxError):
        index.add("7", "")


def test_unknown_ids_change_nothing(info: EngineInfo) -> None:
    index = Index(info)
    index.add("a", "x = 1")
    for unknown in ("b", "", "A", "a "):
        with pytest.raises(UnknownIdError, match="subscription"):
            index.remove(unknown)
    index.remove("a")
    for gone in ("a", "b"):
        with pytest.raises(UnknownIdError):
            index.remove(gone)
    assert index.match({"x": 1}) == []
    index.validate()


def saved(path: Path, info: EngineInfo) -> list[Path]:
    """The files of an index with something of everything."""
    index = Index(info)
    for number, text in enumerate(("x = 1 or y like '%z%'", "y = 'a'", "x > 5 and z is null")):
        index.add(f"s{number}", text)
    index.save(path)
    return sorted(file for file in path.rglob("*") if file.is_file())


@pytest.mark.one_in(4)
def test_every_truncated_file_is_refused(info: EngineInfo, tmp_path: Path) -> None:
    for file in saved(tmp_path / "index", info):
        whole = file.read_bytes()
        for size in {0, len(whole) // 2, len(whole) - 2}:
            file.write_bytes(whole[:size])
            with pytest.raises(FileFormatError):
                loaded(tmp_path / "index", info)
        file.write_bytes(whole)
    assert loaded(tmp_path / "index", info).match({"x": 1}) == ["s0"]


FOREIGN = (b"\x89PNG\r\n", b"{}", b"[1, 2", b"\xff\xfe\x00")


@pytest.mark.one_in(4)
def test_every_foreign_file_is_refused(info: EngineInfo, tmp_path: Path) -> None:
    for file in saved(tmp_path / "index", info):
        whole = file.read_bytes()
        for content in FOREIGN:
            file.write_bytes(content)
            with pytest.raises(FileFormatError):
                loaded(tmp_path / "index", info)
        if file.suffix == ".npy":
            for array, kind in product((np.arange(2), np.zeros((1, 1))), (np.float32, np.int64)):
                np.save(file, array.astype(kind))
                with pytest.raises(FileFormatError):
                    loaded(tmp_path / "index", info)
        file.write_bytes(whole)
    assert loaded(tmp_path / "index", info).match({"x": 1}) == ["s0"]


def test_filter_that_is_none_is_refused() -> None:
    with pytest.raises(FilterSyntaxError):
        parse_filter("\0")
