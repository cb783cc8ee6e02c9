"""Publications: an identity, and a record of typed attributes or an XML document, or both.

A record may be nested, as JSON is. Filters see its *flat view*: nested objects become dotted
names, `null` is the same as absent, and an array gives its attribute several values, one for each
element.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import FrozenInstanceError, dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from sapwood.errors import InvalidValueError, LimitError
from sapwood.limits import (
    ATTRIBUTE_NAME_CHARS_MAX,
    ATTRIBUTES_MAX,
    INTEGER_MAX,
    INTEGER_MIN,
    RECORD_DEPTH_MAX,
)
from sapwood.model.envelope import Envelope

if TYPE_CHECKING:
    from sapwood.xml import Document

Value: TypeAlias = bool | int | float | str
"""A value of an attribute. `bool` is a type of its own here, never a number."""

Values: TypeAlias = tuple[Value, ...]
"""The values of an attribute that has several: the elements of an array."""

_Content: TypeAlias = tuple[
    str, Mapping[str, Any] | None, bytes | None, bytes | None, bool, Envelope | None
]
"""All that is published, in the order of the constructor."""

Record: TypeAlias = Mapping[str, Value]
"""A flat view: attribute name to value; absent attributes are simply not there.

Where an attribute has several values the flat view is a `ManyValued`."""


class ManyValued(dict[str, Any]):
    """A flat view in which one attribute at least has several values: a tuple of these.

    They are different, two or more, in the order of the array. What reads values of a record one by
    one is handed its *rows* instead (`matching.rows`), each with one value of every attribute.
    """

    __slots__ = ()


_PLAIN_KINDS: Final = frozenset({bool, int, float, str})
_NUMPY_KINDS: Final = frozenset("biufU")
"""Boolean, integer with and without sign, floating-point number, text."""

_NO_CHARACTER: Final = "holds half of a surrogate pair, which is no character; correct the text"

_set: Final = object.__setattr__
"""Sets attributes of immutable values, as frozen dataclasses set theirs."""


@dataclass(frozen=True, slots=True)
class FlatView:
    """A record as filters see it: typed attributes by name.

    `has_arrays` is true if the record holds arrays, of which filters may see less than is there.
    """

    record: Record
    has_arrays: bool


class Publication:
    """A publication: a record, a document, or both, and a payload beside them.

    `attributes` is the record as it was given: nested objects and arrays included, so that a
    subscriber receives what was published. `record` is its flat view, `has_arrays` is true if there
    are arrays in it. `document` is XML as it came; `read_document` looks into it. `None` stands for
    a missing part: no record filter accepts a publication without a record (not even
    `price is null`), no XPath one without a document.

    The `payload` is bytes for subscribers alone: no filter sees them, no router reads them. The
    `envelope` states how long the publication is worth being delivered. Of a publication that
    `is_blind` the record and the document are only for the router where it enters; that router
    forwards `beyond`, the payload.

    A publication is a value; equal are those with the same content under the same id. It caches
    what was computed of it: the document once it was read, and its encoded bytes.

    Raises `InvalidValueError` for a value that no record may hold and `LimitError` for a record
    that is too deep or too wide.
    """

    __slots__ = (
        "_contents",
        "attributes",
        "born",
        "document",
        "encoded",
        "envelope",
        "has_arrays",
        "id",
        "is_blind",
        "payload",
        "record",
        "written_at",
    )

    id: str
    attributes: Mapping[str, Any] | None
    document: bytes | None
    payload: bytes | None
    is_blind: bool
    #: the parts that travel beside the content; `None` where there are none
    envelope: Envelope | None
    record: Record
    has_arrays: bool
    #: its encoded form; `None` until it is decoded or encoded for the first time. Depends on the
    #: fields that are compared, which never change
    encoded: bytes | None
    #: the earliest time, by this process' clock in nanoseconds, at which the process received the
    #: publication, or an earlier one made it; `None` if unknown; no part of the published content
    born: int | None
    #: the time at which the store that it was read from accepted it, in seconds since 1970; set
    #: only for publications with a lifetime, and no part of the published content
    written_at: float | None
    #: the document once it was read; depends on its bytes, which never change
    _contents: Document | None

    def __init__(
        self,
        id: str,
        attributes: Mapping[str, Any] | None = None,
        document: bytes | None = None,
        payload: bytes | None = None,
        *,
        is_blind: bool = False,
        envelope: Envelope | None = None,
    ) -> None:
        if not isinstance(id, str) or not id:
            raise InvalidValueError("id", "a publication needs a non-empty text as its id")
        if attributes is None and document is None and (payload is None or is_blind):
            raise InvalidValueError("attributes", "a publication has a record or a document")
        for name, given in (("document", document), ("payload", payload)):
            if given is not None and not isinstance(given, bytes):
                kind = type(given).__name__
                raise InvalidValueError(name, f"a {name} is bytes, not {kind}; encode it")
        if is_blind and payload is None:
            reason = "of a blind publication subscribers get the payload alone; give it one"
            raise InvalidValueError("payload", reason)
        view = _NO_RECORD if attributes is None else flatten(attributes)
        _set(self, "id", id)
        _set(self, "attributes", attributes)
        _set(self, "document", document)
        _set(self, "payload", payload)
        _set(self, "is_blind", is_blind)
        _set(self, "envelope", envelope)
        _set(self, "written_at", None)
        _set(self, "record", view.record)
        _set(self, "has_arrays", view.has_arrays)
        _set(self, "encoded", None)
        _set(self, "born", None)
        _set(self, "_contents", None)

    @classmethod
    def of_flat(cls, id: str, record: dict[str, Value]) -> Publication:
        """A publication whose record is its own flat view, which the caller has checked."""
        made = object.__new__(cls)
        _set(made, "id", id)
        _set(made, "attributes", record)
        _set(made, "document", None)
        _set(made, "payload", None)
        _set(made, "is_blind", False)  # noqa: FBT003 - the value, which has a name
        _set(made, "envelope", None)
        _set(made, "written_at", None)
        _set(made, "record", record)
        _set(made, "has_arrays", False)  # noqa: FBT003 - the value, which has a name
        _set(made, "encoded", None)
        _set(made, "born", None)
        _set(made, "_contents", None)
        return made

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Publication):
            return NotImplemented
        return self._content() == other._content()

    def __hash__(self) -> int:
        return hash((self.id, self.document))

    def __repr__(self) -> str:
        return f"Publication(id={self.id!r}, attributes={self.attributes!r})"

    def __reduce__(self) -> tuple[Callable[..., Publication], tuple[object, ...]]:
        """Copies leave cached fields behind."""
        return _made_again, (self._content(),)

    def _content(self) -> _Content:
        content = self.id, self.attributes, self.document, self.payload
        return *content, self.is_blind, self.envelope

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to {name!r}: publications do not change")

    def read_document(self) -> Document | None:
        """The document with its content, read at the first call; `None` if there is none.

        Raises `DocumentError` for bytes that are no document, `LimitError` beyond the bounds.
        """
        if self._contents is None and self.document is not None:
            from sapwood.xml import read_document  # late: records need no XML parser

            _set(self, "_contents", read_document(self.document))
        return self._contents

    def keep_document(self, contents: Document) -> None:
        """Keep the parsed form of the document, with its content."""
        _set(self, "_contents", contents)

    def keep_encoded(self, body: bytes) -> None:
        """Keep the encoded form: the bytes that it was decoded from, or encoded to."""
        _set(self, "encoded", body)

    def keep_born(self, born: int | None) -> None:
        """Keep the bound of when it was made, as a reading of this process's clock."""
        _set(self, "born", born)

    def keep_written_at(self, seconds: float) -> None:
        """Keep when a store has taken it that it was read from, if its time is limited."""
        if self.envelope is not None and self.envelope.ttl_ms is not None:
            _set(self, "written_at", seconds)

    def renamed(self, id: str) -> Publication:
        """The publication under another id."""
        return _made_again((id, *self._content()[1:]))

    def in_envelope(self, envelope: Envelope) -> Publication:
        """The publication in another envelope."""
        return _made_again((*self._content()[:-1], envelope))

    def beyond(self) -> Publication:
        """The part that the router where it entered forwards: all of it, if it is not blind."""
        if not self.is_blind:
            return self
        payload = Publication(self.id, payload=self.payload, envelope=self.envelope)
        payload.keep_born(self.born)
        return payload

    def parts(self) -> tuple[Publication, ...]:
        """The record and the document, each as a publication of its own; itself if it has one part.

        Advertisements are checked against these; where there are two, neither has the payload.
        """
        if self.attributes is None or self.document is None:
            return (self,)
        return Publication(self.id, self.attributes), Publication(self.id, document=self.document)

    @property
    def readable_document(self) -> bytes | Document | None:
        """The document for an engine: its parsed form, or its bytes if it is not parsed yet."""
        return self.document if self._contents is None else self._contents


def _made_again(content: _Content) -> Publication:
    id_, record, document, payload, is_blind, envelope = content
    return Publication(id_, record, document, payload, is_blind=is_blind, envelope=envelope)


_NO_RECORD: Final = FlatView(MappingProxyType({}), has_arrays=False)


def flatten(attributes: Mapping[str, Any]) -> FlatView:
    """The flat view of a possibly nested record.

    `{"detail": {"state": "up"}, "tags": ["a", "b"], "note": None}` gives `{"detail.state": "up",
    "tags": ("a", "b")}`. Two paths that give the same dotted name (`{"a": {"b": 1}, "a.b": 2}`) are
    refused, since a filter could not distinguish them; elements of arrays of the same name are
    values of one attribute.
    """
    if is_plain(attributes):
        return FlatView(dict(attributes), has_arrays=False)
    if not isinstance(attributes, Mapping):
        kind = type(attributes).__name__
        raise InvalidValueError("attributes", f"a record is an object of named values, not {kind}")
    record: dict[str, Value] = {}
    arrays: list[tuple[str, Sequence[Any]]] = []
    for name, value in _leaves(attributes):
        if isinstance(value, list | tuple):
            arrays.append((name, value))
        elif value is not None:
            if name in record:
                raise InvalidValueError(name, "given twice, nested and dotted; rename one of them")
            record[name] = check_value(name, value)
    if len(record) > ATTRIBUTES_MAX:
        raise LimitError("ATTRIBUTES_MAX", ATTRIBUTES_MAX, len(record), "the number of attributes")
    if not arrays:
        return FlatView(record, has_arrays=False)
    return FlatView(_with_elements(record, arrays), has_arrays=True)


def _with_elements(
    record: dict[str, Value], arrays: Iterable[tuple[str, Sequence[Any]]]
) -> dict[str, Value]:
    """A flat view with the elements of arrays: a `ManyValued` where that makes several values."""
    values: dict[str, dict[tuple[bool, Value], Value]] = {}
    for path, array in arrays:
        for name, value in _elements(path, array):
            # As in filters, 1 and 1.0 are one value, and 1 and true are two.
            values.setdefault(name, {}).setdefault((value is True or value is False, value), value)
    whole = dict[str, Any](record)
    for name, distinct in values.items():
        own = record.get(name)
        if own is not None:
            distinct.setdefault((own is True or own is False, own), own)
        some = tuple(distinct.values())
        whole[name] = some[0] if len(some) == 1 else some
    is_many = any(type(value) is tuple for value in whole.values())
    return ManyValued(whole) if is_many else whole


def _elements(path: str, array: Sequence[Any]) -> Iterator[tuple[str, Value]]:
    """All (dotted name, value) that the elements of an array give, without recursion.

    A value that no attribute may hold, or a name that it may not have, was never an error in an
    array, which was not checked. It is carried on, and no filter sees it; the same holds for
    elements that are nested too deep to travel.
    """
    stack: list[Iterator[tuple[str, Any]]] = [iter([(path, element) for element in array])]
    while stack:
        for name, value in stack[-1]:
            if isinstance(value, list | tuple):
                inner = [(name, element) for element in value]
            elif isinstance(value, Mapping):
                inner = [
                    (f"{name}.{key}", member)
                    for key, member in value.items()
                    if isinstance(key, str) and _may_follow(name, key)
                ]
            else:
                seen = None if value is None else _visible(value)
                if seen is not None:
                    yield name, seen
                continue
            if inner and len(stack) < RECORD_DEPTH_MAX:
                stack.append(iter(inner))
                break
        else:
            stack.pop()


def _may_follow(path: str, key: str) -> bool:
    """True if a name below a path gives a name that an attribute may have."""
    is_short = len(path) + 1 + len(key) <= ATTRIBUTE_NAME_CHARS_MAX
    return is_short and (key.isascii() or _is_well_formed(key))


def _visible(value: object) -> Value | None:
    """An element as a value, or `None` if no attribute may hold it."""
    try:
        return check_value("", value)
    except InvalidValueError:
        return None


def is_plain(attributes: Mapping[str, Any]) -> bool:
    """True if a record is its own flat view: a plain `dict` of plain values, as most records are.

    It needs no other check then. `False` decides nothing: rare records are checked elsewhere.
    """
    if type(attributes) is not dict or len(attributes) > ATTRIBUTES_MAX:
        return False
    for name, value in attributes.items():
        if type(name) is not str or not name.isascii():
            return False
        kind = type(value)
        if kind is str:
            if not value.isascii():
                return False
        elif kind is float:
            if value != value:  # noqa: PLR0124 - NaN, which alone differs from itself
                return False
        elif kind is int:
            if not INTEGER_MIN <= value <= INTEGER_MAX:
                return False
        elif kind is not bool:
            return False
    return True


def check_value(name: str, value: object) -> Value:
    """`value`, if a record may hold it; `InvalidValueError` with the remedy otherwise.

    Scalars of NumPy, and values of classes derived from a plain one, come out as plain values.
    """
    if type(value) is str:
        if not (value.isascii() or _is_well_formed(value)):
            raise InvalidValueError(name, f"{value!r} {_NO_CHARACTER}")
        return value
    if type(value) is float:
        if math.isnan(value):
            raise InvalidValueError(name, "NaN has no place in an order; leave the attribute out")
        return value
    if type(value) is int:
        if not INTEGER_MIN <= value <= INTEGER_MAX:
            raise InvalidValueError(name, f"{value} needs more than 64 bits; send it as text")
        return value
    if type(value) is bool:
        return value
    plain = plain_value(value)
    if type(plain) in _PLAIN_KINDS:
        return check_value(name, plain)
    kind = type(value).__name__
    raise InvalidValueError(
        name, f"a value is a text, a number or a boolean, not {kind}; convert it first"
    )


def plain_value(value: object) -> object:
    """A value as one of the plain kinds, if its class is a variant of one; else the value itself.

    So are values of derived classes (`enum.IntEnum`, `numpy.float64`) and the other scalars of
    NumPy: integers, floating-point numbers, booleans and texts, recognized by the kind of their
    `dtype`, since NumPy need not be installed. Its dates are none of them, although `item` would
    give those in nanoseconds as integers.
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, int):
        return value if isinstance(value, bool) else int.__int__(value)
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind in _NUMPY_KINDS and getattr(value, "shape", None) == ():
        item = cast("Any", value).item()
        return item if type(item) in _PLAIN_KINDS else value
    return value


def _is_well_formed(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _leaves(attributes: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """All (dotted name, value) of a nested record in its own order, without recursion."""
    stack: list[tuple[str, Iterator[tuple[str, Any]]]] = [("", iter(attributes.items()))]
    while stack:
        prefix, items = stack[-1]
        for key, value in items:
            if not isinstance(key, str):
                raise InvalidValueError(f"{prefix}{key!r}", "an attribute name is a text")
            if not (key.isascii() or _is_well_formed(key)):
                raise InvalidValueError(prefix + key, f"the name {_NO_CHARACTER}")
            if len(prefix) + len(key) > ATTRIBUTE_NAME_CHARS_MAX:
                raise LimitError(
                    "ATTRIBUTE_NAME_CHARS_MAX",
                    ATTRIBUTE_NAME_CHARS_MAX,
                    len(prefix) + len(key),
                    "the length of an attribute's flat name",
                )
            if isinstance(value, Mapping):
                if len(stack) >= RECORD_DEPTH_MAX:
                    raise LimitError(
                        "RECORD_DEPTH_MAX",
                        RECORD_DEPTH_MAX,
                        None,
                        f"the nesting of attribute {prefix + key!r}",
                    )
                stack.append((f"{prefix}{key}.", iter(value.items())))
                break
            yield prefix + key, value
        else:
            stack.pop()
