"""`sapwood warm-up`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sapwood.cli import warm_up
from sapwood.cli.main import main
from sapwood.cli.warm_up import NAMES, kernel_sets
from sapwood.errors import EnvironmentMissingError
from sapwood.matching.compiling import places
from tests.matching.switched import Switched


def test_all_sets_are_kept_afterwards() -> None:
    result = CliRunner().invoke(main, ["warm-up"])
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == list(NAMES)
    assert all(kernels.is_cached() for kernels in kernel_sets(NAMES))


def test_named_sets_are_told_as_json() -> None:
    result = CliRunner().invoke(main, ["warm-up", "--json", "pipeline", "covering"])
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert [(one["name"], one["kernels"]) for one in told] == [("pipeline", 2), ("covering", 8)]
    assert all(Path(one["file"]).is_file() for one in told)
    assert CliRunner().invoke(main, ["warm-up", "everything"]).exit_code == 2


def elsewhere(folder: Path) -> str:
    """A program like the command, whose package comes without compiled code."""
    return f"""
from pathlib import Path
from sapwood.matching.compiling import places
places._package_place = lambda: Path({str(folder / "package")!r})
from sapwood.cli.main import main
main()
"""


@pytest.mark.long
def test_what_must_be_compiled_is_said_and_goes_where_the_variable_says(tmp_path: Path) -> None:
    run = [sys.executable, "-c", elsewhere(tmp_path), "warm-up", "pipeline"]
    environment = {**os.environ, "SAPWOOD_CACHE_DIR": str(tmp_path / "cache")}
    first, second = (
        subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    )
    [file] = (tmp_path / "cache").glob("*.nbi")
    assert first.stderr == "compiling the kernels for pipeline ...\n"
    assert re.fullmatch(
        rf"pipeline: 2 kernels, \d+ functions compiled in \d+\.\d s of processor time, in {file}\n",
        first.stdout,
    )
    assert second.stderr == ""
    assert second.stdout == f"pipeline: 2 kernels, kept already, in {file}\n"


def test_folder_that_cannot_be_written_ends_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "cache"
    done = subprocess.run(
        [sys.executable, "-c", elsewhere(tmp_path), "warm-up", "covering"],
        env={**os.environ, "SAPWOOD_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert f"SAPWOOD_CACHE_DIR={folder}: cannot be written; name a folder that" in done.stderr


class Unkept(Switched):
    """Kernels that are kept nowhere, or that numba does not compile."""

    code: object

    def library(self) -> Any:
        return self.code

    def is_kept(self) -> bool:
        return False


def test_kernels_that_are_kept_nowhere_are_told_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable in places.VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(places, "writable_place", lambda: None)
    [covering] = kernel_sets(("covering",))
    kernels = Unkept(covering)
    kernels.code = kernels
    with pytest.raises(EnvironmentMissingError, match="set SAPWOOD_CACHE_DIR to a folder that can"):
        list(warm_up.warm([kernels]))
    kernels.code = None
    with pytest.raises(EnvironmentMissingError, match="unset NUMBA_DISABLE_JIT"):
        list(warm_up.warm([kernels]))
