"""A conformance suite for engines: run it on your own engine.

::

    from sapwood.matching.checks import check_index
    from sapwood.matching.index import Index

    check_index(lambda: Index(records=my_engine_info), tmp_path)

The expected matches come from the corpus, whose cases were worked out by hand, and from the
reference evaluation of syntax trees (`sapwood.matching.reference.holds`), which shares nothing with
constraints and normal forms. A failure is an `AssertionError` with the whole story: the seed, the
filter, the record, the expected and the actual result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from sapwood.errors import DuplicateIdError, UnknownIdError
from sapwood.language import parse_filter
from sapwood.language.parser import parse
from sapwood.language.syntax import Node
from sapwood.matching.corpus import Case, cases
from sapwood.matching.index import Index
from sapwood.matching.reference import holds
from sapwood.matching.samples import Sampler
from sapwood.model.publication import Publication, flatten

MakeIndex: TypeAlias = Callable[[], Index]
LoadIndex: TypeAlias = Callable[[Path], Index]

_SMALL: Final = 16
"""An index of at most as many filters is validated after every change."""

_LOOK_EVERY: Final = 8
"""Changes between two validations of a larger one: the time of each grows with its filters."""


def check_index(
    make_index: MakeIndex,
    folder: Path,
    *,
    load_index: LoadIndex = Index.load,
    seed: int = 0,
    rounds: int = 3,
) -> None:
    """Check that an index returns the expected matches from every method.

    `make_index` makes an empty index with the engine under test, `folder` is an empty folder to
    save into, and `load_index` loads from there (an engine that is not in the catalogue needs
    `lambda path: Index.load(path, my_engine_info)`). `rounds` random workloads are drawn for each
    check, with seeds from `seed` on; more rounds search deeper.

    Raises `AssertionError` with the story of the first wrong result.
    """
    check_corpus(make_index)
    for at in range(seed, seed + rounds):
        check_random_filters(make_index, at)
        check_changes(make_index, at)
        check_saving(make_index, load_index, folder / f"seed-{at}", at)


def check_corpus(make_index: MakeIndex) -> None:
    """Check every case of the corpus: each filter alone, and all filters in one index."""
    together = make_index()
    groups: dict[str, list[Case]] = {}
    for case in cases():
        groups.setdefault(case.filter, []).append(case)
    for text, group in groups.items():
        together.add(text, text)
        alone = make_index()
        alone.add("it", text)
        for case in group:
            _expect(alone.match(case.record), ["it"] if case.accepted else [], f"alone, {case}")
            _expect(alone.match_any(case.record), case.accepted, f"match_any, alone, {case}")
        alone.validate()
    together.validate()
    for group in groups.values():
        for case in group:
            accepted = case.filter in together.match(case.record)
            _expect(accepted, case.accepted, f"among all filters of the corpus, {case}")


def check_random_filters(make_index: MakeIndex, seed: int, *, filters: int = 120) -> None:
    """Check every way of matching on random filters and records, against the reference."""
    sampler = Sampler(seed)
    model = _Model(make_index(), f"random filters, seed {seed}")
    for number in range(filters):
        model.add(f"s{number:03d}", sampler.filter_text())
    model.check([sampler.record() for _ in range(60)])


def check_changes(make_index: MakeIndex, seed: int, *, steps: int = 150) -> None:
    """Check random additions and removals, with matches in between; ids return after a removal.

    Some filters are added one by one, some together.
    """
    sampler = Sampler(seed)
    model = _Model(make_index(), f"additions and removals, seed {seed}")
    for step in range(steps):
        if step % 50 == 25:
            absent = [name for name in (f"s{n:02d}" for n in range(40)) if name not in model.trees]
            model.add_many({name: sampler.filter_text() for name in absent[::2]})
        name = f"s{sampler.pick(40):02d}"
        if name in model.trees:
            model.check_is_taken(name)
            model.remove(name)
        else:
            model.check_is_unknown(name)
            model.add(name, sampler.filter_text())
        if step % 5 == 0 or sampler.chance(0.1):
            model.check([sampler.record() for _ in range(4)])
    model.index.fold()
    model.index.validate()
    model.check([sampler.record() for _ in range(4)])
    for name in sorted(model.trees):
        model.remove(name)
    model.check([sampler.record(), {}])


def check_saving(make_index: MakeIndex, load_index: LoadIndex, folder: Path, seed: int) -> None:
    """Check that the loaded index equals the saved one, and can be changed and saved again.

    This includes saving after removals, and an index without any filter.
    """
    sampler = Sampler(seed)
    empty = _Model(make_index(), f"saving an empty index, seed {seed}")
    empty.reload(folder / "empty", load_index)
    empty.check([sampler.record(), {}])
    empty.add("first", "a > 0")
    empty.check([{"a": 1}, {}])

    model = _Model(make_index(), f"saving, seed {seed}")
    for number in range(60):
        model.add(f"s{number:02d}", sampler.filter_text())
    for number in range(0, 60, 3):
        model.remove(f"s{number:02d}")
    for number in range(8):
        model.add(f"t{number}", sampler.filter_text())
    for _ in range(2):
        model.reload(folder / "index", load_index)
        model.check([sampler.record() for _ in range(20)])
        for name in sorted(model.trees)[::4]:
            model.remove(name)
        for number in range(5):
            model.add(f"u{len(model.trees)}-{number}", sampler.filter_text())
        model.check([sampler.record() for _ in range(20)])


class _Model:
    """An index beside the syntax trees of its filters, which give the expected matches."""

    def __init__(self, index: Index, title: str) -> None:
        self.index = index
        self.title = title
        self.trees: dict[str, Node] = {}
        self.texts: dict[str, str] = {}
        self._changes = 0

    def add(self, name: str, text: str) -> None:
        self.index.add(name, text)
        self.texts[name] = text
        self.trees[name] = parse(text)
        self._changed()

    def _changed(self) -> None:
        """Validate the index after each change while it is small, and then after some.

        `check` validates it before it matches.
        """
        self._changes += 1
        if len(self.trees) <= _SMALL or self._changes % _LOOK_EVERY == 0:
            self.index.validate()

    def add_many(self, texts: Mapping[str, str]) -> None:
        slots = self.index.add_many(texts.items())
        found = [self.index.ids[slot] for slot in slots]
        _expect(found, list(texts), f"{self.title}: the slots of what was added together")
        self.texts.update(texts)
        self.trees.update((name, parse(text)) for name, text in texts.items())
        self._changed()

    def remove(self, name: str) -> None:
        self.index.remove(name)
        del self.trees[name], self.texts[name]
        self._changed()

    def reload(self, folder: Path, load_index: LoadIndex) -> None:
        """Go on with the index that was saved and loaded again."""
        self.index.save(folder)
        self.index = load_index(folder)
        self.index.validate()
        self.title += ", saved and loaded"
        for name, text in self.texts.items():
            _expect(
                str(self.index.filter(name)),
                str(parse_filter(text)),
                f"{self.title}: filter({name})",
            )

    def check_is_taken(self, name: str) -> None:
        """Check that adding an id twice is refused, and changes nothing."""
        try:
            self.index.add(name, "true")
        except DuplicateIdError:
            return
        raise AssertionError(f"{self.title}: {name!r} was added twice")

    def check_is_unknown(self, name: str) -> None:
        """Check that removing an unknown id is refused."""
        try:
            self.index.remove(name)
        except UnknownIdError:
            return
        raise AssertionError(f"{self.title}: {name!r} was removed, but is not there")

    def check(self, records: list[Mapping[str, Any]]) -> None:
        """Check every way of matching, on all records."""
        index = self.index
        index.validate()
        _expect(len(index), len(self.trees), f"{self.title}: len")
        _expect(list(index), sorted(self.trees), f"{self.title}: ids")
        expected = [self._expected(record) for record in records]
        for record, wanted in zip(records, expected, strict=True):
            self._check_one(record, wanted)
        for ways, found in (
            ("match_many", index.match_many(records)),
            ("match_many of one", [index.match_many([record])[0] for record in records]),
            ("match_slots", self._decoded(records)),
        ):
            for record, wanted, got in zip(records, expected, found, strict=True):
                self._expect_ids(ways, record, got, wanted)
        _expect(index.match_many([]), [], f"{self.title}: match_many of nothing")

    def _check_one(self, record: Mapping[str, Any], wanted: list[str]) -> None:
        self._expect_ids("match", record, self.index.match(record), wanted)
        publication = Publication("p", record)
        self._expect_ids("match, publication", record, self.index.match(publication), wanted)
        _expect(
            self.index.match_any(record),
            bool(wanted),
            f"{self.title}: match_any of {dict(record)!r}, which matches {wanted}",
        )
        _expect(
            self.index.match_count(record),
            len(wanted),
            f"{self.title}: match_count of {dict(record)!r}, which matches {wanted}",
        )

    def _expected(self, record: Mapping[str, Any]) -> list[str]:
        flat = flatten(record).record
        return sorted(name for name, tree in self.trees.items() if holds(tree, flat))

    def _decoded(self, records: list[Mapping[str, Any]]) -> list[list[str]]:
        offsets, slots = self.index.match_slots([flatten(record).record for record in records])
        _expect(len(offsets), len(records) + 1, f"{self.title}: offsets of match_slots")
        ids = [self.index.ids[slot] for slot in slots.tolist()]
        found = []
        for number in range(len(records)):
            mine = slice(int(offsets[number]), int(offsets[number + 1]))
            ascending = sorted(set(slots[mine].tolist()))
            _expect(slots[mine].tolist(), ascending, f"{self.title}: slots in ascending order")
            found.append(sorted(ids[mine]))
        return found

    def _expect_ids(
        self, way: str, record: Mapping[str, Any], got: list[str], wanted: list[str]
    ) -> None:
        if got == wanted:
            return
        missing = [f"  missing: {name}: {self.texts[name]}" for name in wanted if name not in got]
        wrong = [f"  wrong: {name}: {self.texts.get(name)}" for name in got if name not in wanted]
        story = "\n".join((*missing, *wrong)) or f"  order or repetition: {got}"
        raise AssertionError(f"{self.title}: {way} of {dict(record)!r}\n{story}")


def _expect(got: object, wanted: object, story: str) -> None:
    if got != wanted:
        raise AssertionError(f"{story}: got {got!r}, expected {wanted!r}")
