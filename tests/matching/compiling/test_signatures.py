"""Annotations as numba's types."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from numba import typeof, types

from sapwood.matching.arrays import ReadOnly, TwoDimensional
from sapwood.matching.compiling.signatures import argument_types, type_of


class Pair(NamedTuple):
    """A tuple in a tuple."""

    values: npt.NDArray[np.int32]
    rest: tuple[int, bool]


def mapped(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (int, 1),
        (bool, True),
        (float, 0.5),
        (bytes, b"x"),
        (np.uint64, np.uint64(7)),
        (npt.NDArray[np.uint8], np.zeros(2, np.uint8)),
        (npt.NDArray[np.bool_], np.zeros(2, np.bool_)),
        (ReadOnly[npt.NDArray[np.uint64]], mapped(np.zeros(2, np.uint64))),
        (TwoDimensional[npt.NDArray[np.float64]], np.zeros((2, 2))),
        (Pair, Pair(np.zeros(1, np.int32), (1, False))),
    ],
)
def test_annotation_stands_for_the_type_of_its_values(hint: Any, value: object) -> None:
    assert type_of(hint) == typeof(value)


def test_what_is_returned_is_no_argument() -> None:
    def kernel(pair: Pair, at: int) -> float:
        return float(pair.values[at])

    assert argument_types(kernel) == (type_of(Pair), types.int64)


def test_other_annotations_are_refused() -> None:
    with pytest.raises(AssertionError, match="kernels take no"):
        type_of(str)
