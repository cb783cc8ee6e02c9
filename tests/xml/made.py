"""Random well-formed documents, small enough for everything to meet everything."""

from __future__ import annotations

from functools import cache
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from hypothesis import strategies as st

NAMES: Final = ("a", "b", "c", "d")
VALUES: Final = ("", "1", "2", "-1", "0.5", " 1 ", "01", "x", "y", "it's", "1x", "&", "é")

_texts = st.sampled_from(VALUES)
_attributes = st.dictionaries(st.sampled_from(NAMES), _texts, max_size=2)
_loose = st.one_of(
    _texts.map(escape),
    _texts.map(escape),
    st.sampled_from(("<!-- c -->", "<?p i?>", "<![CDATA[1]]>", "&#49;", "\n")),
)


def _element(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    inside = st.lists(children | children | _loose, max_size=4).map("".join)
    return st.builds(_written, st.sampled_from(NAMES), _attributes, inside)


def _written(name: str, attributes: dict[str, str], inside: str) -> str:
    pairs = "".join(f" {key}={quoteattr(value)}" for key, value in sorted(attributes.items()))
    return f"<{name}{pairs}>{inside}</{name}>"


_leaf = st.builds(_written, st.sampled_from(NAMES), _attributes, _loose | st.just(""))


@cache
def documents() -> st.SearchStrategy[bytes]:
    """Documents over four names, three or four levels deep."""
    return _element(st.recursive(_leaf, _element, max_leaves=8)).map(str.encode)
