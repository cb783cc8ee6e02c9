"""Synopses as bytes: the same synopsis comes back, and nothing else comes back at all."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError
from sapwood.similarity import Synopsis
from sapwood.similarity.layout import MAGIC, _digest, of_bytes, to_bytes
from sapwood.similarity.synopsis import synopsis_of
from sapwood.xml import read_document
from tests.similarity.kinds import documents

SMALL = Synopsis(("", "a", "b"), (-1, 0, 1), (1, 1, 1))


def test_the_worked_example_has_the_bytes_of_the_module() -> None:
    written = to_bytes(SMALL)
    assert written[:8] == b"SAPWSYN1"
    assert written[24:].hex(" ") == ("94 93 a0 a1 61 a1 62 93 00 01 02 93 ff 00 01 93 01 01 01")


@given(documents)
def test_what_was_written_is_read(data: list[bytes]) -> None:
    synopsis = synopsis_of(map(read_document, data))
    assert of_bytes(to_bytes(synopsis)) == synopsis


@given(st.integers(0, 42), st.integers(1, 255))
def test_no_changed_byte_goes_unnoticed(at: int, change: int) -> None:
    damaged = bytearray(to_bytes(SMALL))
    damaged[at] ^= change
    with pytest.raises(InputError):
        of_bytes(bytes(damaged))


@given(st.integers(0, 42))
def test_no_missing_end_goes_unnoticed(length: int) -> None:
    with pytest.raises(InputError):
        of_bytes(to_bytes(SMALL)[:length])


def test_another_version_is_named() -> None:
    with pytest.raises(InputError, match="version '2'"):
        of_bytes(b"SAPWSYN2" + to_bytes(SMALL)[8:])


@pytest.mark.parametrize(
    "body",
    [
        (["", "a"], [0, 2], [-1, 0], [1, 1]),
        (["", "a"], [0, -1], [-1, 0], [1, 1]),
        (["", "a"], [0, 1], [-1, 5], [1, 1]),
        (["", "a"], "x", [-1, 0], [1, 1]),
    ],
)
def test_a_body_that_is_no_synopsis_is_refused_though_its_checksum_agrees(body: object) -> None:
    encoded = msgspec.msgpack.encode(body)
    with pytest.raises(InputError):
        of_bytes(MAGIC + _digest(encoded) + encoded)
