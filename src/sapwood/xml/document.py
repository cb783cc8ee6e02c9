"""A document as flat sequences: one entry an element, in document order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sapwood.errors import InputError


@dataclass(frozen=True, slots=True)
class Content:
    """Text and attributes of the elements of a document.

    Element `e` has the attributes `attribute_starts[e]` up to `attribute_starts[e + 1]` of
    `attribute_names` and `attribute_values`. Text nodes (`texts`) are in document order, each
    owned by the element it is a child of (`owners`); those within `e`, at any depth, are
    `first_texts[e]` up to `last_texts[e]`. Comments and processing instructions are left out, but
    they do part text nodes, as in XPath 1.0 (section 5.7).
    """

    attribute_starts: tuple[int, ...]
    attribute_names: tuple[str, ...]
    attribute_values: tuple[str, ...]
    texts: tuple[str, ...]
    owners: tuple[int, ...]
    first_texts: tuple[int, ...]
    last_texts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A well-formed document without DOCTYPE, as `sapwood.xml.reader.read_document` makes it.

    `names[e]` is the name of element `e`: `local`, or `{namespace}local`. `parents[e]` is the
    element it lies in, -1 for the root, which is element 0. `content` is `None` where only the
    structure was read.
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]
    content: Content | None = None

    def __len__(self) -> int:
        """The number of elements."""
        return len(self.names)

    @property
    def whole(self) -> Content:
        """The content; raises `InputError` if only the structure was read."""
        if self.content is None:
            raise InputError("this document was read without its content; read it again with it")
        return self.content

    def attributes(self, element: int) -> Iterator[tuple[str, str]]:
        """Names and values of an element's attributes, namespace declarations left out."""
        content = self.whole
        first, last = content.attribute_starts[element : element + 2]
        return zip(
            content.attribute_names[first:last], content.attribute_values[first:last], strict=True
        )

    def texts(self, element: int) -> Iterator[str]:
        """The text nodes that are children of an element."""
        content = self.whole
        for at in range(content.first_texts[element], content.last_texts[element]):
            if content.owners[at] == element:
                yield content.texts[at]

    def string_value(self, element: int) -> str:
        """All text within an element, joined (XPath 1.0, section 5.2)."""
        content = self.whole
        return "".join(content.texts[content.first_texts[element] : content.last_texts[element]])

    def ends(self) -> tuple[int, ...]:
        """The first element after each element that does not lie within it."""
        ends = [element + 1 for element in range(len(self))]
        for element in range(len(self) - 1, 0, -1):
            parent = self.parents[element]
            ends[parent] = max(ends[parent], ends[element])
        return tuple(ends)


def local_name(name: str) -> str:
    """A name without its namespace."""
    return name.rpartition("}")[2]
