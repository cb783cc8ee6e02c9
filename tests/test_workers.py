"""Workers (`tests.workers`): all tests run once and are reported, whatever happens to a worker."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent

CONFTEST: Final = f"""
    import sys
    sys.path.insert(0, {str(ROOT)!r})
    from tests.workers import Pool

    def pytest_runtestloop(session):
        units = dict()
        for number, item in enumerate(session.items):
            units.setdefault(item.path, []).append(number)
        Pool(session, units.values()).run(2)
        return True
"""

LOGGING: Final = """
    import os
    import pytest

    @pytest.fixture(scope="module")
    def shared(tmp_path_factory):
        yield os.getpid()
        print("ended", __name__)

    @pytest.mark.parametrize("number", range(3))
    def test_shares(shared, number):
        assert shared == os.getpid() != PARENT
        print("line", number)
"""


def run(folder: Path, files: Mapping[str, str], *options: str) -> tuple[int, str]:
    """Run the tests of files with two workers; returns the status and the output."""
    for name, text in files.items():
        (folder / name).write_text(dedent(text))
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_each_test_runs_once_and_is_reported_as_without_workers(tmp_path: Path) -> None:
    files = {
        "conftest.py": f"{CONFTEST}\n    import builtins, os\n    builtins.PARENT = os.getpid()\n",
        "test_first.py": LOGGING,
        "test_second.py": LOGGING,
        "test_third.py": """
            import os, signal, warnings

            def test_fails():
                print("printed before")
                assert [1, 2] == [1, 3]

            def test_dies():
                os.kill(os.getpid(), signal.SIGKILL)

            def test_comes_after():
                warnings.warn("of this", UserWarning)

            def test_has_files_of_its_own(tmp_path):
                assert tmp_path.parent.name.startswith("worker-")
        """,
    }
    status, said = run(tmp_path, files, "-rA")
    assert status == 1
    results = sorted(re.findall(r"^(PASSED|FAILED) (\S+)", said, re.MULTILINE))
    shared = [f"test_{file}.py::test_shares[{number}]" for file in ("first", "second")
              for number in range(3)]  # fmt: skip
    assert results == [
        ("FAILED", "test_third.py::test_dies"),
        ("FAILED", "test_third.py::test_fails"),
        *(("PASSED", name) for name in shared),
        ("PASSED", "test_third.py::test_comes_after"),
        ("PASSED", "test_third.py::test_has_files_of_its_own"),
    ]
    assert "the worker ended with status -9 while it ran this test" in said
    assert "2 failed, 8 passed, 1 warning" in said
    assert "UserWarning: of this" in said
    assert "printed before" in said
    assert "At index 1 diff: 2 != 3" in said
    # What a file shares ends with its last test, and its output is that test's.
    for file in ("first", "second"):
        assert said.count(f"ended test_{file}") == 1


def test_after_a_failure_no_more_tests_begin_where_that_is_asked_for(tmp_path: Path) -> None:
    failing = "def test_fails():\n    assert False\n"
    more = "".join(f"def test_{number}():\n    pass\n" for number in range(200))
    files = {"conftest.py": CONFTEST, **{f"test_{name}.py": failing + more for name in "abc"}}
    status, said = run(tmp_path, files, "-x")
    assert status == 1
    assert "1 failed" in said
    assert "stopping after 1 failures" in said
    assert "test_c.py" not in said


def test_what_goes_wrong_in_a_worker_beside_its_tests_is_an_error(tmp_path: Path) -> None:
    unconfigure = """
    from tests.workers import IS_WORKER

    def pytest_unconfigure(config):
        assert not config.stash.get(IS_WORKER, False), "left behind"
    """
    files = {"conftest.py": CONFTEST + unconfigure, "test_a.py": "def test_a():\n    pass\n"}
    status, said = run(tmp_path, files)
    assert status == 3
    assert "a worker beside its tests" in said
    assert "left behind" in said
