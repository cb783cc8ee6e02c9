"""The places of compiled code, and the claim by which one process makes it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sapwood.matching.compiling import places

NAME = "some.kernels"


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package and a user of the test's own, without a variable."""
    for variable in places.VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(places, "_package_place", lambda: tmp_path / "package")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    return tmp_path


def test_code_is_kept_beside_the_package_and_else_with_the_user(folders: Path) -> None:
    assert places.writable_place() == folders / "package"
    (folders / "package").rmdir()
    (folders / "package").write_text("no folder")
    assert places.writable_place() == folders / "user" / "sapwood" / "kernels"


def test_named_folder_is_the_only_one_that_is_written(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folders / "second"))
    assert places.writable_place() == folders / "second"
    monkeypatch.setenv("SAPWOOD_CACHE_DIR", str(folders / "first"))
    assert places.writable_place() == folders / "first"
    (folders / "first").rmdir()
    (folders / "first").write_text("no folder")
    assert places.writable_place() is None


def test_code_that_came_with_the_package_is_found_though_another_folder_is_named(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAPWOOD_CACHE_DIR", str(folders / "named"))
    assert places.found(NAME) is None
    (folders / "package").mkdir()
    kept = folders / "package" / NAME
    kept.write_bytes(b"old")
    assert places.found(NAME) == kept
    place = places.writable_place()
    assert place is not None
    assert places.found(NAME) == kept
    (place / NAME).write_bytes(b"new")
    assert places.found(NAME) == place / NAME


CLAIMING = """
import sys
from pathlib import Path
from sapwood.matching.compiling import places
place = Path(sys.argv[1])
with places.claimed(place, "some.kernels"):
    print("claimed", flush=True)
    sys.stdin.readline()
"""


def test_claim_waits_for_the_one_before_and_ends_with_its_process(tmp_path: Path) -> None:
    def claiming() -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", CLAIMING, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    with claiming() as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "claimed\n"
        with claiming() as second:
            first.kill()  # without letting go of anything
            assert second.stdout is not None
            assert second.stdout.readline() == "claimed\n"
            second.communicate("\n")
        first.communicate()
