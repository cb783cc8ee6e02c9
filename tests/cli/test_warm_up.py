"""`sapwood warm-up`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from sapwood.cli import warm_up
from sapwood.cli.main import main
from sapwood.cli.warm_up import NAMES, kernel_sets
from sapwood.errors import EnvironmentMissingError
from tests.matching.switched import Switched


def test_all_sets_are_in_the_cache_afterwards() -> None:
    result = CliRunner().invoke(main, ["warm-up"])
    assert result.exit_code == 0
    *sets, last = result.stdout.splitlines()
    assert [line.split(":")[0] for line in sets] == list(NAMES)
    assert last.startswith("kept in ")
    assert all(kernels.is_cached() for kernels in kernel_sets(NAMES))


def test_named_sets_are_told_as_json() -> None:
    result = CliRunner().invoke(main, ["warm-up", "--json", "pipeline", "covering"])
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert [(one["name"], one["kernels"]) for one in told] == [("pipeline", 2), ("covering", 5)]
    assert all(Path(folder).is_dir() for one in told for folder in one["folders"])
    assert CliRunner().invoke(main, ["warm-up", "everything"]).exit_code == 2


@pytest.mark.long
def test_what_must_be_compiled_is_said_and_goes_where_the_variable_says(tmp_path: Path) -> None:
    run = [sys.executable, "-m", "sapwood", "warm-up", "covering"]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    first, second = (
        subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    )
    assert first.stderr == "compiling the kernels for covering ...\n"
    assert first.stdout.startswith("covering: 5 kernels compiled in ")
    assert f"kept in {tmp_path / 'cache'}" in first.stdout
    assert second.stderr == ""
    assert second.stdout.startswith("covering: 5 kernels in the cache already\n")


def test_folder_that_cannot_be_written_ends_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "cache"
    done = subprocess.run(
        [sys.executable, "-m", "sapwood", "warm-up", "covering"],
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert f"NUMBA_CACHE_DIR={folder}: cannot be written; name a folder that" in done.stderr


class Uncached(Switched):
    """Kernels that numba keeps nowhere, or does not compile."""

    stats: object

    def kernels(self) -> tuple[object, ...]:
        return (self,)


def test_kernels_that_are_kept_nowhere_are_told_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Nowhere:
        cache_path = None

    monkeypatch.delenv(warm_up.CACHE_VARIABLE, raising=False)
    [covering] = kernel_sets(("covering",))
    kernels = Uncached(covering)
    kernels.stats = Nowhere()
    with pytest.raises(EnvironmentMissingError, match="set NUMBA_CACHE_DIR to a folder that can"):
        list(warm_up.warm([kernels]))
    kernels.stats = None
    with pytest.raises(EnvironmentMissingError, match="unset NUMBA_DISABLE_JIT"):
        list(warm_up.warm([kernels]))
