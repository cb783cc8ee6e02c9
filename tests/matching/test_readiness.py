"""Kernels at hand, and who loads them when."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from sapwood.matching.automaton import PathAutomatonEngine
from sapwood.matching.compiling import places
from sapwood.matching.compiling.notice import tell
from sapwood.matching.readiness import (
    DOCUMENTS,
    RECORDS,
    REPORTED,
    Awaiting,
    InPlace,
    KernelSet,
    loading,
)
from tests.matching.switched import Nobody, Switched
from tests.patience import PATIENCE_S

README = Path(__file__).parents[2] / "README.md"


class Fake(Switched):
    """Kernels that are in the cache or not, and know whether they were loaded."""

    cached: bool
    asked = 0

    def __init__(self, *, cached: bool) -> None:
        super().__init__(DOCUMENTS)
        self.cached = cached

    def is_cached(self) -> bool:
        self.asked += 1
        return self.cached


def test_kernels_in_the_cache_are_loaded_when_plain_python_has_cost_as_much() -> None:
    told: list[str] = []
    kernels, loader = Fake(cached=True), InPlace(told.append, 100, 1000)
    loader.worked(kernels, 60)
    assert not kernels.is_on
    loader.worked(kernels, 40)
    assert kernels.is_on
    assert told == []


def test_kernels_that_must_be_compiled_wait_until_that_pays_and_somebody_is_told() -> None:
    told: list[str] = []
    kernels, loader = Fake(cached=False), InPlace(told.append, 100, 1000)
    for _ in range(9):
        loader.worked(kernels, 110)
    assert (kernels.is_on, kernels.asked, told) == (False, 1, [])
    loader.worked(kernels, 10)
    assert kernels.is_on
    assert len(told) == 1
    assert "compiling the kernels for documents" in told[0]
    assert "sapwood warm-up" in told[0]


def test_each_set_has_an_account_of_its_own() -> None:
    one, other = Fake(cached=True), Switched(RECORDS)
    loader = InPlace(lambda _: None, 100, 1000)
    loader.worked(one, 99)
    loader.worked(other, 99)
    assert (one.is_on, other.is_on) == (False, False)
    loader.worked(other, 1)
    assert (one.is_on, other.is_on) == (False, True)


def test_loader_of_the_context_hears_of_work_until_kernels_are_at_hand() -> None:
    kernels, inner, outer = Switched(DOCUMENTS), Nobody(), Nobody()
    awaiting = Awaiting(kernels)
    with loading(outer):
        with loading(inner):
            assert awaiting.compiled(REPORTED - 1) is None
            assert inner.heard == 0
            assert awaiting.compiled(500) is None
        assert inner.heard == REPORTED + 499
        awaiting.compiled(REPORTED)
        assert outer.heard == REPORTED
        kernels.is_on = True
        assert awaiting.compiled(REPORTED) is awaiting.at_hand() is DOCUMENTS.compiled
        assert outer.heard == REPORTED


def test_loader_that_is_handed_over_comes_before_that_of_the_context() -> None:
    mine, other = Nobody(), Nobody()
    with loading(other):
        Awaiting(Switched(DOCUMENTS), mine).compiled(REPORTED)
    assert (mine.heard, other.heard) == (REPORTED, 0)


def test_loader_may_load_at_once() -> None:
    kernels = Switched(DOCUMENTS)
    found = Awaiting(kernels, InPlace(lambda _: None, 1, 1)).compiled(REPORTED)
    assert found is DOCUMENTS.compiled
    assert found is not None


def test_looking_is_rare() -> None:
    class Counted(Switched):
        looks = 0

        @property
        def compiled(self) -> ModuleType | None:
            self.looks += 1
            return super().compiled

    kernels = Counted(DOCUMENTS, is_on=True)
    awaiting = Awaiting(kernels, Nobody(), every=100)
    assert [awaiting.compiled(40) is None for _ in range(3)] == [True, True, False]
    assert kernels.looks == 1


@pytest.mark.parametrize("kernels", [RECORDS, DOCUMENTS], ids=lambda kernels: kernels.name)
def test_loaded_kernels_are_at_hand_and_in_the_cache(kernels: KernelSet) -> None:
    kernels.load()
    assert kernels.compiled is not None
    assert kernels.is_cached()
    library = kernels.library()
    assert library is not None
    assert all(entry.signatures for entry in library.entries)


def test_set_is_at_hand_and_kept_only_when_its_library_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    DOCUMENTS.load()
    library = DOCUMENTS.library()
    monkeypatch.setattr(library, "is_loaded", False)
    assert DOCUMENTS.compiled is None
    assert DOCUMENTS.is_cached()
    monkeypatch.setattr(places, "places", lambda: (tmp_path,))
    assert not DOCUMENTS.is_cached()


def test_where_numba_compiles_nothing_kernels_are_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    DOCUMENTS.load()
    module = DOCUMENTS.compiled
    monkeypatch.setattr(module, "LIBRARY", None)
    DOCUMENTS.load()
    assert DOCUMENTS.is_cached()
    assert DOCUMENTS.compiled is module


def test_automaton_takes_kernels_between_two_documents() -> None:
    kernels, nobody = Switched(DOCUMENTS), Nobody()
    engine = PathAutomatonEngine(awaiting=Awaiting(kernels, nobody, every=1))
    plain = engine._kernels
    assert plain.__name__.endswith("plain")
    kernels.is_on = True
    assert engine._kernels is plain
    assert engine.match(b"<a/>") == []
    assert engine._kernels is engine._states._kernels is DOCUMENTS.compiled
    again = PathAutomatonEngine(awaiting=Awaiting(kernels))
    assert again._kernels is DOCUMENTS.compiled


def test_library_logs_before_it_compiles_and_prints_nothing(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    loader = InPlace(tell, 1, 1)
    with caplog.at_level(logging.INFO, "sapwood"):
        loader.worked(Fake(cached=False), 1)
    assert "compiling the kernels" in caplog.text
    assert capfd.readouterr() == ("", "")


def test_who_waits_at_a_terminal_reads_what_is_compiled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    InPlace(tell, 1, 1).worked(Fake(cached=False), 1)
    assert capsys.readouterr().err.startswith("sapwood: compiling the kernels for documents, ")


def test_ten_lines_of_the_readme_import_no_compiler() -> None:
    text = README.read_text(encoding="utf-8")
    lines = text.split("## Ten lines")[1].split("```python\n")[1].split("```")[0]
    code = f"{lines}\nimport sys\nprint(sorted({{'numba', 'llvmlite'}} & set(sys.modules)))"
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    assert (told.stdout, told.stderr) == ("[]\n", "")
