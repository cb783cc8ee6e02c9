"""Libraries of kernels: compiled once, kept, and loaded."""

from __future__ import annotations

import json
import operator
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from numba import types
from numba.core.registry import cpu_target

from sapwood.matching.compiling.libraries import remembering

KERNELS = """
from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar.kernels.views import borrowing, compiled, new_i64
from sapwood.matching.compiling.libraries import library

STEP: Final = 1


@compiled
def _next(value: int) -> int:
    return value + STEP


@compiled
def counted(size: int) -> npt.NDArray[np.int64]:
    found = new_i64(size)
    for at in range(size):
        found[at] = _next(at)
    return found


@borrowing
def total(values: npt.NDArray[np.int64]) -> int:
    found = 0
    for at in range(len(values)):
        if values[at] < 0:
            raise ValueError("a value below 0")
        found += _next(values[at])
    return found


LIBRARY: Final = library("some", counted, total)
"""

RUN = """
import json, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
import some
library = some.LIBRARY
kept = library.is_kept()
values = some.counted(3)
try:
    some.total(-values)
    error = None
except ValueError as raised:
    error = str(raised)
frozen = values.copy()
frozen.flags.writeable = False
try:
    some.total(frozen)
except TypeError as raised:
    refused = True
else:
    refused = False
print(json.dumps([kept, values.tolist(), some.total(values), error, refused,
                  library.functions, str(library.file)]))
"""


def start(folder: Path, place: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", RUN, str(folder)],
        env={**os.environ, "SAPWOOD_CACHE_DIR": str(place)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def told(run: subprocess.Popen[str]) -> list[object]:
    output, errors = run.communicate()
    assert run.returncode == 0, errors
    found: list[object] = json.loads(output)
    return found


@pytest.mark.long
def test_processes_that_start_at_once_compile_once_and_all_answer(tmp_path: Path) -> None:
    (tmp_path / "some.py").write_text(KERNELS)
    place = tmp_path / "place"
    both = [told(run) for run in [start(tmp_path, place), start(tmp_path, place)]]
    [file] = place.glob("*.nbi")
    assert sorted(one[5] for one in both) == [0, both[0][5] or both[1][5]]  # type: ignore[type-var]
    for one in both:
        assert one[1:5] == [[1, 2, 3], 9, "a value below 0", True]
        assert one[6] == str(file)


@pytest.mark.long
def test_kept_code_is_that_of_these_sources_and_whole(tmp_path: Path) -> None:
    (tmp_path / "some.py").write_text(KERNELS)
    first = told(start(tmp_path, tmp_path / "place"))
    assert first[0] is False
    [file] = (tmp_path / "place").glob("*.nbc")
    data = file.read_bytes()
    file.write_bytes(data[:-1])
    assert told(start(tmp_path, tmp_path / "place"))[5] == first[5]
    assert file.read_bytes() != data[:-1]
    (tmp_path / "some.py").write_text(KERNELS.replace("STEP: Final = 1", "STEP: Final = 2"))
    assert told(start(tmp_path, tmp_path / "place"))[:3] == [False, [2, 3, 4], 15]
    (tmp_path / "some.py").write_text(KERNELS)
    again = told(start(tmp_path, tmp_path / "place"))
    assert (again[0], again[1], again[5]) == (True, [1, 2, 3], 0)


def test_numba_finds_the_type_of_an_operation_once_and_is_afterwards_as_it_was() -> None:
    typing = cpu_target.typing_context
    typing.refresh()
    addition = typing.resolve_value_type(operator.add)
    asked = []

    class Addition(types.Function):  # type: ignore[misc]
        def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
            asked.append(args)
            return super().get_call_type(context, args, kws)

    counted = Addition(addition.templates)
    integers, floats = (types.int64, types.int64), (types.float64, types.int64)
    before = typing.resolve_function_type
    with remembering(typing):
        found = [typing.resolve_function_type(counted, args, {}) for args in (integers, floats) * 3]
    assert [one.return_type for one in found[:2]] == [types.int64, types.float64]
    assert found == found[:2] * 3
    assert asked == [integers, floats]
    assert typing.resolve_function_type == before
