"""The bounds of a document. Each can be raised, and every error names its bound."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from sapwood.errors import InputError, LimitError
from sapwood.limits import (
    DOCUMENT_BYTES_MAX,
    DOCUMENT_DEPTH_CEILING,
    DOCUMENT_DEPTH_MAX,
    DOCUMENT_ELEMENTS_MAX,
    ELEMENT_ATTRIBUTES_MAX,
)
from sapwood.limits.documents import DOCUMENT_REMARKS_MAX


@dataclass(frozen=True, slots=True)
class DocumentBounds:
    """The bounds of one document; the defaults are those of `sapwood.limits`.

    `size` in bytes as they came, `depth` in levels (the root element is level 1), `elements` in
    all, `attributes` of one element (namespace declarations count), `remarks` are comments and
    processing instructions, in all.

    Raises `InputError` for a bound below 1, `LimitError` for a depth that the parser cannot do.
    """

    size: int = DOCUMENT_BYTES_MAX
    depth: int = DOCUMENT_DEPTH_MAX
    elements: int = DOCUMENT_ELEMENTS_MAX
    attributes: int = ELEMENT_ATTRIBUTES_MAX
    remarks: int = DOCUMENT_REMARKS_MAX

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) < 1:
                raise InputError(f"the bound {field.name} of documents must be at least 1")
        if self.depth > DOCUMENT_DEPTH_CEILING:
            raise LimitError(
                "DOCUMENT_DEPTH_CEILING",
                DOCUMENT_DEPTH_CEILING,
                self.depth,
                "the depth that documents are allowed",
            )

    def check_size(self, size: int) -> None:
        """Raise `LimitError` for a document of more bytes than `size`."""
        if size > self.size:
            raise LimitError(
                "DOCUMENT_BYTES_MAX", self.size, size, "the size of the document in bytes"
            )

    def check_depth(self, depth: int) -> None:
        """Raise `LimitError` for elements nested deeper than `depth`."""
        if depth > self.depth:
            raise LimitError("DOCUMENT_DEPTH_MAX", self.depth, depth, "the depth of the document")

    def too_deep(self) -> LimitError:
        """The error for a document that is too deep, by an unknown number of levels."""
        return LimitError("DOCUMENT_DEPTH_MAX", self.depth, None, "the depth of the document")

    def too_many_elements(self) -> LimitError:
        """The error for more elements than `elements`."""
        return LimitError(
            "DOCUMENT_ELEMENTS_MAX", self.elements, None, "the number of elements in the document"
        )

    def too_many_remarks(self) -> LimitError:
        """The error for more comments and processing instructions than `remarks`."""
        return LimitError(
            "DOCUMENT_REMARKS_MAX",
            self.remarks,
            None,
            "the number of comments and processing instructions in the document",
        )

    def too_many_attributes(self) -> LimitError:
        """The error for more attributes of one element than `attributes`."""
        return LimitError(
            "ELEMENT_ATTRIBUTES_MAX",
            self.attributes,
            None,
            "the number of attributes of one element",
        )


DEFAULT_BOUNDS: Final = DocumentBounds()
