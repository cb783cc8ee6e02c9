import numpy as np

from sapwood.matching.columnar.kernels.fetching import fetch_objects

OBJECTS = np.array([*(f"text {number}" for number in range(100)), None], np.object_)


def is_missing(places: list[int]) -> bool:
    wanted = np.array(places, np.int64)
    return fetch_objects(OBJECTS.ctypes.data, len(OBJECTS), wanted, id(None))


def test_objects_are_asked_for_and_nothing_changes() -> None:
    before = OBJECTS.tolist()
    assert not is_missing([])
    assert not is_missing([0, 99, 7, 7])
    assert OBJECTS.tolist() == before


def test_nothing_is_told_of_and_what_is_not_there() -> None:
    assert is_missing([0, 100, 1])
    assert is_missing([0, 101])
    assert is_missing([-1])
    assert is_missing([1 << 62, -(1 << 62)])
