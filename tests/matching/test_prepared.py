"""Engines that are built ahead of time: taken for the very filters they are of, or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.errors import FileFormatError
from sapwood.matching import prepared as module
from sapwood.matching.columnar import ColumnarEngine
from sapwood.matching.prepared import Prepared, fingerprint, prepare
from sapwood.matching.readiness import KernelSet
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from tests.examples import examples
from tests.strategies import filters, records


def packed(*texts: str) -> list[bytes]:
    found = [parse_filter(text).packed for text in texts]
    assert None not in found
    return [one for one in found if one is not None]


LISTS = {
    "clients": packed("a = 1", "a > 2 and b = 'x'", "b in ('x', 'y') or a < 0"),
    "links": packed("c = 1", "true", "c = 1"),
    "none": [],
}


def made(folder: Path) -> Path:
    assert prepare(folder / "made", LISTS) == 6
    return folder / "made"


def matched(path: Path, given: list[bytes], record: Record) -> list[int]:
    """The places in the list of the filters that match."""
    saved = Prepared(path).engine_of(given)
    assert saved is not None
    engine = ColumnarEngine()
    engine.load(saved.folder.folder("records").path, ())
    engine.validate()
    assert len(engine) == saved.filters == len(set(given))
    found = set(engine.match(record))
    return [place for place, slot in enumerate(saved.slots.tolist()) if slot in found]


def test_an_engine_matches_what_the_filters_in_its_list_do(tmp_path: Path) -> None:
    path = made(tmp_path)
    assert matched(path, LISTS["clients"], {"a": 3, "b": "x"}) == [1, 2]
    assert matched(path, LISTS["links"], {"c": 1}) == [0, 1, 2]
    assert matched(path, [], {"c": 1}) == []


def test_many_filters_are_built_some_at_a_time_and_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BUILT", 2)
    given_ = packed(*(f"a = {number}" for number in (*range(7), 3)))
    assert prepare(tmp_path / "made", {"all": given_}) == 8
    for number in range(8):
        expected = [place for place, one in enumerate((*range(7), 3)) if one == number]
        assert matched(tmp_path / "made", given_, {"a": number}) == expected


@given(st.lists(filters(), min_size=1, max_size=12), st.lists(records(), min_size=1, max_size=6))
@settings(max_examples=examples(60), deadline=None)
def test_whatever_the_filters_are_each_place_has_the_slot_of_its_filter(
    drawn: list[Filter], asked: list[Record]
) -> None:
    kept = [one.packed for one in drawn if one.packed is not None]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "made"
        assert prepare(path, {"all": kept}) == len(kept)
        assert path.exists() == bool(kept)
        for record in asked if kept else ():
            expected = [
                place for place, one in enumerate(kept) if Filter.of_packed(one).matches(record)
            ]
            assert matched(path, kept, record) == expected


@pytest.mark.parametrize(
    "other",
    [
        LISTS["clients"][::-1],
        LISTS["clients"][:-1],
        [*LISTS["clients"], LISTS["links"][0]],
        [*LISTS["clients"][:-1], LISTS["links"][0]],
    ],
)
def test_an_engine_is_not_taken_for_other_filters(tmp_path: Path, other: list[bytes]) -> None:
    found = Prepared(made(tmp_path))
    assert found.engine_of(other) is None


def test_the_fingerprint_is_what_the_page_says() -> None:
    data = (1).to_bytes(4, "little") + (2).to_bytes(4, "little") + b"abc"
    assert fingerprint([b"a", b"bc"]) == blake2b(data, digest_size=16).hexdigest()
    assert fingerprint([b"ab", b"c"]) != fingerprint([b"a", b"bc"])
    many = [b"x"] * 65_537
    pieces = blake2b((1).to_bytes(4, "little") * 65_536 + b"x" * 65_536, digest_size=16)
    pieces.update((1).to_bytes(4, "little") + b"x")
    assert fingerprint(many) == pieces.hexdigest()


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 16
    path.write_bytes(data)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize("damage", [_flip, _cut, Path.unlink])
def test_every_file_is_looked_at(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    path = made(tmp_path)
    files = sorted(one.relative_to(path) for one in path.rglob("*") if one.is_file())
    assert len(files) > 15
    for number, name in enumerate(files):
        other = tmp_path / f"{number}"
        assert prepare(other, LISTS) == 6
        damage(other / name)
        with pytest.raises(FileFormatError, match=f"{other}.*build the index again"):
            Prepared(other)


def test_files_of_others_are_refused(tmp_path: Path) -> None:
    path = made(tmp_path)
    (path / "clients" / "more").write_bytes(b"")
    with pytest.raises(FileFormatError, match="was not saved with this index"):
        Prepared(path)
    header = tmp_path / "prepared.json"
    for content, wrong in (([], "does not describe"), ({"format": "x"}, "does not describe")):
        header.write_text(json.dumps(content))
        with pytest.raises(FileFormatError, match=wrong):
            Prepared(tmp_path)
    header.write_text(json.dumps({"format": "sapwood prepared engines", "version": 2}))
    with pytest.raises(FileFormatError, match="has version 2, not 1"):
        Prepared(tmp_path)
    with pytest.raises(FileFormatError, match=r"is missing, or has no prepared\.json"):
        Prepared(tmp_path / "nothing")


def test_nothing_is_built_without_compiled_kernels_or_filters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert prepare(tmp_path / "none", {"clients": [], "links": []}) == 0
    monkeypatch.setattr(KernelSet, "is_cached", lambda _: False)
    assert prepare(tmp_path / "none", LISTS) == 0
    assert not (tmp_path / "none").exists()
    assert module.ENGINE == "columnar"
