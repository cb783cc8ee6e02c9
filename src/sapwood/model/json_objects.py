"""JSON objects as people write them: one a line, and no name twice.

A decoder keeps one of two members with the same name, and which one is chance. A filter would then
see one, and the next reader the other; so such an object is refused.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Final, NoReturn, TypeAlias

import msgspec
from msgspec import Meta

from sapwood.errors import InputError, LimitError
from sapwood.limits import (
    ATTRIBUTES_MAX,
    INTEGER_MAX,
    INTEGER_MIN,
    LINE_BYTES_MAX,
    RECORD_DEPTH_MAX,
    RECORD_VALUES_MAX,
)
from sapwood.model.publication import Value

FlatObject: TypeAlias = dict[
    str, str | Annotated[int, Meta(ge=INTEGER_MIN, le=INTEGER_MAX)] | float | bool
]
"""A record that is its own flat view. JSON has no NaN, and texts without half characters: so
whatever the decoder takes for this is a record."""

_MEMBER: Final = re.compile(rb'"[ \t\r\n]*:')
"""The end of a member's name. Found inside a text as well, hence an upper bound on the members."""

_TEXT: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)

_TOO_DEEP: Final = "the objects or arrays are nested too deeply; flatten them"

_FLAT: Final = msgspec.json.Decoder(FlatObject)

_KINDS: Final = (
    (dict, "an object"),
    (list, "an array"),
    (str, "a text"),
    (bool, "a boolean"),
    (int, "a number"),
    (float, "a number"),
)


def decode_object(line: bytes, what: str) -> dict[str, Any]:
    """The members of the object on a line, which is `what`; see `check_members`.

    Raises `InputError` with the fault and the remedy.
    """
    if len(line) > LINE_BYTES_MAX:
        raise LimitError("LINE_BYTES_MAX", LINE_BYTES_MAX, None, "the length of the line in bytes")
    try:
        members = msgspec.json.decode(line)
    except RecursionError:
        raise InputError(_TOO_DEEP) from None
    except msgspec.ValidationError:
        raise InputError("a number is larger than 64 bits can hold; send it as text") from None
    except ValueError:  # Malformed JSON, or bytes that are no UTF-8.
        _refuse_json(line)
    if not isinstance(members, dict):
        raise InputError(f"a line is one JSON object, not {kind_of(members)}; one {what} a line")
    return members


def check_count(text: bytes) -> None:
    """Raise `LimitError` for JSON with far more values than a record may have, without reading it.

    A value with up to twice as many passes: they are counted exactly when it is encoded. Looks into
    texts only where the marks in them matter.
    """
    if len(text) <= RECORD_VALUES_MAX or _marks(text) <= 2 * RECORD_VALUES_MAX:
        return
    if _marks(_TEXT.sub(b"", text)) > 2 * RECORD_VALUES_MAX:
        subject = "the number of values in the record"
        raise LimitError("RECORD_VALUES_MAX", RECORD_VALUES_MAX, None, subject)


def _marks(text: bytes) -> int:
    """The number of characters that may precede a value or a name: `,`, `[`, `{` and `:`."""
    return sum(map(text.count, (b",", b"[", b"{", b":")))


def check_members(line: bytes, members: dict[str, Any]) -> None:
    """Raise `InputError` if a name stands twice in one object of a decoded line, or for its depth.

    Nothing is deeper than `limits.RECORD_DEPTH_MAX`: how deep the decoder itself goes depends on
    the version of Python.
    """
    if len(_MEMBER.findall(line)) != _count_members(members):
        _refuse_repeated(line)


def decode_flat(line: bytes) -> dict[str, Value] | None:
    """The flat record that a line is; `None` for all that needs a closer look, or is none."""
    if len(line) > LINE_BYTES_MAX:
        return None
    try:
        record: dict[str, Value] = _FLAT.decode(line)
    except (ValueError, RecursionError):
        return None
    return record if len(record) <= ATTRIBUTES_MAX and has_members(line, len(record)) else None


def has_members(line: bytes, members: int) -> bool:
    """True if a line of JSON surely has `members` members, in all its objects together.

    `False` leaves it open, and a slower check decides: a text may hold what ends a name as well.
    """
    if line.count(b":") == members:
        return True
    # With space in between a name ends in another way. No text has the other kinds of space.
    return (
        line.count(b'":') == members
        and b" :" not in line
        and not (b"\t" in line or b"\r" in line or b"\n" in line)
    )


def kind_of(value: object) -> str:
    """The kind of a decoded value, in words."""
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "null")


def _refuse_json(line: bytes) -> NoReturn:
    """Raise the reason why the decoder refused `line`, as precise as the standard library is."""
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"byte {error.start + 1} of the line is not UTF-8; save the file as UTF-8"
        ) from None
    if not text.strip():
        raise InputError("the line is blank")
    try:
        # Numbers stay texts, so that a number of any length can be passed over.
        json.loads(text, parse_constant=_refuse_constant, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        raise InputError(
            f"not JSON: {error.msg.lower()}, at column {error.colno}; a line is one JSON object"
        ) from None
    except RecursionError:
        raise InputError(_TOO_DEEP) from None
    # The one thing that the standard library reads and the decoder refuses.
    raise InputError("half of a surrogate pair is no character; correct the \\u escape")


def _refuse_constant(name: str) -> NoReturn:
    raise InputError(f"{name} is not JSON, and no value of a record; leave the attribute out")


def _count_members(value: dict[str, Any] | list[Any], depth: int = 0) -> int:
    """The members of all objects in a decoded JSON value; `LimitError` if it is nested too deep.

    How deep the decoder itself goes depends on the version of Python.
    """
    if depth > RECORD_DEPTH_MAX:
        raise LimitError(
            "RECORD_DEPTH_MAX", RECORD_DEPTH_MAX, None, "the nesting of objects and arrays"
        )
    count, parts = (len(value), value.values()) if isinstance(value, dict) else (0, value)
    for part in parts:
        if isinstance(part, dict | list):
            count += _count_members(part, depth + 1)
    return count


def _refuse_repeated(line: bytes) -> None:
    """Raise if a name stands twice in one object of `line`, which is valid JSON otherwise.

    Much slower than the decoder, and therefore called only for lines that may hold such a name.
    """
    json.loads(line, object_pairs_hook=_refuse_repeated_name)


def _refuse_repeated_name(pairs: list[tuple[str, Any]]) -> None:
    names = set()
    for name, _ in pairs:
        if name in names:
            raise InputError(f"the name {name!r} stands twice in one object; remove one of them")
        names.add(name)
