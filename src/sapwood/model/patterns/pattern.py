"""Tree patterns: the filters of XML documents."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from sapwood.errors import LimitError
from sapwood.limits import XPATH_TEXT_CHARS_MAX
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.model.patterns import containment
from sapwood.model.patterns.conditions import (
    ALWAYS,
    Attribute,
    Axis,
    Below,
    Condition,
    NameTest,
    StringValue,
    Text,
    any_of,
    descend,
)
from sapwood.model.patterns.evaluation import DOCUMENT_NODE, satisfying
from sapwood.model.patterns.printing import print_path
from sapwood.model.patterns.twigs import Twig, twigs
from sapwood.model.publication import Publication
from sapwood.xml import DocumentBounds, read_document
from sapwood.xml.bounds import DEFAULT_BOUNDS
from sapwood.xml.document import Document


class PatternMerge(NamedTuple):
    """The result of a merge; `perfect` means that nothing is accepted that neither accepted."""

    filter: TreePattern
    perfect: bool


class TreePattern(Interest):
    """A filter of documents: it accepts those of which its XPath expression is true.

    `root` is the condition on the document, in normal form (`sapwood.model.patterns.conditions`);
    patterns are equal iff their normal forms are. `source` is the text the pattern was read from,
    and `bindings` the prefixes that came with it; neither counts in comparisons.

    Make patterns with `sapwood.parse_xpath`; the constructor expects a normal form.
    """

    __slots__ = ("_twigs", "bindings", "root")

    root: Below
    bindings: tuple[tuple[str, str], ...] | None
    #: the result of `twigs`; depends on the root, which never changes
    _twigs: tuple[Twig, ...] | None

    def __init__(
        self,
        root: Below,
        source: str | None = None,
        bindings: tuple[tuple[str, str], ...] | None = None,
    ) -> None:
        super().__init__(root, source)
        object.__setattr__(self, "root", root)
        object.__setattr__(self, "bindings", bindings)
        object.__setattr__(self, "_twigs", None)

    def __repr__(self) -> str:
        return f"TreePattern(root={self.root!r})"

    def __reduce__(self) -> tuple[type[TreePattern], tuple[object, ...]]:
        """Copies leave cached fields behind."""
        return TreePattern, (self.root, self.source, self.bindings)

    def matches(
        self, document: bytes | Document | Publication, bounds: DocumentBounds = DEFAULT_BOUNDS
    ) -> bool:
        """True if a document, as bytes or already read, or that of a publication is accepted.

        A publication without a document is not. Raises `DocumentError` for bytes that are no
        document, `LimitError` beyond `bounds`.
        """
        if isinstance(document, Publication):
            contents = document.read_document()
            return contents is not None and self.accepts(contents)
        if isinstance(document, Document):
            return self.accepts(document)
        return self.accepts(read_document(document, bounds, content=self.reads_content))

    def accepts(self, document: Document) -> bool:
        """True if a document is accepted; it must have its content if the pattern reads it."""
        return DOCUMENT_NODE in satisfying(self.root, document)

    @property
    def accepts_nothing(self) -> bool:
        """True if surely no document is accepted: one text would need two values at once."""
        if not any(map(_compares, descend(self.root))):  # as a rule
            return False
        return bool(self.twigs) and not any(map(containment.is_satisfiable, self.twigs))

    def covers(self, other: AdvertisedContent) -> bool:
        """True if every publication that `other` accepts is accepted here; no filter is covered.

        Never true where a document refutes it, and complete for paths without predicates and for
        patterns without `*` or without `//`, disjunctions apart (see `containment`).
        """
        if not isinstance(other, TreePattern):
            return False
        wide, narrow = self.twigs, other.twigs
        return self == other or (bool(wide and narrow) and containment.covers(wide, narrow))

    def intersects(self, other: Interest) -> bool:
        """True if some document may be accepted by both; a filter accepts none.

        Never `False` where a document refutes it; always right where no string-value is compared.
        """
        if not isinstance(other, TreePattern):
            return False
        if not self.twigs or not other.twigs:
            return True
        return any(containment.may_intersect(a, b) for a in self.twigs for b in other.twigs)

    def merge(self, other: TreePattern) -> PatternMerge:
        """A pattern that accepts what either accepts.

        The merge is perfect where one covers the other, or where both search the root element
        alike: their conditions on it are then joined by `or`. Otherwise the root element's name or
        depth is given up, and all conditions on it where the union would be too long to be read
        (`limits.XPATH_TEXT_CHARS_MAX`) or compared (`limits.COVERING_ALTERNATIVES_MAX`).
        """
        if self.covers(other):
            return PatternMerge(TreePattern(self.root), perfect=True)
        if other.covers(self):
            return PatternMerge(TreePattern(other.root), perfect=True)
        root = _merged(self.root, other.root)
        is_alike = (self.root.axis, self.root.test) == (other.root.axis, other.root.test)
        union = TreePattern(root)
        if union.twigs and len(str(union)) <= XPATH_TEXT_CHARS_MAX:
            return PatternMerge(union, perfect=is_alike)
        wide = Below(root.axis, root.test, ALWAYS)
        return PatternMerge(TreePattern(wide), perfect=False)

    @property
    def twigs(self) -> tuple[Twig, ...]:
        """The patterns without `or` of which this one is the union, as they are compared.

        Empty if there are more than `limits.COVERING_ALTERNATIVES_MAX`; such a pattern covers
        itself only.
        """
        if self._twigs is None:
            try:
                found = twigs(self.root)
            except LimitError:
                found = ()
            object.__setattr__(self, "_twigs", found)
            return found
        return self._twigs

    @property
    def reads_content(self) -> bool:
        """True if the pattern tests attributes or text."""
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


def _compares(condition: Condition) -> bool:
    """True if the condition compares a text."""
    if not isinstance(condition, Attribute | Text | StringValue):
        return False
    return condition.comparison is not None


def _merged(one: Below, other: Below) -> Below:
    """An element that satisfies either satisfies this; exactly so if both are looked for alike."""
    axis = one.axis if one.axis is other.axis else Axis.DESCENDANT
    test = one.test if one.test == other.test else None
    return Below(axis, test, any_of((one.condition, other.condition)))
