"""Weighing what something holds."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import numpy as np

from sapwood.matching.sizes import held_bytes, memory_of


def test_every_object_counts_once() -> None:
    text = "x" * 1000
    one, two = [text], [text, text]
    assert held_bytes(one) == sys.getsizeof(one) + sys.getsizeof(text)
    assert held_bytes(one, two) == held_bytes(one) + sys.getsizeof(two)
    one.append(one)  # type: ignore[arg-type]
    assert held_bytes(one) == sys.getsizeof(one) + sys.getsizeof(text)


def test_array_counts_with_all_of_what_it_is_a_view_of() -> None:
    array = np.zeros(1000)
    assert held_bytes(array) > 8000
    assert held_bytes(array[:2]) == held_bytes(array) == held_bytes(array, array[3:])
    buffer = bytes(5000)
    assert held_bytes(np.frombuffer(buffer, np.uint8)) > 5000


def test_types_and_functions_belong_to_the_program() -> None:
    assert held_bytes(np, int, held_bytes, len) == 0


class Scales:
    def memory(self) -> Mapping[str, int]:
        return {"all": 7}


def test_whoever_knows_says_it_and_others_are_weighed() -> None:
    assert memory_of(Scales()) == {"all": 7}
    assert memory_of(["x"]) == {"objects": held_bytes(["x"])}
