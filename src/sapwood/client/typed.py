"""Typed subscriptions: records as objects of a class of the application.

A dataclass, a `msgspec.Struct`, a `TypedDict` or any other class with named fields that msgspec
knows describes the records. Fields of such classes are nested objects, whose attributes have dotted
names in filters; names are those that msgspec reads and writes (`rename`).
"""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Final, Generic, Protocol, Self, TypeVar

import msgspec
from msgspec import inspect

from sapwood.errors import FilterTypeWarning, InputError, UnfitDeliveryError
from sapwood.model.constraint import ABSENT, ANYTHING, NOTHING, Constraint, one_of
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.model.schema import ANY_BOOLEAN, ANY_NUMBER, ANY_TEXT, Schema

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_OBJECTS: Final = (inspect.StructType, inspect.DataclassType, inspect.TypedDictType)
"""The kinds of types with named fields."""

_ARRAYS: Final = (
    *(inspect.ListType, inspect.SetType, inspect.FrozenSetType),
    *(inspect.VarTupleType, inspect.CollectionType),
)
"""The kinds of types with elements of one type."""


class RecordType(Generic[T]):
    """A class of the application for records, and the schema that it defines.

    Raises `InputError` for a type without named fields.
    """

    __slots__ = ("_type", "schema")

    def __init__(self, type: type[T]) -> None:
        try:
            described = inspect.type_info(type)
        except (TypeError, NameError) as error:
            raise InputError(f"{_name(type)} cannot be the type of records: {error}") from None
        if not isinstance(described, _OBJECTS) or getattr(described, "array_like", False):
            raise InputError(
                f"{_name(type)} cannot be the type of records: give a dataclass, a msgspec.Struct "
                "or a TypedDict, which has a field for each attribute"
            )
        open_names: set[str] = set()
        attributes = dict(_attributes(described, "", open_names, (described.cls,)))
        self.schema = Schema(_name(type), attributes, frozenset(open_names))
        self._type = type

    def read(self, id: str, attributes: Mapping[str, Any] | None) -> T:
        """The record of a publication as an object. Raises `UnfitDeliveryError`."""
        name = self.schema.name
        if attributes is None:
            raise UnfitDeliveryError(id, name, "it carries no record")
        try:
            return msgspec.convert(attributes, self._type)
        except msgspec.ValidationError as error:
            raise UnfitDeliveryError(id, name, str(error)) from None

    def check(self, interest: Interest, *, stacklevel: int) -> None:
        """Warn of conditions that no record of the type can meet, `stacklevel` calls further out.

        Raises `InputError` for a filter of documents.
        """
        if not isinstance(interest, Filter):
            raise InputError("a type is for records; a filter of documents goes without one")
        for doubt in self.schema.doubts(interest):
            warnings.warn(doubt, FilterTypeWarning, stacklevel=stacklevel + 1)


def _name(type: object) -> str:
    return getattr(type, "__name__", repr(type))


def _attributes(
    described: inspect.Type, prefix: str, open_names: set[str], within: tuple[object, ...]
) -> Iterator[tuple[str, Constraint]]:
    """The flat attributes of a class with named fields; adds names below which any may be."""
    assert isinstance(described, _OBJECTS), "only these have named fields"
    if isinstance(described, inspect.StructType) and isinstance(described.tag, str | int):
        yield f"{prefix}{described.tag_field}", one_of([described.tag])
    for field in described.fields:
        name, alternatives = prefix + field.encode_name, _alternatives(field.type)
        objects = [one for one in alternatives if isinstance(one, _OBJECTS)]
        others = [one for one in alternatives if not isinstance(one, _OBJECTS)]
        own = NOTHING if field.required and not objects else ABSENT
        for one in others:
            own = _either(own, _values(one))
        if own is ANYTHING or own == ANYTHING or any(one.cls in within for one in objects):
            own = ANYTHING
            open_names.add(name)
        if own != ABSENT:
            yield name, own
        may_lack = not field.required or len(alternatives) > 1
        for one in objects:
            if one.cls not in within:
                for below, its in _attributes(one, f"{name}.", open_names, (*within, one.cls)):
                    yield below, _either(its, ABSENT) if may_lack else its


def _alternatives(described: inspect.Type) -> tuple[inspect.Type, ...]:
    if isinstance(described, inspect.Metadata):
        return _alternatives(described.type)
    if isinstance(described, inspect.UnionType):
        return tuple(inner for one in described.types for inner in _alternatives(one))
    # The elements of an array are the values of its attribute; an empty one has none.
    if isinstance(described, _ARRAYS):
        return (*_alternatives(described.item_type), inspect.NoneType())
    if isinstance(described, inspect.TupleType):
        inner = (_alternatives(one) for one in described.item_types)
        return (*(one for some in inner for one in some), inspect.NoneType())
    return (described,)


def _is_optional(described: inspect.Type) -> bool:
    return any(isinstance(one, inspect.NoneType) for one in _alternatives(described))


def _values(described: inspect.Type) -> Constraint:
    """The values that a field may have; `ANYTHING` where records are not restricted."""
    match described:
        case inspect.BoolType():
            return ANY_BOOLEAN
        case inspect.IntType() | inspect.FloatType():
            return ANY_NUMBER
        case inspect.StrType():
            return ANY_TEXT
        case inspect.NoneType():
            return ABSENT
        case inspect.EnumType():
            return one_of([one.value for one in described.cls])
        case inspect.LiteralType():
            given = [one for one in described.values if one is not None]
            values = one_of(given)
            return values if len(given) == len(described.values) else _either(values, ABSENT)
        case _:
            return ANYTHING


def _either(one: Constraint, other: Constraint) -> Constraint:
    union = one.union(other)
    assert union is not None, "values of fields are no patterns"
    return union


# What a type checker sees ------------------------------------------------------------------------


class TypedDelivery(Protocol[T_co]):
    """A `Delivery` of a subscription with a type."""

    @property
    def value(self) -> T_co:
        """The record as an object of the type. Raises `UnfitDeliveryError`."""
        ...

    @property
    def id(self) -> str:
        """The id of the publication."""
        ...

    @property
    def subscriptions(self) -> tuple[str, ...]:
        """As `Delivery.subscriptions`."""
        ...

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The record as it was published."""
        ...

    @property
    def document(self) -> bytes | None:
        """The document beside the record, if there is one."""
        ...

    @property
    def payload(self) -> bytes | None:
        """The payload, if there is one."""
        ...

    @property
    def age_bound(self) -> float | None:
        """As `Delivery.age_bound`."""
        ...

    @property
    def timely(self) -> bool:
        """As `Delivery.timely`."""
        ...

    def publication(self) -> Publication:
        """The publication as a value of the model."""
        ...


class TypedDurableDelivery(TypedDelivery[T_co], Protocol[T_co]):
    """A `DurableDelivery` of a subscription with a type."""

    number: int
    attempt: int
    place: int

    def acknowledge(self) -> None:
        """Acknowledge the delivery, whether its record fits or not."""
        ...


class TypedSubscription(Protocol[T]):
    """A `ClientSubscription` whose deliveries have a `value`; also one that begins in a journal."""

    id: str
    filter: Interest
    never_match: dict[str, str]

    def __aiter__(self) -> Self: ...

    async def __anext__(self) -> TypedDelivery[T]: ...

    @property
    def late(self) -> int:
        """As `Deliveries.late`."""
        ...

    async def take(self, count_max: int) -> list[TypedDelivery[T]]:
        """As `Deliveries.take`."""
        ...

    def batches(self, count_max: int = ...) -> AsyncIterator[list[TypedDelivery[T]]]:
        """As `Deliveries.batches`."""
        ...

    async def change(self, filter: str | Interest, *, dialect: str | None = None) -> None:
        """As `ClientSubscription.change`; warns as `subscribe` does."""
        ...


class TypedDurableSubscription(Protocol[T]):
    """A `DurableSubscription` whose deliveries have a `value`."""

    id: str
    name: str
    filter: Interest
    dropped: int

    def __aiter__(self) -> Self: ...

    async def __anext__(self) -> TypedDurableDelivery[T]: ...

    async def take(self, count_max: int) -> list[TypedDurableDelivery[T]]:
        """As `Deliveries.take`."""
        ...

    def batches(self, count_max: int = ...) -> AsyncIterator[list[TypedDurableDelivery[T]]]:
        """As `Deliveries.batches`."""
        ...

    async def change(self, filter: str | Interest, *, dialect: str | None = None) -> None:
        """As `ClientSubscription.change`; warns as `subscribe` does."""
        ...

    async def settled(self) -> None:
        """As `DurableSubscription.settled`."""
        ...


class BlockingTypedSubscription(Protocol[T]):
    """A `BlockingSubscription` whose deliveries have a `value`."""

    id: str
    filter: Interest

    def __iter__(self) -> Iterator[TypedDelivery[T]]: ...

    def __next__(self) -> TypedDelivery[T]: ...

    def take(self, count_max: int, timeout_s: float | None = None) -> list[TypedDelivery[T]]:
        """As `BlockingDeliveries.take`."""
        ...

    def batches(self, count_max: int = ...) -> Iterator[list[TypedDelivery[T]]]:
        """As `BlockingDeliveries.batches`."""
        ...

    def change(self, filter: str | Interest, *, dialect: str | None = None) -> None:
        """As `BlockingSubscription.change`."""
        ...


class BlockingTypedDurableSubscription(Protocol[T]):
    """A `BlockingDurableSubscription` whose deliveries have a `value`."""

    id: str
    name: str
    filter: Interest

    def __iter__(self) -> Iterator[TypedDurableDelivery[T]]: ...

    def __next__(self) -> TypedDurableDelivery[T]: ...

    def take(self, count_max: int, timeout_s: float | None = None) -> list[TypedDurableDelivery[T]]:
        """As `BlockingDeliveries.take`."""
        ...

    def change(self, filter: str | Interest, *, dialect: str | None = None) -> None:
        """As `BlockingSubscription.change`."""
        ...

    def settled(self) -> None:
        """As `BlockingDurableSubscription.settled`."""
        ...
