"""The file that declares the kinds of publications.

A TOML file, as in this example with every kind of entry::

[[records]]
name = "flight"

[records.attributes]
carrier = "text"
dep_delay = "number?"               # which a record may lack
cancelled = "boolean"
state = ["planned", "up", "down"]   # one of these
"origin.city" = "text"              # a member of an object
detail = "any"                      # anything, and below it, too

[[documents]]
name = "news"
dtd = "nitf.dtd"                    # beside this file
root = "nitf"                       # needed where several elements may be the first

A type is text, number, boolean or any; a list holds the only values there are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from msgspec import Struct

from sapwood.errors import InputError
from sapwood.files.bounded_toml import read_bounded_toml
from sapwood.language.declared import Declared
from sapwood.limits import SCHEMA_BYTES_MAX, SCHEMA_KINDS_MAX
from sapwood.model.constraint import ABSENT, ANYTHING, Constraint, one_of
from sapwood.model.patterns.advertisements import Advertisement, advertisement_of
from sapwood.model.schema import ANY_BOOLEAN, ANY_NUMBER, ANY_TEXT, Schema
from sapwood.xml.dtd import read_dtd

_KINDS: Final = (
    ("text", ANY_TEXT),
    ("number", ANY_NUMBER),
    ("boolean", ANY_BOOLEAN),
    ("any", ANYTHING),
)


class _Records(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    attributes: dict[str, str | list[str | int | float | bool]]


class _Documents(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    dtd: str
    root: str | None = None


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    records: tuple[_Records, ...] = ()
    documents: tuple[_Documents, ...] = ()


def read_declared(path: Path) -> Declared:
    """The declared kinds of a file. Raises `InputError` that names the entry and the remedy."""
    file = read_bounded_toml(path, _File, SCHEMA_BYTES_MAX, "declared schemas")
    kinds = len(file.records) + len(file.documents)
    if not 1 <= kinds <= SCHEMA_KINDS_MAX:
        raise InputError(
            f"{path}: declares {kinds} kinds; 1 to {SCHEMA_KINDS_MAX} of [[records]] and "
            "[[documents]] (SCHEMA_KINDS_MAX)"
        )
    names = [*(one.name for one in file.records), *(one.name for one in file.documents)]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{path}: {name!r} is declared twice")
    return Declared(
        tuple(_schema(path, one) for one in file.records),
        tuple((one.name, _paths(path, one)) for one in file.documents),
    )


def _schema(path: Path, entry: _Records) -> Schema:
    attributes: dict[str, Constraint] = {}
    for name, said in entry.attributes.items():
        try:
            attributes[name] = _values(said)
        except InputError as error:
            raise InputError(f"{path}: records {entry.name!r}, {name!r}: {error}") from None
    open_names = frozenset(name for name, said in entry.attributes.items() if said == "any")
    return Schema(entry.name, attributes, open_names)


def _values(said: str | list[str | int | float | bool]) -> Constraint:
    """The values that an attribute may have."""
    if isinstance(said, list):
        if not said:
            raise InputError("there is no value that it may have; name some, or a type")
        return one_of(said)
    for word, constraint in _KINDS:
        if said == word:
            return constraint
        if said == f"{word}?":
            union = constraint.union(ABSENT)
            assert union is not None, "types are no patterns"
            return union
    known = ", ".join(word for word, _ in _KINDS)
    raise InputError(
        f"{said!r} is no type; a type is one of {known}, with ? behind it where a record may lack "
        "the attribute, or a list of values"
    )


def _paths(path: Path, entry: _Documents) -> Advertisement:
    """The paths of documents under a DTD, as an advertisement."""
    file = path.parent / entry.dtd
    try:
        return advertisement_of(read_dtd(file.read_bytes(), entry.root).paths)
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror or error}") from error
    except InputError as error:
        raise InputError(f"{file}: {error}") from error
