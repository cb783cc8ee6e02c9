"""Hypothesis strategies for records, filters and their texts.

All of them draw attribute names and values from small pools, so that filters and records meet,
constraints touch, and the awkward neighbors (2**53 and its float, a text and its successor, texts
that begin alike) stand next to each other.

`values`, `records`, `nested_records` and `records_with_arrays` make what a publication may hold,
`many_valued` the flat view of the last; `literals`, `trees`, `written_trees`, `filter_texts` and
`filters` what a filter may say.
"""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any, Final

from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.language.syntax import (
    And,
    Between,
    Comparison,
    Condition,
    Constant,
    Exists,
    In,
    Like,
    Node,
    Not,
    Operator,
    Or,
    Read,
)
from sapwood.model.filter import Filter
from sapwood.model.printing import KEYWORDS
from sapwood.model.publication import Record, Value, flatten

PLAIN_NAMES: Final = ("a", "b", "price")
AWKWARD_NAMES: Final = ("detail.state", "größe", "unit price", "in", "a.or.b", 'say "hi"', "_x1")
NUMBERS: Final = (
    0,
    1,
    1.5,
    2,
    -1,
    0.1,
    2**53 - 1,
    2**53,
    2**53 + 1,
    float(2**53 + 2),
    2**63 - 1,
    -(2**63),
    float(2**63),
    1e300,
)
TEXTS: Final = (
    "",
    "a",
    "a\0",
    "ab",
    "abc",
    "b",
    "100%",
    "a_b",
    "it's",
    'say "hi"',
    "back\\slash",
    "\ud7ff",
    "\ue000",
    "\uffff",
    "\U0001f600",
    "a\U0010ffff",
    "true",
    "AB",
    "-07",
    "2026-01-31T23:30:00-01:00",
    "2026-02-01T00:30:00.5Z",
)
INSTANTS: Final = (
    "2026-01-31T23:30:00.000000000Z",
    "2026-02-01T00:30:00.000000000Z",
    "2026-02-01T00:30:00.500000000Z",
)
"""Timestamps in the form that they have in a syntax tree."""
_ALPHABET: Final = "ab%_'\\\0\ud7ff\ue000\U0010ffff"
_ORDERING: Final = (Operator.LESS, Operator.AT_MOST, Operator.GREATER, Operator.AT_LEAST)


@cache
def attribute_names() -> st.SearchStrategy[str]:
    """Names of attributes, mostly plain: also dotted, quoted, keyword-like and beyond ASCII."""
    return st.sampled_from(PLAIN_NAMES * 4 + AWKWARD_NAMES)


@cache
def numbers() -> st.SearchStrategy[int | float]:
    """Finite numbers, most of them near each other."""
    return st.one_of(
        st.sampled_from(NUMBERS),
        st.integers(-3, 6),
        st.integers(-6, 12).map(lambda halves: halves / 2),
    )


@cache
def texts() -> st.SearchStrategy[str]:
    """Short texts that begin alike, hold wildcards and quotes, or end at the edges of Unicode."""
    return st.one_of(st.sampled_from(TEXTS), st.text(_ALPHABET, max_size=4))


@cache
def literals() -> st.SearchStrategy[Value]:
    """Values that a filter's text can name: any but the infinities."""
    return st.one_of(numbers(), texts(), st.booleans())


@cache
def values() -> st.SearchStrategy[Value]:
    """Values that a record may hold, the infinities among them."""
    return st.one_of(literals(), st.sampled_from((float("inf"), float("-inf"))))


@cache
def records() -> st.SearchStrategy[Record]:
    """Flat records; often without some of the attributes that filters ask for."""
    return st.dictionaries(attribute_names(), values(), max_size=6)


@cache
def nested_records() -> st.SearchStrategy[dict[str, Any]]:
    """Records as JSON has them: objects in objects, `None`, arrays; no name is given twice."""
    leaves = st.one_of(values(), st.none(), st.lists(literals(), max_size=2))
    keys = st.sampled_from(("a", "b", "price", "detail", "state", "größe", "in"))
    return st.dictionaries(
        keys,
        st.recursive(leaves, lambda inner: st.dictionaries(keys, inner, max_size=3), max_leaves=6),
        max_size=4,
    )


@cache
def records_with_arrays() -> st.SearchStrategy[dict[str, Any]]:
    """Records some of whose attributes are arrays, of few elements; some are empty."""
    some = st.one_of(values(), values(), st.lists(st.one_of(values(), st.none()), max_size=3))
    return st.dictionaries(attribute_names(), some, max_size=6)


@cache
def many_valued() -> st.SearchStrategy[Record]:
    """Flat views in which attributes may have several values."""
    return records_with_arrays().map(lambda record: flatten(record).record)


@cache
def trees(
    *, patterns: bool = True, max_leaves: int = 8, names: tuple[str, ...] = ()
) -> st.SearchStrategy[Node]:
    """Syntax trees of filters; without `patterns` no `like` that is more than a prefix.

    `names` are the attributes to use where `attribute_names` has too many.
    """
    conditions = _conditions(patterns=patterns, names=names)
    leaves = _weighted(conditions, st.booleans().map(Constant))
    return st.recursive(leaves, _branches, max_leaves=max_leaves)


@cache
def coarse_trees(*, max_leaves: int = 12) -> st.SearchStrategy[Node]:
    """Trees over two attributes and few values: their boxes touch, overlap and join often."""
    numeric = st.builds(
        Comparison, st.sampled_from(("x", "y")), st.sampled_from(Operator), st.integers(0, 3)
    )
    other = st.builds(
        Comparison,
        st.sampled_from(("x", "y")),
        st.sampled_from((Operator.EQUAL, Operator.DIFFERENT)),
        st.sampled_from((True, False, "s")),
    )
    exists = st.builds(Exists, st.sampled_from(("x", "y")))
    leaves = st.one_of(numeric, numeric, numeric, other, exists)
    return st.recursive(leaves, _branches, max_leaves=max_leaves)


@cache
def conjunction_trees(*, patterns: bool = True) -> st.SearchStrategy[Node]:
    """Syntax trees of a condition or of a conjunction of conditions, some of them negated."""
    leaf = _conditions(patterns=patterns).flatmap(lambda c: st.sampled_from((c, c, Not(c))))
    several = st.lists(leaf, min_size=2, max_size=4).map(lambda leaves: And(tuple(leaves)))
    return st.one_of(leaf, several)


@cache
def written_trees(
    *, patterns: bool = True, max_leaves: int = 8
) -> st.SearchStrategy[tuple[str, Node]]:
    """The text of a filter in some spelling, and the tree that reading it must give."""
    drawn = st.tuples(trees(patterns=patterns, max_leaves=max_leaves), st.integers(0, 2**16))
    return drawn.map(lambda pair: (written(*pair), pair[0]))


@cache
def filter_texts(*, patterns: bool = True) -> st.SearchStrategy[str]:
    """Texts of the language in many spellings, all of them readable."""
    return written_trees(patterns=patterns).map(lambda written: written[0])


@cache
def filters(*, patterns: bool = True) -> st.SearchStrategy[Filter]:
    """Filters in normal form, also those that accept everything or nothing."""
    return filter_texts(patterns=patterns).map(parse_filter)


@cache
def conjunction_filters(*, patterns: bool = True) -> st.SearchStrategy[Filter]:
    """Filters of one conjunction at most."""
    return (
        conjunction_trees(patterns=patterns)
        .map(lambda tree: parse_filter(written(tree)))
        .filter(lambda f: len(f.conjunctions) <= 1)
    )


@cache
def like_patterns(*, general: bool = True) -> st.SearchStrategy[tuple[str, str | None]]:
    """A `like` pattern and its escape; without `general` only literals and prefixes."""
    piece = st.sampled_from(("a", "b", "ab", "%", "_", "!%", "!_", "!!", "\U0010ffff"))
    literal = st.sampled_from(("a", "b", "ab", "!%", "!_", "!!", "\ud7ff", "\U0010ffff"))
    pieces = st.lists(piece, max_size=5).map("".join)
    prefix = st.tuples(st.lists(literal, max_size=3).map("".join), st.sampled_from(("", "%")))
    return (pieces if general else prefix.map("".join)).map(_escaped)


def written(tree: Node, seed: int = 0) -> str:
    """The text of a tree; `seed` picks case, spaces, quotes, parentheses and synonyms."""
    return _text(tree, _Spelling(seed))


def _escaped(text: str) -> tuple[str, str | None]:
    return text, ("!" if "!" in text else None)


def _conditions(*, patterns: bool, names: tuple[str, ...] = ()) -> st.SearchStrategy[Condition]:
    named = st.sampled_from(names) if names else attribute_names()
    ordered = st.one_of(numbers(), texts())
    readings = (_readings(named),) if patterns else ()
    return st.one_of(
        *readings,
        st.builds(Comparison, named, st.sampled_from((Operator.EQUAL,)), literals()),
        st.builds(Comparison, named, st.sampled_from((Operator.DIFFERENT,)), literals()),
        st.builds(Comparison, named, st.sampled_from(_ORDERING), ordered),
        st.builds(Between, named, ordered, ordered),
        st.builds(In, named, st.lists(literals(), min_size=1, max_size=4).map(tuple)),
        st.builds(_like, named, like_patterns(general=patterns)),
        st.builds(Exists, named),
    )


def _readings(named: st.SearchStrategy[str]) -> st.SearchStrategy[Condition]:
    """Conditions on what texts read as, with the constants that suit the function."""
    spelled = st.sampled_from(TEXTS).map(str.lower)
    constants = {"integer": numbers(), "lower": spelled, "timestamp": st.sampled_from(INSTANTS)}
    kinds: list[st.SearchStrategy[Condition]] = [
        st.builds(Read, st.just("lower"), st.builds(_like, named, like_patterns()))
    ]
    for function, constant in constants.items():
        leaves = st.one_of(
            st.builds(Comparison, named, st.sampled_from(Operator), constant),
            st.builds(Between, named, constant, constant),
            st.builds(In, named, st.lists(constant, min_size=1, max_size=3).map(tuple)),
            st.builds(Exists, named),
        )
        kinds.append(st.builds(Read, st.just(function), leaves))
    return st.one_of(kinds)


def _like(attribute: str, pattern: tuple[str, str | None]) -> Like:
    return Like(attribute, *pattern)


def _weighted(often: st.SearchStrategy[Any], seldom: st.SearchStrategy[Any]) -> Any:
    return st.integers(0, 3).flatmap(lambda n: often if n else seldom)


def _branches(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    operands = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(st.builds(Not, inner), st.builds(And, operands), st.builds(Or, operands))


class _Spelling:
    """Chooses among spellings by a seed, so that one draw decides all; 0 takes the first ones."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed) if seed else None

    def choice(self, *spellings: str) -> str:
        return spellings[0] if self.random is None else self.random.choice(spellings)


def _text(node: Node, spelling: _Spelling) -> str:
    if isinstance(node, And | Or):
        word = _word("and" if isinstance(node, And) else "or", spelling)
        return f" {word} ".join(_operand(operand, spelling) for operand in node.operands)
    if isinstance(node, Not):
        return f"{_word('not', spelling)} {_operand(node.operand, spelling)}"
    return _leaf(node, spelling)


def _operand(node: Node, spelling: _Spelling) -> str:
    text = _text(node, spelling)
    if isinstance(node, And | Or):
        return spelling.choice(f"({text})", f"( {text}\n)")
    return spelling.choice(text, text, f"({text})")


def _leaf(node: Constant | Condition, spelling: _Spelling) -> str:
    if isinstance(node, Constant):
        return _word("true" if node.value else "false", spelling)
    name = _name(node.attribute, spelling)
    if isinstance(node, Read):
        name = f"{_word(node.function, spelling)}{spelling.choice('', ' ')}({name})"
        node = node.condition
    match node:
        case Comparison(_, Operator.EQUAL, True):
            return spelling.choice(f"{name} = true", name, f"{name}=TRUE")
        case Comparison(_, operator, value):
            written = spelling.choice("<>", "!=") if operator is Operator.DIFFERENT else None
            space = spelling.choice(" ", "")
            return f"{name}{space}{written or operator.value}{space}{_literal(value, spelling)}"
        case Between(_, low, high):
            ends = (_literal(low, spelling), _literal(high, spelling))
            return f"{name} {_word('between', spelling)} {ends[0]} and {ends[1]}"
        case In(_, members):
            comma = spelling.choice(", ", ",", " , ")
            values = comma.join(_literal(member, spelling) for member in members)
            return f"{name} {_word('in', spelling)} ({values})"
        case Like(_, pattern, escape):
            end = "" if escape is None else f" {_word('escape', spelling)} {_quoted(escape)}"
            return f"{name} {_word('like', spelling)} {_quoted(pattern)}{end}"
        case Exists():
            return spelling.choice(f"exists {name}", f"{name} is not null", f"{name} IS NOT NULL")


def _name(name: str, spelling: _Spelling) -> str:
    quoted = '"' + name.replace('"', '""') + '"'
    plain = all(part.isidentifier() for part in name.split(".")) and name not in KEYWORDS
    return spelling.choice(name, name, quoted) if plain else quoted


def _literal(value: Value, spelling: _Spelling) -> str:
    if isinstance(value, bool):
        return _word("true" if value else "false", spelling)
    if isinstance(value, str):
        return _quoted(value)
    return spelling.choice(repr(value), repr(value) if value < 0 else f"+{value!r}")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _word(word: str, spelling: _Spelling) -> str:
    return spelling.choice(word, word.upper(), word.capitalize())
