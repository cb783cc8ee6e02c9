"""Names and ids, and the form that the wire allows."""

from __future__ import annotations

from sapwood.errors import InputError, LimitError
from sapwood.limits import ID_CHARS_MAX, NAME_CHARS_MAX


def check_name(kind: str, name: str) -> str:
    """`name`, if it is a valid name of a client or broker (`kind`).

    Names stand in keys, log lines and lines that programs read, so they are printable and have no
    spaces. Raises `InputError` or `LimitError`.
    """
    if (
        not isinstance(name, str)
        or not name
        or not name.isprintable()
        or any(character.isspace() for character in name)
    ):
        raise InputError(
            f"{name!r} is no name for a {kind}: use letters, digits and signs, without spaces"
        )
    if len(name) > NAME_CHARS_MAX:
        raise LimitError(
            "NAME_CHARS_MAX", NAME_CHARS_MAX, len(name), f"the length of the {kind}'s name"
        )
    return name


def check_id(kind: str, id: str) -> str:
    """`id`, if a publication or subscription (`kind`) may have it on a connection.

    Raises `InputError` or `LimitError`.
    """
    if not isinstance(id, str) or not id:
        raise InputError(f"a {kind} needs a non-empty text as its id")
    if len(id) > ID_CHARS_MAX:
        raise LimitError("ID_CHARS_MAX", ID_CHARS_MAX, len(id), f"the length of the {kind} id")
    try:
        id.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"the {kind} id {id!r} holds what is no Unicode character") from error
    return id
