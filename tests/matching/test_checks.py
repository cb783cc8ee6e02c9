"""Every engine passes the conformance suite; engines with planted defects do not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from sapwood.matching import checks
from sapwood.matching.checks import check_index
from sapwood.matching.counting import CountingEngine
from sapwood.matching.engines import EngineInfo
from sapwood.matching.index import Index
from sapwood.matching.protocol import SlotBatch, batch_of
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.publication import Record
from tests.matching.variants import VARIANTS, loaded


@pytest.mark.parametrize(
    "info",
    [
        # The kernels without a compiler: each is compared with its compiled form on its own too.
        pytest.param(info, marks=[pytest.mark.long] if info.name == "columnar-plain" else [])
        for info in VARIANTS
    ],
    ids=lambda info: info.name,
)
@pytest.mark.parametrize(
    ("seed", "rounds"), [(0, 1), pytest.param(1, 8, marks=pytest.mark.long)], ids=["gate", "long"]
)
@pytest.mark.one_in(8)
def test_engine_passes_all_checks(info: EngineInfo, seed: int, rounds: int, tmp_path: Path) -> None:
    check_index(
        lambda: Index(info),
        tmp_path,
        load_index=lambda path: loaded(path, info),
        seed=seed,
        rounds=rounds,
    )


class TakesBooleansForNumbers(CountingEngine):
    def match(self, record: Record) -> list[int]:
        return super().match(
            {name: int(v) if isinstance(v, bool) else v for name, v in record.items()}
        )


class RoundsIntegers(CountingEngine):
    def match(self, record: Record) -> list[int]:
        return super().match(
            {name: float(v) if type(v) is int else v for name, v in record.items()}
        )


class ComparesUTF16(CountingEngine):
    """Orders texts as languages with UTF-16 strings do: astral characters below U+E000."""

    def match(self, record: Record) -> list[int]:
        return super().match(
            {
                n: v.replace("\U0001f600", "\ud83d") if isinstance(v, str) else v
                for n, v in record.items()
            }
        )


class ReportsTwice(CountingEngine):
    def match(self, record: Record) -> list[int]:
        return sorted(self._slots[key] for key in self._matched(record))


class ForgetsToRemove(CountingEngine):
    def remove(self, slot: int) -> None:
        kept = self._taken[slot]
        super().remove(slot)
        if slot == 3:
            for key, conjunction in kept:
                self._slots[key] = slot
                for name, constraint in conjunction.constraints:
                    if name in self._attributes:
                        self._attributes[name].add(constraint, key)


class DropsAbsence(CountingEngine):
    def _matched(self, record: Record):  # type: ignore[no-untyped-def]
        return (key for key in super()._matched(record) if key not in self._unconditional)


class SaysAnyToAll(CountingEngine):
    def match_any(self, record: Record) -> bool:
        return len(self) > 0


class ShufflesBatches(CountingEngine):
    def match_slots(self, records: Sequence[Record]) -> SlotBatch:
        return batch_of(reversed([self.match(record) for record in records]))


class LosesWhatItSaved(CountingEngine):
    def load(self, folder: Path, filters: Iterable[tuple[int, Filter]]) -> None:
        everything = list(filters)
        super().load(folder, everything)
        for slot, _ in everything[:1]:
            self.remove(slot)
            self._taken[slot] = ()


PLANTED = (
    TakesBooleansForNumbers,
    RoundsIntegers,
    ComparesUTF16,
    ReportsTwice,
    ForgetsToRemove,
    DropsAbsence,
    SaysAnyToAll,
    ShufflesBatches,
    LosesWhatItSaved,
)


@pytest.mark.parametrize("make", PLANTED, ids=lambda make: make.__name__)
@pytest.mark.one_in(4)
def test_engine_with_a_defect_is_found(make: Callable[[], CountingEngine], tmp_path: Path) -> None:
    info = EngineInfo("defective", "records", True, "", make)
    with pytest.raises(AssertionError):
        check_index(lambda: Index(info), tmp_path, load_index=lambda path: loaded(path, info))


def test_failure_tells_seed_record_and_filter(tmp_path: Path) -> None:
    info = EngineInfo("defective", "records", True, "", ShufflesBatches)
    with pytest.raises(AssertionError, match=r"(?s)seed 7.*match_many of \{.*(missing|wrong): s\d"):
        checks.check_random_filters(lambda: Index(info), 7)


def test_failure_in_the_corpus_tells_the_case() -> None:
    info = EngineInfo("defective", "records", True, "", TakesBooleansForNumbers)
    with pytest.raises(AssertionError, match=r"booleans: 'halted' accepts.*present and true"):
        checks.check_corpus(lambda: Index(info))


def test_failed_duplicate_check_is_told() -> None:
    class Lenient(Index):
        def add(self, id: str, filter: Interest | str) -> int:
            if id in self:
                self.remove(id)
            return super().add(id, filter)

    with pytest.raises(AssertionError, match="was added twice"):
        checks.check_changes(Lenient, 0)


def test_failed_unknown_check_is_told() -> None:
    class Lenient(Index):
        def remove(self, id: str) -> None:
            if id in self:
                super().remove(id)

    with pytest.raises(AssertionError, match="was removed, but is not there"):
        checks.check_changes(Lenient, 0)
