"""Lines that are in order at first sight are those that a closer look takes as they are."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sapwood.errors import InputError
from sapwood.files import lines as one_by_one
from sapwood.files.flat_lines import decode_flat_line, decode_flat_lines, decode_flat_records
from sapwood.files.lines import PublicationLine, decode_record
from sapwood.limits import ATTRIBUTES_MAX, LINE_BYTES_MAX
from tests.strategies import nested_records, records

PLAIN = b'{"id":"p","attributes":{"a":1,"b":"x"}}'
ODD = (
    b"",
    b"  ",
    b"{",
    b"[1]",
    b'{"id":"p"}',
    b'{"id":"","attributes":{}}',
    b'{"id":1,"attributes":{}}',
    b'{"id":"p","attributes":null}',
    b'{"id":"p","attributes":{"a":null}}',
    b'{"id":"p","attributes":{"a":[1]}}',
    b'{"id":"p","attributes":{"a":{"b":1}}}',
    b'{"id":"p","attributes":{"a":9223372036854775808}}',
    b'{"id":"p","attributes":{"a":1e999}}',
    b'{"id":"p","attributes":{"a":"\xff"}}',
    b'{"id":"p","attributes":{"a":"\\ud800"}}',
    b'{"id":"p","attributes":{"a":1,"a":2}}',
    b'{"id":"p","attributes":{"a":1,"a" :2}}',
    b'{"id":"p","attributes":{"a":1,"a"\t:2}}',
    b'{"id":"p","attributes":{"a":"\\":","a" :2}}',
    b'{"id":"p","id":"p","attributes":{"a":1}}',
    b'{"id":"p","attributes":{"a":1},"home":null}',
    b'{"id":"p","attributes":{"a":1},"home":"r"}',
    b'{"id":"p","attributes":{"a":1},"home":""}',
    b'{"id":"p","attributes":{"a":1},"hom":"r"}',
    b'{"id":"p","attributes":{"a":"https://x/?a=\\":"}}',
    b'{"id" : "p", "attributes" : {"a" : "b : c"}}',
    b'{"id":"p","attributes":{"a":1},"document":null}',
)


def closely(line: bytes) -> PublicationLine | None:
    """The publication of a line by a closer look, or `None` if there is none."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(one_by_one, "decode_flat_line", lambda _: None)
        try:
            return one_by_one.decode_publication(line)
        except InputError:
            return None


@cache
def written_lines() -> st.SearchStrategy[bytes]:
    def line(record: dict[str, Any], *, is_spaced: bool) -> bytes:
        separators = (" , ", " : ") if is_spaced else (",", ":")
        members = {"id": "p", "attributes": record}
        return json.dumps(members, separators=separators, ensure_ascii=False).encode()

    some = records() | nested_records()
    return st.sampled_from((*ODD, PLAIN)) | st.builds(line, some, is_spaced=st.booleans())


@given(line=written_lines())
def test_what_passes_at_first_sight_passes_a_closer_look(line: bytes) -> None:
    flat, judged = decode_flat_line(line), closely(line)
    if flat is not None:
        assert judged is not None
        publication = judged.publication
        assert (publication.id, judged.home) == (flat.id, flat.home)
        assert repr(publication.record) == repr(flat.attributes)
        assert not publication.has_arrays
        assert one_by_one.decode_publication(line) == judged


@given(record=records())
def test_flat_records_pass_at_first_sight(record: dict[str, Any]) -> None:
    if all(value == value and abs(value) != float("inf") for value in record.values()
           if isinstance(value, float)):  # fmt: skip
        line = json.dumps({"id": "p", "attributes": record}).encode()
        assert decode_flat_line(line) is not None or b" :" in line


@given(given=st.lists(written_lines(), max_size=30))
@example(given=[PLAIN, *ODD])
@example(given=[PLAIN] * 20)
@example(given=[PLAIN, b'{"id":"p","attributes":{"a":1,"a" :2}}', PLAIN])
@example(given=[PLAIN, b'{"id":"p","attributes":{"a":1,"a":2}}', PLAIN])
def test_many_lines_are_told_as_one_by_one(given: list[bytes]) -> None:
    alone = [decode_flat_line(line) for line in given]
    assert decode_flat_lines(given) == alone


RECORD = b'{"key":"p","a":1,"b":"x"}'


@given(
    given=st.lists(
        st.sampled_from(
            (
                *(RECORD, b'{"key":7,"a":true}', b'{"a":1,"key":"q","b":2.5}', b'{"key":"r"}'),
                *(b'{"key":"","a":1}', b'{"key":true,"a":1}', b'{"key":null}', b'{"a":1}', b"[]"),
                *(b'{"key":"p","a":[1]}', b'{"key":"p","a":{"b":1}}', b'{"key":2.5}', b"{", b""),
                *(b'{"key":"p","key":"q"}', b'{"key" :"p","a":1}', b'{"key":"p","a":1,"a":2}'),
                *(b'{"key":-9223372036854775808}', b'{"key":99999999999999999999,"a":1}'),
            )
        ),
        max_size=30,
    )
)
@example(given=[RECORD] * 20)
@example(given=[RECORD, b'{"key":"p","a":1,"a":2}', RECORD])
def test_a_record_by_itself_is_told_as_a_closer_look_tells_it(given: list[bytes]) -> None:
    told = decode_flat_records(given, "key")
    assert len(told) == len(given)
    for line, one in zip(given, told, strict=True):
        if one is not None:
            publication = decode_record(line, "key").publication
            assert (one.id, one.attributes) == (publication.id, publication.record)
    plain = [RECORD, b'{"key":7,"a":true}', b'{"a":1,"key":"q","b":2.5}', b'{"key":"r"}']
    assert all(one is not None for line, one in zip(given, told, strict=True) if line in plain)


def test_bounds_are_for_the_closer_look() -> None:
    most = {f"a{number}": 1 for number in range(ATTRIBUTES_MAX)}
    fits = json.dumps({"id": "p", "attributes": most}).encode()
    wider = json.dumps({"id": "p", "attributes": {**most, "b": 1}}).encode()
    longer = b'{"id":"p","attributes":{"a":"%s"}}' % (b"x" * LINE_BYTES_MAX)
    told = decode_flat_lines([fits, wider, longer])
    assert [one is not None for one in told] == [True, False, False]
    assert closely(wider) is None
    assert closely(longer) is None
