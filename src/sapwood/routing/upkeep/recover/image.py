"""Images: an object, with all that it consists of, as bytes; and an equal one from these.

The decisions of strategies depend on more than their entries: on the order in which these came, on
their representatives, on the numbers that are free. An image has all of that to the letter, so an
object made of it decides as the original does. It is written in parts of some hundred kilobytes,
and read one after the other: nothing is held but the object.

Only classes of a few rooms have images, and their constructors are not called. Fields that follow
from others, or are configured, are left out (`Form.without`, and functions): they come from a
*pattern*, an object of the same class that was made the usual way, or from `Form.make`. A part
names each class once with its fields; an image whose fields are not those of today was written by
another version.

A part is an array of MessagePack of *pieces*; of a large dictionary there are several. An integer
names a *node*, something that can change and may be shared; all else is a value and stands inline::

    [node, items]        of a dictionary (key, value, key, ...), list, set, deque, object
    [0, node, kind]      in the place of a value: a node; `kind` is the type that it is made as
    [1, values]          a tuple        [2, values]   a frozen set
    [3, kind, values]    a value of a class
    [4, kind, name]      a member of an enumeration
    [5, bytes, form]     an interest, the first time     [6, number]   the same, later
    [7, type, shape, bytes]   an array that nothing else refers to
    [8]                  a function or a class: that of the pattern

Worked example. `{"a": (1, {})}` is one part: [[0, ["a", [1, [1, [0, 1, 0]]]]], [1, []]]. Node 0 is
the root, node 1 the inner dictionary, and kind 0 a dictionary.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from dataclasses import fields as fields_of
from enum import Enum
from functools import partial
from importlib import import_module
from itertools import islice
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final

import msgspec
import numpy as np
from msgspec import Struct

from sapwood.errors import FileFormatError
from sapwood.language.forms import decode_interest, encode_form
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.kept import are_packed, kept

ROOMS: Final = ("sapwood.covering.", "sapwood.model.", "sapwood.overlay.", "sapwood.routing.")
"""The rooms whose classes have images."""

NODE, TUPLE, FROZENSET, VALUE, MEMBER, INTEREST, KNOWN, ARRAY, KEPT = range(9)

_BUILTINS: Final[tuple[type[Any], ...]] = (dict, list, set, deque, Counter)
_ATOMS: Final = frozenset({type(None), bool, int, float, str, bytes})

_CALLED: Final = (FunctionType, BuiltinFunctionType, MethodType, ModuleType, partial, type)
"""Types of configured values: these are the same in the router that is to be restored."""

_PIECE: Final = 4096
"""The greatest number of items in a piece."""

_PART_BYTES: Final = 1 << 18
"""The bytes of pieces after which a part ends."""


@dataclass(frozen=True, slots=True)
class Form:
    """The way in which objects of a class are written and made.

    Fields `without`, and those outside `only` where that is given, are not written; they are those
    of the object that `make` makes, else of the pattern. Objects in fields `within` are filled in
    place, as they belong to the object. `write` and `read` take the place of fields: `write` yields
    columns, and `read` gets these with filters as tables keep them (`model.kept`). Texts in
    `single` columns are nowhere else in an image. `finish` is called when everything is there.
    """

    without: frozenset[str] = frozenset()
    only: frozenset[str] | None = None
    within: frozenset[str] = frozenset()
    make: Callable[[], Any] | None = None
    finish: Callable[[Any], object] | None = None
    write: Callable[[Any], Iterable[Sequence[Iterable[Any]]]] | None = None
    read: Callable[[Any, list[list[Any]]], None] | None = None
    single: frozenset[int] = frozenset()

    def writes(self, name: str) -> bool:
        """True if a field is written."""
        return name not in self.without and (self.only is None or name in self.only)


PLAIN: Final = Form()


class Unwritable(Exception):  # noqa: N818 - no error: an image is made another time, or never
    """There is no image of an object; the argument names it."""


def _fields_of(kind: type[Any]) -> tuple[str, ...]:
    """The fields of a class, in the order in which they are written."""
    if issubclass(kind, AdvertisedContent):
        return ("_normal", "source")  # it is rebuilt from these, as by `copy`
    if issubclass(kind, Struct):
        return kind.__struct_fields__
    if is_dataclass(kind):
        return tuple(field.name for field in fields_of(kind))
    slots = [
        name
        for one in reversed(kind.__mro__)
        for name in one.__dict__.get("__slots__", ())
        if name not in ("__weakref__", "__dict__")
    ]
    return tuple(slots)


def _is_value(kind: type[Any]) -> bool:
    """True if instances never change, so that an equal one serves as well."""
    if issubclass(kind, Struct):
        return kind.__struct_config__.frozen
    if is_dataclass(kind):
        return bool(kind.__dataclass_params__.frozen)  # type: ignore[attr-defined]
    return issubclass(kind, tuple | AdvertisedContent)


class _Shapes(dict[type[Any], tuple[bool, tuple[str, ...]]]):
    """The results of `_is_value` and `_fields_of` by class."""

    def __missing__(self, kind: type[Any]) -> tuple[bool, tuple[str, ...]]:
        shape = self[kind] = _is_value(kind), _fields_of(kind)
        return shape


class Writer:
    """Writes the image of one object, which must not change meanwhile."""

    def __init__(self, forms: Mapping[type[Any], Form]) -> None:
        self._forms = forms
        self._shapes = _Shapes()
        self._nodes: dict[int, int] = {}
        #: nodes that are to be written; they are held so that no other object has their identity
        self._held: list[Any] = []
        self._kinds: dict[type[Any], int] = {kind: n for n, kind in enumerate(_BUILTINS)}
        self._fresh: list[list[Any]] = []
        self._arrays: dict[int, object] = {}
        self._interests: dict[bytes | Interest, int] = {}

    def parts(self, root: object) -> Iterator[bytes]:
        """The parts of the image. Raises `Unwritable`."""
        self._node(root)
        pieces: list[list[Any]] = []
        size = 0
        written = 0
        while written < len(self._held):
            for items in self._items(self._held[written]):
                pieces.append([written, items])
                size += len(items)
                if size >= _PART_BYTES // 16:
                    yield self._part(pieces)
                    size = 0
            written += 1
        yield self._part(pieces)

    def _part(self, pieces: list[list[Any]]) -> bytes:
        fresh, self._fresh = self._fresh, []
        try:
            part = msgspec.msgpack.encode([fresh, pieces])
        except (TypeError, OverflowError) as error:
            raise Unwritable(str(error)) from None
        pieces.clear()
        return part

    def _items(self, node: Any) -> Iterator[list[Any]]:
        value = self._value
        kind = type(node)
        if kind is dict or kind is Counter:
            pairs = iter(node.items())
            yield [value(one) for pair in islice(pairs, _PIECE) for one in pair]
            while some := [value(one) for pair in islice(pairs, _PIECE) for one in pair]:
                yield some
        elif kind in (list, set, deque):
            rest = iter(_sorted(node) if kind is set else node)
            yield [value(one) for one in islice(rest, _PIECE)]
            while some := [value(one) for one in islice(rest, _PIECE)]:
                yield some
        else:
            form = self._forms.get(kind, PLAIN)
            if form.write is not None:
                for columns in form.write(node):
                    yield [[value(one) for one in column] for column in columns]
                return
            own = getattr(node, "__dict__", None)
            if own is None:
                yield [
                    value(getattr(node, name))
                    for name in self._shapes[kind][1]
                    if form.writes(name)
                ]
            else:
                yield [[name, value(own[name])] for name in own if form.writes(name)]

    def _value(self, value: Any) -> Any:
        kind = type(value)
        if kind in _ATOMS:
            return value
        if kind is tuple:
            return [TUPLE, [self._value(one) for one in value]]
        if kind is frozenset:
            return [FROZENSET, [self._value(one) for one in _sorted(value)]]
        if isinstance(value, Interest):
            return self._interest(value)
        if kind is np.ndarray:
            return self._array(value)
        if isinstance(value, Enum):
            return [MEMBER, self._kind(kind), value.name]
        if isinstance(value, _CALLED) or kind.__module__ == "typing":
            return [KEPT]
        is_value, names = self._shapes[kind]
        if kind in self._forms or kind in _BUILTINS or not is_value:
            return [NODE, self._node(value), self._kind(kind)]
        values = value if issubclass(kind, tuple) else [getattr(value, name) for name in names]
        return [VALUE, self._kind(kind), [self._value(one) for one in values]]

    def _interest(self, interest: Interest) -> list[Any]:
        packed = interest.packed if isinstance(interest, Filter) else None
        known, given = len(self._interests), packed or interest
        number = self._interests.setdefault(given, known)
        if number < known:
            return [KNOWN, number]
        return [INTEREST, packed or encode_form(interest), packed is None]

    def _array(self, array: np.ndarray[Any, Any]) -> list[Any]:
        if array.dtype.hasobject or id(array) in self._arrays:
            raise Unwritable("an array of objects, or one that is shared")
        self._arrays[id(array)] = array
        return [ARRAY, array.dtype.str, list(array.shape), array.tobytes()]

    def _node(self, node: Any) -> int:
        number = self._nodes.setdefault(id(node), len(self._held))
        if number == len(self._held):
            self._held.append(node)
        return number

    def _kind(self, kind: type[Any]) -> int:
        known = self._kinds.get(kind)
        if known is None:
            name = f"{kind.__module__}:{kind.__qualname__}"
            if not kind.__module__.startswith(ROOMS) or ".published." in name:
                raise Unwritable(name)
            known = self._kinds[kind] = len(self._kinds)
            self._fresh.append([name, list(_fields_of(kind))])
        return known


class Reader:
    """Makes an object of an image.

    `patterns` are objects of the classes whose fields are left out, where `makers` make none.
    """

    def __init__(
        self,
        forms: Mapping[type[Any], Form],
        patterns: Mapping[type[Any], Any],
        makers: Mapping[type[Any], Callable[[], Any]],
    ) -> None:
        self._forms = forms
        self._shapes = _Shapes()
        self._patterns = patterns
        self._makers = makers
        self._nodes: dict[int, Any] = {}
        self._kinds: list[tuple[type[Any], tuple[str, ...]]] = [(one, ()) for one in _BUILTINS]
        #: filters as bytes, until a value is needed
        self._interests: list[Interest | bytes] = []
        self._finished: list[tuple[Callable[[Any], object], Any]] = []
        #: advertised paths are held once: each has an automaton
        self._paths: dict[AdvertisedContent, AdvertisedContent] = {}
        #: a string that comes often is held once
        self._texts: dict[str, str] = {}

    def read(self, parts: Iterable[bytes], root: object) -> None:
        """Fill an object, made the usual way, from the image of one of its class.

        Raises `FileFormatError` for an image that another version has written.
        """
        self._nodes[0] = root
        self._begin(root)
        try:
            for part in parts:
                fresh, pieces = msgspec.msgpack.decode(part)
                for name, names in fresh:
                    self._kinds.append(self._class(name, names))
                for node, items in pieces:
                    self._fill(self._nodes[node], items)
        except (LookupError, TypeError, ValueError, AttributeError, ImportError) as error:
            raise FileFormatError(
                "a checkpoint",
                f"cannot be read ({type(error).__name__}: {error}): use the Sapwood that wrote it, "
                "or another folder",
            ) from error
        for finish, made in self._finished:
            finish(made)

    def _fill(self, node: Any, items: list[Any]) -> None:
        value = self._value
        kind = type(node)
        if kind is dict or kind is Counter:
            given = iter(items)
            keys = (value(key) if type(key) in (str, list) else key for key in given)
            dict.update(node, ((key, value(next(given))) for key in keys))
        elif kind in (list, deque):
            node.extend([value(one) for one in items])
        elif kind is set:
            node.update([value(one) for one in items])
        else:
            self._fill_object(kind, node, items)

    def _fill_object(self, kind: type[Any], node: Any, items: list[Any]) -> None:
        form = self._forms.get(kind, PLAIN)
        if form.read is not None:
            columns = enumerate(items)
            form.read(node, [self._column(one, is_single=at in form.single) for at, one in columns])
            return
        if not hasattr(node, "__dict__"):
            names = [name for name in self._shapes[kind][1] if form.writes(name)]
            items = list(zip(names, items, strict=True))
        for name, item in items:
            if type(item) is list and item[0] == KEPT:
                if not hasattr(node, name):
                    setattr(node, name, getattr(self._patterns[kind], name))
                continue
            if name in form.within and type(item) is list and item[0] == NODE:
                self._adopt(item, getattr(node, name))
            setattr(node, name, self._value(item))

    def _adopt(self, item: list[Any], own: Any) -> None:
        """Use an object's own field as the node that is filled."""
        _, number, made_as = item
        if type(own) is not self._kinds[made_as][0]:
            raise TypeError(f"a {type(own).__name__} is there, and another class was written")
        if number not in self._nodes:
            self._begin(own)
        self._nodes.setdefault(number, own)

    def _begin(self, made: Any) -> None:
        form = self._forms.get(type(made), PLAIN)
        if form.finish is not None:
            self._finished.append((form.finish, made))

    def _column(self, column: list[Any], *, is_single: bool) -> list[Any]:
        """The values of a column, with filters as tables keep them: most are texts, or filters."""
        kind = type(column[0]) if column else int
        if kind is int or (is_single and kind is str) or are_packed(column):
            return column
        share, interests, value = self._texts.setdefault, self._interests, self._value
        found: list[Any] = []
        for item in column:
            kind = type(item)
            if kind is str:
                found.append(share(item, item))
            elif kind is list and item[0] == INTEREST and not item[2]:
                found.append(item[1])
                interests.append(item[1])
            elif kind is list and item[0] == KNOWN:
                known = interests[item[1]]
                found.append(known if isinstance(known, bytes) else kept(known))
            else:
                one = value(item)
                found.append(kept(one) if isinstance(one, Interest) else one)
        return found

    def _value(self, item: Any) -> Any:
        kind = type(item)
        if kind is str:
            return self._texts.setdefault(item, item)
        if kind is not list:
            return item
        code = item[0]
        if code == NODE:
            _, number, made_as = item
            found = self._nodes.get(number)
            if found is None:
                found = self._nodes[number] = self._made(self._kinds[made_as][0])
            return found
        if code == KNOWN:
            known = self._interests[item[1]]
            if isinstance(known, bytes):
                known = self._interests[item[1]] = Filter.of_packed(known)
            return known
        return self._inline(code, item)

    def _inline(self, code: int, item: list[Any]) -> Any:
        value = self._value
        if code == TUPLE:
            return tuple([value(one) for one in item[1]])
        if code == FROZENSET:
            return frozenset([value(one) for one in item[1]])
        if code == VALUE:
            made = self._kinds[item[1]][0](*[value(one) for one in item[2]])
            return (
                self._paths.setdefault(made, made) if isinstance(made, AdvertisedContent) else made
            )
        if code == MEMBER:
            return self._kinds[item[1]][0][item[2]]
        if code == ARRAY:
            _, type_, shape, data = item
            return np.frombuffer(bytearray(data), type_).reshape(shape)
        _, data, is_form = item
        found = decode_interest(data) if is_form else Filter.of_packed(data)
        self._interests.append(found)
        return found

    def _made(self, kind: type[Any]) -> Any:
        if kind in _BUILTINS:
            return kind()
        form = self._forms.get(kind, PLAIN)
        make = self._makers.get(kind, form.make)
        if make is not None:
            made = make()
        else:
            made = object.__new__(kind)
            if form.without:
                pattern = self._patterns[kind]
                for name in form.without:
                    setattr(made, name, getattr(pattern, name))
        self._begin(made)
        return made

    def _class(self, name: str, names: list[str]) -> tuple[type[Any], tuple[str, ...]]:
        """The class of a name, which has to have these fields."""
        module, _, qualname = name.partition(":")
        if not module.startswith(ROOMS):
            raise ValueError(f"{name} has no image")
        found: Any = import_module(module)
        for part in qualname.split("."):
            found = getattr(found, part)
        if list(_fields_of(found)) != names:
            raise ValueError(f"{name} had the fields {', '.join(names)}")
        return found, tuple(names)


def _sorted(values: Iterable[Any]) -> list[Any]:
    """The elements of a set in an order that does not depend on hashes, where they have one."""
    try:
        return sorted(values)
    except TypeError:
        return list(values)
