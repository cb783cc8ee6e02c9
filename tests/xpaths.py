"""Random expressions of the fragment that meet the documents of `tests.xml.made`, and lxml."""

from __future__ import annotations

from functools import cache
from typing import Final

from hypothesis import strategies as st
from lxml import etree

from sapwood.errors import LimitError
from sapwood.language.xpath import parse_xpath
from tests.xml.made import NAMES, VALUES

_names: Final = st.sampled_from((*NAMES, *NAMES, "*", "*"))
_axes: Final = st.sampled_from(("/", "/", "//"))
_literals: Final = st.one_of(
    st.sampled_from([value for value in VALUES if "'" not in value]).map(lambda s: f"'{s}'"),
    st.just('"it\'s"'),
    st.sampled_from(("0", "1", "2", "-1", "0.5", ".5", "1.", "10")),
)
_numbers: Final = st.sampled_from(("0", "1", "2", "-1", "0.5", "'1'", "' 2 '"))
_attributes: Final = st.sampled_from(NAMES).map(lambda name: f"@{name}")


@st.composite
def _comparisons(draw: st.DrawFn, path: str) -> str:
    relation = draw(st.sampled_from(("=", "=", "!=", "<", "<=", ">", ">=")))
    literal = draw(_literals if relation in ("=", "!=") else _numbers)
    return draw(st.sampled_from((f"{path}{relation}{literal}", f"{literal} {relation} {path}")))


@st.composite
def _relative_paths(draw: st.DrawFn, depth: int) -> str:
    start = draw(st.sampled_from(("", "", "./", ".//")))
    leaf = draw(st.sampled_from(("", "", "attribute", "text()")))
    end = draw(_attributes) if leaf == "attribute" else leaf
    if end and draw(st.booleans()):
        return start + end
    steps = draw(_steps(depth - 1))
    return f"{start}{steps}{draw(_axes)}{end}" if end else start + steps


@st.composite
def _conditions(draw: st.DrawFn, depth: int) -> str:
    form = draw(st.integers(0, 9))
    if form < 2 and depth > 0:
        word = draw(st.sampled_from((" and ", " or ")))
        inner = draw(st.lists(_conditions(depth - 1), min_size=2, max_size=3))
        return word.join(f"({one})" for one in inner)
    if form == 2:
        return draw(_comparisons("."))
    path = draw(_relative_paths(depth))
    return path if form < 6 else draw(_comparisons(path))


@st.composite
def _steps(draw: st.DrawFn, depth: int) -> str:
    count = draw(st.integers(1, 3 if depth > 0 else 2))
    text = ""
    for at in range(count):
        text += (draw(_axes) if at else "") + draw(_names)
        for _ in range(draw(st.sampled_from((0, 0, 1, 2))) if depth > 0 else 0):
            text += f"[{draw(_conditions(depth - 1))}]"
    return text


@st.composite
def expressions(draw: st.DrawFn) -> str:
    """Expressions that begin with `/`, with `//` or with a name, nested up to three deep."""
    start = draw(st.sampled_from(("/", "//", "//", "")))
    ends = ("", "", "", "/@a", "//@b", "/text()", "//text()")
    return start + draw(_steps(2)) + draw(st.sampled_from(ends))


@cache
def bounded_expressions() -> st.SearchStrategy[str]:
    """Expressions within the bounds for all; a drawn one seldom has too many conditions."""
    return expressions().filter(_is_within_bounds)


def _is_within_bounds(expression: str) -> bool:
    try:
        parse_xpath(expression)
    except LimitError:
        return False
    return True


def truth(expression: str, data: bytes) -> bool:
    """The value of an expression by libxml2; a relative one is taken from any depth."""
    absolute = expression if expression.startswith("/") else f"//{expression}"
    tree = etree.ElementTree(etree.fromstring(data))
    return bool(tree.xpath(f"boolean({absolute})"))
