"""XPath text to syntax tree to tree pattern.

The language is the fragment of XPath 1.0 that content-based routing uses: `/`, `//`, `*`, names,
`@name`, `text()`, and predicates with nested relative paths, `and`, `or` and comparisons with a
literal. A relative expression `a/b` means `//a/b`, as in the covering literature.
"""

from __future__ import annotations

from collections.abc import Mapping

from sapwood.language.xpath.bounds import DEFAULT_BOUNDS, XPathBounds
from sapwood.language.xpath.normal import normal_form
from sapwood.language.xpath.parser import parse
from sapwood.model.patterns.pattern import TreePattern

__all__ = ["XPathBounds", "parse_xpath"]


def parse_xpath(
    text: str,
    namespaces: Mapping[str, str] | None = None,
    bounds: XPathBounds = DEFAULT_BOUNDS,
) -> TreePattern:
    """Read a document filter, such as `//body[headline]//p[@lang = 'en']`.

    Without `namespaces` (prefix to namespace), names compare by their local part. With it, even an
    empty one, they compare expanded: a name without prefix is in no namespace, so that the empty
    prefix cannot be bound.

    Raises `FilterSyntaxError` with the position of the first error and the name of an unsupported
    construct, `LimitError` for an expression beyond `bounds`, and `InputError` for a value that is
    no text or no mapping of prefixes.
    """
    path = parse(text, namespaces, bounds)
    bindings = None if namespaces is None else tuple(sorted(namespaces.items()))
    return normal_form(path, bounds, source=text, bindings=bindings)
