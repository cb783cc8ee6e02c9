"""Programs run in processes of their own."""

from __future__ import annotations

import pytest

from sapwood.errors import EnvironmentMissingError
from sapwood_lab.benchmarks.apart import run_apart


def test_run_apart_gives_what_the_module_prints() -> None:
    assert run_apart("base64", ("-t",), "nothing").startswith(b"b'Aladdin")


def test_run_apart_says_what_could_not_be_measured_and_why() -> None:
    with pytest.raises(EnvironmentMissingError, match=r"speed could not be measured: .*no_such"):
        run_apart("sapwood.no_such", (), "speed")
