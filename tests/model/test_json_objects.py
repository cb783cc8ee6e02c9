"""JSON that is refused before it is read."""

from __future__ import annotations

import pytest

from sapwood.errors import LimitError
from sapwood.limits import RECORD_VALUES_MAX
from sapwood.model.json_objects import check_count


@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        (b'{"a": [' + b"0," * 2 * RECORD_VALUES_MAX + b"0]}", True),
        (b'{"a": ' + b"[" * 2 * RECORD_VALUES_MAX + b"]" * 2 * RECORD_VALUES_MAX + b"}", True),
        (b"{" + b'"":0,' * RECORD_VALUES_MAX + b'"":0}', True),
        (b'{"a": [' + b"0," * RECORD_VALUES_MAX + b"0]}", False),
        (b'{"a": "' + b'[:,{\\"' * RECORD_VALUES_MAX + b'"}', False),
        (b'{"a": "' + b"," * 3 * RECORD_VALUES_MAX + b'", "b": [1]}', False),
        (b'{"a": "' + b"," * 3 * RECORD_VALUES_MAX, True),  # which never ends
        (b"\xff" * 3 * RECORD_VALUES_MAX, False),  # others say what is wrong with it
    ],
)
def test_far_more_values_than_a_record_has_are_refused_unread(
    text: bytes, is_refused: bool
) -> None:
    if is_refused:
        with pytest.raises(LimitError, match="RECORD_VALUES_MAX"):
            check_count(text)
    else:
        check_count(text)
