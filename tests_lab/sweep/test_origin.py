"""The code that figures come from."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import sapwood
from sapwood_lab.sweep import origin
from sapwood_lab.sweep.origin import code_of


def test_code_is_the_version_and_the_same_for_all_experiments_of_the_lab() -> None:
    code = code_of("sapwood_lab.sweep.experiments:simulate_overlay")
    assert code == code_of("sapwood_lab.experiments.xsearch:measure")
    assert code.partition(" ")[0] == sapwood.__version__


def test_code_is_another_when_a_source_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in origin.PACKAGES:
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("")
    own = tmp_path / "studied.py"
    own.write_text("x = 1\n")
    monkeypatch.setattr(origin, "_file_of", lambda name: _placed(tmp_path, name))
    seen = set[str]()

    def tell() -> str:
        origin._hash_of.cache_clear()
        code = code_of("studied:run")
        seen.add(code)
        return code

    assert tell() == tell()
    own.write_text("x = 2\n")
    tell()
    (tmp_path / "sapwood" / "deep").mkdir()
    (tmp_path / "sapwood" / "deep" / "new.py").write_text("")
    tell()
    (tmp_path / "sapwood_lab" / "__init__.py").write_text("x = 1\n")
    tell()
    own.unlink()
    tell()
    assert len(seen) == 5
    origin._hash_of.cache_clear()


def test_what_cannot_be_imported_has_no_part_in_the_code() -> None:
    importlib.invalidate_caches()
    assert code_of("no.such.module:f") == code_of("none:f") == code_of("xsearch:f")


def _placed(folder: Path, name: str) -> Path:
    return folder / f"{name}.py" if name == "studied" else folder / name / "__init__.py"
