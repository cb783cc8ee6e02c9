"""Hypothesis strategies for what travels on a connection.

Messages are found in the unions and built from the types of their fields: a message that somebody
adds is among them as soon as it is defined.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any, Final, TypeAlias

import msgspec
from hypothesis import strategies as st
from msgspec import inspect

from sapwood.language.interests import Interests
from sapwood.language.xpath import parse_xpath
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.model.patterns.advertisements import Advertisement
from sapwood.model.publication import Publication
from sapwood.overlay.spanning import SpanningTree, fewest_links
from sapwood.routing.messages import ConfirmMany, RangeEntries, SubscribeMany
from sapwood.wire.durable import AcknowledgeRequest
from sapwood.wire.frames import frame
from sapwood.wire.interests import InterestText, XPathText
from sapwood.wire.messages import (
    BrokerMessage,
    ClientMessage,
    LinkMessage,
    Part,
    SubscribeManyRequest,
)
from sapwood.wire.publications import encode_publication
from tests.model.patterns.advertisements.made import expressions
from tests.strategies import filters, nested_records
from tests.xml.made import documents
from tests.xpaths import bounded_expressions

Union: TypeAlias = Any
"""A union of message classes."""

ids = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)


@cache
def publications() -> st.SearchStrategy[Publication]:
    """Publications of all shapes; nested names that flatten to one are left out."""
    return st.one_of(
        st.builds(Publication, ids, nested_records()),
        st.builds(Publication, ids, st.none() | nested_records(), documents()),
    )


@cache
def interests() -> st.SearchStrategy[Interest]:
    """Filters of both languages."""
    return st.one_of(filters(), bounded_expressions().map(parse_xpath))


@cache
def advertised() -> st.SearchStrategy[AdvertisedContent]:
    """Contents that may be advertised."""
    return interests() | st.builds(Advertisement, expressions())


@cache
def interest_texts() -> st.SearchStrategy[InterestText]:
    """Texts in the place of a message's filter, whether they can be read or not."""
    texts = st.text(st.characters(codec="utf-8"), max_size=20)
    bindings = st.lists(st.tuples(texts, texts), max_size=2).map(tuple)
    return texts | st.builds(XPathText, texts, st.none() | bindings)


@cache
def bodies() -> st.SearchStrategy[bytes]:
    """The bytes of publications."""
    return publications().map(encode_publication)


@cache
def trees() -> st.SearchStrategy[SpanningTree]:
    """Spanning trees of some routers."""
    return st.permutations(("r1", "größe", "r3", "r4")).map(
        lambda names: fewest_links(names[0], dict(zip(names, [names] * 4, strict=True)))
    )


def message_classes(union: Union) -> tuple[type[Any], ...]:
    """All message classes of a union, by their tags."""
    found = inspect.type_info(union)
    assert isinstance(found, inspect.UnionType)
    kinds = [one for one in found.types if isinstance(one, inspect.StructType)]
    assert len(kinds) == len(found.types), "a union of messages holds messages only"
    return tuple(kind.cls for kind in sorted(kinds, key=lambda kind: int(str(kind.tag))))


@st.composite
def _paired(draw: st.DrawFn, cls: type[Any], *columns: str) -> Any:
    """A message of which some columns are of one length."""
    kind = inspect.type_info(cls)
    assert isinstance(kind, inspect.StructType)
    fields = {one.name: draw(_of_field(one)) for one in kind.fields}
    least = min(len(fields[column]) for column in columns)
    for column in columns:
        some = fields[column]
        cut = Interests(some.values[:least]) if isinstance(some, Interests) else some[:least]
        fields[column] = cut
    return cls(**fields)


def messages(cls: type[Any]) -> st.SearchStrategy[Any]:
    """All that a message of this class may hold."""
    if cls in _VALUES:
        return _VALUES[cls]
    if cls in _PAIRED:
        return _paired(cls, *_PAIRED[cls])
    return _of_type(inspect.type_info(cls))


@cache
def client_messages() -> st.SearchStrategy[ClientMessage]:
    """The messages of a client."""
    return st.one_of(*map(messages, message_classes(ClientMessage)))


@cache
def broker_messages() -> st.SearchStrategy[BrokerMessage]:
    """The messages of a broker to a client."""
    return st.one_of(*map(messages, message_classes(BrokerMessage)))


@cache
def link_messages() -> st.SearchStrategy[LinkMessage]:
    """Whole messages between brokers: a decoder joins parts, and yields none of them."""
    whole = (one for one in message_classes(LinkMessage) if one is not Part)
    return st.one_of(*map(messages, whole))


_PAIRED: Final[dict[type[Any], tuple[str, str]]] = {
    SubscribeManyRequest: ("ids", "filters"),
    SubscribeMany: ("keys", "filters"),
    ConfirmMany: ("keys", "sendings"),
    RangeEntries: ("entries", "filters"),
}
"""Columns that are of one length."""

_VALUES: Final[dict[type[Any], st.SearchStrategy[Any]]] = {
    Interest: interests(),
    Interests: st.lists(interests(), min_size=1, max_size=3).map(Interests),
    AdvertisedContent: advertised(),
    Publication: publications(),
    SpanningTree: trees(),
    XPathText: interest_texts(),
    AcknowledgeRequest: st.builds(
        AcknowledgeRequest,
        ids,
        st.integers(0, 2**63 - 1),
        st.lists(st.integers(0, 9).map(lambda first: (first, first + 3)), min_size=1).map(
            lambda runs: tuple(number for run in runs for number in run)
        ),
    ),
}
"""Strategies for what is not made of its fields."""

_LENGTH_MAX: Final = 8
"""Characters, bytes or items of a field that may have more."""


def _of_type(kind: inspect.Type) -> st.SearchStrategy[Any]:
    """Values of a type as its decoder sees it."""
    match kind:
        case inspect.CustomType(cls=cls) | inspect.StructType(cls=cls) if cls in _VALUES:
            return _VALUES[cls]
        case inspect.StructType(cls=cls) if cls in _PAIRED:
            return messages(cls)
        case inspect.StructType(cls=cls, fields=fields):
            return st.builds(cls, **{one.name: _of_field(one) for one in fields})
        case inspect.NamedTupleType(cls=cls, fields=fields):
            return st.builds(cls, **{one.name: _of_field(one) for one in fields})
        case inspect.UnionType(types=kinds):
            return st.one_of(*map(_of_type, kinds))
        case inspect.VarTupleType(item_type=item):
            least, most = _sizes(kind, 3)
            return st.lists(_of_type(item), min_size=least, max_size=most).map(tuple)
        case inspect.TupleType(item_types=items):
            return st.tuples(*map(_of_type, items))
        case inspect.DictType(key_type=key, value_type=value):
            return st.dictionaries(_of_type(key), _of_type(value), max_size=3)
        case inspect.StrType(pattern=pattern) if pattern is not None:
            return st.from_regex(pattern, fullmatch=True).map(lambda text: text[:_LENGTH_MAX])
        case inspect.StrType():
            least, most = _sizes(kind, _LENGTH_MAX)
            return st.text(st.characters(codec="utf-8"), min_size=least, max_size=most)
        case inspect.BytesType():
            least, most = _sizes(kind, _LENGTH_MAX)
            return st.binary(min_size=least, max_size=most)
        case inspect.IntType(ge=least, le=most, lt=below):
            low, high = -(2**63) if least is None else least, 2**63 - 1 if most is None else most
            high = high if below is None else min(high, below - 1)
            return st.integers(low, high)
        case inspect.FloatType(ge=least, gt=above):
            bottom = least if above is None else above
            return st.floats(bottom, 2.0**63, exclude_min=above is not None, allow_nan=False)
        case inspect.BoolType():
            return st.booleans()
        case inspect.NoneType():
            return st.none()
        case inspect.EnumType(cls=cls):
            return st.sampled_from(list(cls))
        case _:
            raise NotImplementedError(f"say above what values {kind} has")


def _of_field(field: inspect.Field) -> st.SearchStrategy[Any]:
    if field.name == "publication" and isinstance(field.type, inspect.BytesType):
        return bodies()
    return _of_type(field.type)


def _sizes(
    kind: inspect.StrType | inspect.BytesType | inspect.VarTupleType, most: int
) -> tuple[int, int]:
    """The least size of a value, and the most within reason."""
    least = kind.min_length or 0
    bound = max(least, most)
    return least, min(bound, kind.max_length or bound)


@cache
def hostile_frames() -> st.SearchStrategy[bytes]:
    """Frames that may or may not be messages: known tags, and anything at all behind them."""
    leaves = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**64 - 1),
        st.floats(),
        st.text(st.characters(codec="utf-8"), max_size=5),
        st.binary(max_size=5),
        bodies(),
        st.sampled_from(("a = 1", "a >", "done", "r1", "r1.1.1", ["xpath", "/a"], ["paths", "/a"])),
    )
    values = st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
        ),
        max_leaves=8,
    )
    classes = (
        cls
        for union in (ClientMessage, BrokerMessage, LinkMessage)
        for cls in message_classes(union)
    )
    tags = st.sampled_from(sorted({cls.__struct_config__.tag for cls in classes} | {99}))
    arrays = st.tuples(tags, st.lists(values, max_size=4)).map(
        lambda pair: msgspec.msgpack.encode([pair[0], *pair[1]])
    )
    return st.one_of(arrays, st.binary(max_size=20)).map(frame)


def cuts(data: bytes, points: list[int]) -> list[bytes]:
    """`data` in pieces, cut at these points (taken modulo its length)."""
    places = sorted({point % (len(data) + 1) for point in points} | {0, len(data)})
    return [data[a:b] for a, b in itertools.pairwise(places)]
