"""Reading a DTD, with libxml2 through lxml; nothing outside the given bytes is ever loaded.

Parameter entities within declarations are allowed in external subsets only. The bytes are therefore
passed to the parser as the external subset of a document of our own, by a resolver that returns
them for that one name and refuses every other: so no file and no address is opened, however the
request was composed. Blow-up by entities in entities is stopped by libxml2's amplification limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from lxml import etree

from sapwood.errors import InputError, LimitError
from sapwood.limits import DTD_BYTES_MAX, DTD_ELEMENTS_MAX
from sapwood.xml.dtd.content import (
    AttributeType,
    ChoiceParticle,
    ContentKind,
    ElementType,
    NameParticle,
    Occurs,
    Particle,
    Presence,
    SequenceParticle,
    occurring,
)
from sapwood.xml.dtd.definition import Dtd
from sapwood.xml.encodings import ascii_compatible
from sapwood.xml.names import is_ncname

_ADDRESS: Final = "urn:sapwood:dtd"
_DOCUMENT: Final = f'<!DOCTYPE r SYSTEM "{_ADDRESS}"><r/>'.encode()
_PLACE: Final = re.compile(r",? *line \d+, column \d+.*", re.DOTALL)
_REASON_CHARS_MAX: Final = 200

_OCCURS: Final = (
    ("once", Occurs.ONCE),
    ("opt", Occurs.OPTIONAL),
    ("mult", Occurs.REPEATED),
    ("plus", Occurs.AT_LEAST_ONCE),
)
_KINDS: Final = (
    ("empty", ContentKind.EMPTY),
    ("any", ContentKind.ANY),
    ("mixed", ContentKind.MIXED),
    ("element", ContentKind.ELEMENTS),
)
_PRESENCES: Final = (
    ("required", Presence.REQUIRED),
    ("implied", Presence.IMPLIED),
    ("fixed", Presence.FIXED),
    ("none", Presence.DEFAULT),
)


def read_dtd(data: bytes, root: str | None = None) -> Dtd:
    """The DTD in `data`, an external subset in an encoding that documents may have.

    A DTD does not name the element that documents begin with; `root` does, or if it is `None` the
    root is the one element that no other holds. Lines may end in CR alone.

    Raises `InputError` with line and column for bytes that are no DTD, for one that refers to
    another file and for qualified names, `UnknownNameError` for a root that is not declared, and
    `LimitError` beyond `limits.DTD_BYTES_MAX` bytes or `limits.DTD_ELEMENTS_MAX` element types.
    """
    if not isinstance(data, bytes):
        raise InputError(f"a DTD is bytes, not {type(data).__name__}; encode it as UTF-8")
    if len(data) > DTD_BYTES_MAX:
        raise LimitError("DTD_BYTES_MAX", DTD_BYTES_MAX, len(data), "the size of the DTD in bytes")
    elements = tuple(_elements(_parsed(data)))
    return Dtd(_the_root(elements) if root is None else root, elements)


def _parsed(data: bytes) -> Any:
    """The DTD as the parser returns it."""
    encoded = ascii_compatible(data)
    # libxml2 takes CR for white space but counts no line by it.
    lines = encoded.data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    parser = etree.XMLParser(load_dtd=True, no_network=True, resolve_entities=False)
    resolver = _Resolver(lines)
    parser.resolvers.add(resolver)
    try:
        tree = etree.fromstring(_DOCUMENT, parser)
    except etree.XMLSyntaxError as error:
        resolver.check()
        line, column = error.position
        reason = " ".join(_PLACE.sub("", str(error.msg)).split())[:_REASON_CHARS_MAX]
        raise InputError(f"DTD, line {line}, column {column}: {reason}") from None
    resolver.check()
    return tree.getroottree().docinfo.externalDTD


class _Resolver(etree.Resolver):  # type: ignore[misc]  # lxml comes without types
    """Resolves one address to its text, once; `refused` are all other requested addresses."""

    def __init__(self, text: bytes) -> None:
        super().__init__()
        self.text: bytes | None = text
        self.refused: list[str] = []

    def resolve(self, system_url: str, _public_id: str, context: Any) -> Any:
        """Return the DTD for its address, an empty text for any other."""
        if system_url == _ADDRESS and self.text is not None:
            text, self.text = self.text, None
            return self.resolve_string(text, context)
        self.refused.append(str(system_url))
        return self.resolve_empty(context)

    def check(self) -> None:
        """Raise `InputError` if any other address was requested."""
        if self.refused:
            shown = self.refused[0][:_REASON_CHARS_MAX]
            raise InputError(
                f"the DTD refers to {shown!r}; include what it holds, nothing else is loaded"
            )


def _elements(dtd: Any) -> Iterator[ElementType]:
    declared = [one for one in dtd.iterelements() if one.type != "undefined"]
    if not declared:
        raise InputError("the DTD declares no element")
    if len(declared) > DTD_ELEMENTS_MAX:
        raise LimitError(
            "DTD_ELEMENTS_MAX", DTD_ELEMENTS_MAX, len(declared), "the number of element types"
        )
    for one in declared:
        kind = dict(_KINDS)[one.type]
        name, model = _element_name(one), _model(one.content, kind)
        yield ElementType(name, kind, model, tuple(_attributes(one)))


def _element_name(one: Any) -> str:
    """The name of a declaration; XML itself allows colons anywhere in it."""
    if one.prefix or not is_ncname(one.name):
        raise _qualified(f"{one.prefix}:{one.name}" if one.prefix else one.name)
    return str(one.name)


def _part_name(content: Any) -> str:
    """The name of a part of a content model; lxml does not give its prefix."""
    if not is_ncname(content.name):
        raise _qualified(content.name)
    return str(content.name)


def _qualified(name: str) -> InputError:
    return InputError(
        f"the element type {name} has a prefix; DTDs know no namespaces, and here names "
        "compare without prefixes: leave them out"
    )


def _attribute_name(one: Any) -> str:
    """The name of an attribute, with its prefix if it has one."""
    if not (is_ncname(one.name) and (not one.prefix or is_ncname(one.prefix))):
        name = f"{one.prefix}:{one.name}" if one.prefix else one.name
        raise InputError(
            f"the attribute {name} is no name with namespaces; write one colon at most, between "
            "prefix and name"
        )
    return f"{one.prefix}:{one.name}" if one.prefix else str(one.name)


def _model(content: Any, kind: ContentKind) -> Particle | None:
    if content is None or kind in (ContentKind.EMPTY, ContentKind.ANY):
        return None
    if kind is ContentKind.ELEMENTS:
        return _particle(content)
    parts = tuple(_particle(one) for one in _operands(content, "or") if one.type != "pcdata")
    return ChoiceParticle(parts, Occurs.REPEATED) if parts else None


def _particle(content: Any) -> Particle:
    """The particle of a node; libxml2 bounds the nesting of parentheses, and so this recursion."""
    occurs = dict(_OCCURS)[content.occur]
    if content.type == "element":
        return NameParticle(_part_name(content), occurs)
    parts = tuple(_particle(one) for one in _operands(content, content.type))
    return (SequenceParticle if content.type == "seq" else ChoiceParticle)(parts, occurs)


def _operands(content: Any, kind: str) -> Iterator[Any]:
    """The operands of a chain of binary nodes of one kind, which leans to the right."""
    if content.type != kind:
        yield content
        return
    while True:
        yield content.left
        content = content.right
        if content is None:
            return
        if content.type != kind or content.occur != "once":
            yield content
            return


def _attributes(element: Any) -> Iterator[AttributeType]:
    """The attributes by name: the parser has them in an order of its own."""
    found = (
        AttributeType(
            _attribute_name(one),
            one.type,
            dict(_PRESENCES)[one.default],
            one.default_value,
            tuple(one.values()),
        )
        for one in element.iterattributes()
    )
    return iter(sorted(found, key=lambda attribute: attribute.name))


def _the_root(elements: Iterable[ElementType]) -> str:
    every = {one.name: one for one in elements}
    held = {
        name
        for one in every.values()
        if one.model is not None
        for name in occurring(one.model, every)
        if name != one.name
    }
    free = [name for name in every if name not in held]
    if len(free) != 1:
        which = f"any of {', '.join(free[:8])}" if free else "any element"
        raise InputError(f"documents of this DTD may begin with {which}; say which is the root")
    return free[0]
