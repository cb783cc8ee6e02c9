"""Tree patterns: the filters of XML documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from sapwood.model.documents.conditions import (
    Attribute,
    Below,
    Condition,
    NameTest,
    StringValue,
    Text,
    descend,
)
from sapwood.model.documents.evaluation import DOCUMENT_NODE, satisfying
from sapwood.model.documents.printing import print_path
from sapwood.xml import DocumentBounds, read_document
from sapwood.xml.bounds import DEFAULT_BOUNDS
from sapwood.xml.document import Document


@dataclass(frozen=True, slots=True)
class TreePattern:
    """What a subscription to documents accepts: those of which its XPath expression is true.

    `root` is what is asked of the document, in normal form (`sapwood.model.documents.conditions`);
    patterns are equal iff their normal forms are. `source` is the text the pattern was read from,
    and `bindings` the prefixes that came with it; neither counts in comparisons.

    Make patterns with `sapwood.parse_xpath`; the constructor expects a normal form.
    """

    root: Below
    source: str | None = field(default=None, compare=False, repr=False)
    bindings: tuple[tuple[str, str], ...] | None = field(default=None, compare=False, repr=False)

    def matches(self, document: bytes | Document, bounds: DocumentBounds = DEFAULT_BOUNDS) -> bool:
        """Whether a document, as bytes or already read, is accepted.

        Raises `DocumentError` for bytes that are no document, `LimitError` beyond `bounds`.
        """
        if isinstance(document, Document):
            return self.accepts(document)
        return self.accepts(read_document(document, bounds, content=self.reads_content))

    def accepts(self, document: Document) -> bool:
        """Whether a document is accepted; it must have its content if the pattern reads it."""
        return DOCUMENT_NODE in satisfying(self.root, document)

    @property
    def reads_content(self) -> bool:
        """Whether the pattern asks for attributes or text."""
        leaves = (Attribute, Text, StringValue)
        return any(isinstance(one, leaves) for one in descend(self.root))

    @property
    def namespaces(self) -> Mapping[str, str] | None:
        """Prefixes with which `str` can be read again; `None` where local names are compared."""
        tests = [test for one in descend(self.root) if (test := _test(one)) is not None]
        if all(test.namespace is None for test in tests):
            return None
        used = sorted({test.namespace for test in tests if test.namespace})
        return MappingProxyType({f"n{at}": namespace for at, namespace in enumerate(used, 1)})

    def __str__(self) -> str:
        """The normal form as XPath; with `namespaces`, reading it gives an equal pattern."""
        bound = self.namespaces or {}
        return print_path(self.root, {namespace: prefix for prefix, namespace in bound.items()})


def _test(condition: Condition) -> NameTest | None:
    return condition.test if isinstance(condition, Below | Attribute) else None
