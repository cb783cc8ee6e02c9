"""Tokens to syntax tree: recursive descent over the fragment.

Written by hand rather than restricted from a general XPath parser (elementpath was the candidate):
most of the work is to refuse, and a refusal should name the unsupported construct and stand at its
first character, which a tree of the whole language no longer has. The fragment's grammar is a
dozen rules; the hard part of XPath's, names that are also operators, vanishes in recursive descent,
which knows at each place whether an operand or an operator is due.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from math import isnan
from typing import Final

from sapwood.errors import FilterSyntaxError, InputError
from sapwood.language.xpath.bounds import DEFAULT_BOUNDS, XPathBounds
from sapwood.language.xpath.lexer import Kind, Token, tokenize
from sapwood.language.xpath.syntax import (
    And,
    AttributeStep,
    Compares,
    ElementStep,
    Exists,
    Expression,
    Or,
    Path,
    Step,
    TextStep,
)
from sapwood.model.patterns.comparison import Comparison, Literal, Relation, number
from sapwood.model.patterns.conditions import Axis, NameTest
from sapwood.xml.names import is_ncname

_RELATIONS: Final = frozenset(relation.value for relation in Relation)
_FLIPPED: Final = (
    (Relation.LESS, Relation.GREATER),
    (Relation.AT_MOST, Relation.AT_LEAST),
    (Relation.GREATER, Relation.LESS),
    (Relation.AT_LEAST, Relation.AT_MOST),
)
_AXES: Final = ("/", "//")
_ARITHMETIC: Final = ("+", "-", "*", "div", "mod")
_XML_NAMESPACE: Final = "http://www.w3.org/XML/1998/namespace"


def parse(
    text: str,
    namespaces: Mapping[str, str] | None = None,
    bounds: XPathBounds = DEFAULT_BOUNDS,
) -> Path:
    """The syntax tree of an expression; see `sapwood.language.xpath.parse_xpath`.

    Raises `FilterSyntaxError` with the position of the first token that does not fit, `LimitError`
    for a text that is too long or too deep, `InputError` for a value that is no text or no mapping.
    """
    if not isinstance(text, str):
        raise InputError(f"an XPath is a text such as '//a[b]', not {type(text).__name__}")
    bounds.check_text(len(text))
    if namespaces is not None:
        _check_prefixes(namespaces)
    return _Parser(text, namespaces, bounds).whole()


def _check_prefixes(namespaces: Mapping[str, str]) -> None:
    """Raise `InputError` unless this is a mapping of prefixes to namespaces, as texts."""
    if not isinstance(namespaces, Mapping):
        kind = type(namespaces).__name__
        raise InputError(f"namespaces are a mapping of prefixes to namespaces, not {kind}")
    for prefix, namespace in namespaces.items():
        if not isinstance(prefix, str) or not isinstance(namespace, str):
            raise InputError(
                f"namespaces are texts by prefixes that are texts, not {prefix!r}: {namespace!r}"
            )
        if not prefix:
            raise InputError(
                "the empty prefix is bound, and XPath 1.0 has no default namespace: give "
                f"{namespace!r} a prefix and write it before each name"
            )
        if not is_ncname(prefix):
            raise InputError(f"the prefix {prefix!r} in namespaces is no name; give it another one")


class _Parser:
    """One token of look-ahead; `depth` bounds the recursion."""

    def __init__(
        self, text: str, namespaces: Mapping[str, str] | None, bounds: XPathBounds
    ) -> None:
        self.text = text
        self.namespaces = namespaces
        self.bounds = bounds
        self.tokens: Iterator[Token] = tokenize(text)
        self.token = next(self.tokens)
        self.ahead = next(self.tokens, self.token)
        self.depth = 0

    def whole(self) -> Path:
        start = self.token
        if start.kind is Kind.END:
            raise self.error("an expression is empty; write //* to accept every document")
        if start.text == "." and start.kind is Kind.SYMBOL:
            raise self.error("an expression begins with /, // or a name")
        axis = self.axis() or Axis.DESCENDANT
        first = self.step(axis)
        if isinstance(first, AttributeStep | TextStep) and axis is Axis.CHILD:
            raise self.error("the document itself has no attributes and no text; write //", start)
        steps = (first, *self.further_steps(first))
        if self.token.kind is not Kind.END:
            raise self.error(self.why_not_the_end())
        return Path(steps)

    def why_not_the_end(self) -> str:
        token = self.token
        if token.kind is Kind.NAME and token.text in ("and", "or"):
            return f"{token.text} is supported between brackets only; or make two subscriptions"
        if token.text in _RELATIONS:
            return "comparisons are supported between brackets only: //a[@b = 1]"
        return self.unsupported_operator() or "expected /, //, [ or the end of the expression"

    def axis(self) -> Axis | None:
        """The separator before a step, if there is one."""
        if self.token.kind is Kind.SYMBOL and self.token.text in _AXES:
            axis = Axis(self.token.text)
            self.advance()
            return axis
        return None

    def further_steps(self, first: Step) -> Iterator[Step]:
        """The steps after the first one, checked against the bound of steps while they are read.

        Later stages follow a path step by step, one call within the other.
        """
        last = first
        for count in itertools.count(1):
            self.bounds.check_path(count)
            place = self.token
            axis = self.axis()
            if axis is None:
                return
            if not isinstance(last, ElementStep):
                ended = "an attribute" if isinstance(last, AttributeStep) else "text()"
                raise self.error(f"nothing lies below {ended}; it ends a path", place)
            last = self.step(axis)
            yield last

    def step(self, axis: Axis) -> Step:
        if self.accept("@"):
            step: Step = AttributeStep(axis, self.attribute_name())
        elif self.token.kind is Kind.NAME and self.token.text == "text" and self.next_is("("):
            self.advance()
            self.advance()
            self.expect(")", "text() takes nothing between its parentheses")
            step = TextStep(axis)
        else:
            test = None if self.accept("*") else self.name("expected a name, *, @ or text()")
            return ElementStep(axis, test, tuple(self.predicates()))
        if self.token.text == "[" and self.token.kind is Kind.SYMBOL:
            raise self.error("predicates are supported on elements only; write [@a = 1]")
        return step

    def attribute_name(self) -> NameTest:
        if self.token.kind is Kind.SYMBOL and self.token.text == "*":
            raise self.error("attributes of any name (@*) are not supported")
        return self.name("expected the name of an attribute after @", attribute=True)

    def name(self, expectation: str, *, attribute: bool = False) -> NameTest:
        token = self.token
        if token.kind is not Kind.NAME:
            raise self.error(self.why_not_a_name() or expectation)
        if self.next_is("("):
            raise self.error(f"the function {token.text}() is not supported")
        if self.next_is("::"):
            raise self.error(f"the axis {token.text}:: is not supported; steps go down by / and //")
        self.advance()
        if not self.accept(":"):
            return NameTest(token.text, None if self.namespaces is None else "")
        if self.token.kind is Kind.SYMBOL and self.token.text == "*":
            raise self.error("any name of a namespace (prefix:*) is not supported", token)
        local = self.token.text
        if self.token.kind is not Kind.NAME:
            raise self.error("expected a name after the prefix")
        if self.next_is("("):
            raise self.error(f"the function {token.text}:{local}() is not supported", token)
        self.advance()
        return NameTest(local, self.namespace(token, attribute=attribute))

    def namespace(self, prefix: Token, *, attribute: bool) -> str:
        bound = dict(self.namespaces or {})
        bound.setdefault("xml", _XML_NAMESPACE)
        if self.namespaces is None:
            kind = "attributes" if attribute else "elements"
            raise self.error(
                f"the prefix {prefix.text} is not bound; pass namespaces, or leave it out to "
                f"compare {kind} by local name",
                prefix,
            )
        if not bound.get(prefix.text):
            raise self.error(f"the prefix {prefix.text} is not bound in namespaces", prefix)
        return bound[prefix.text]

    def why_not_a_name(self) -> str | None:
        match self.token.text if self.token.kind is Kind.SYMBOL else "":
            case "..":
                return "the parent (..) is not supported; steps go down by / and //"
            case ".":
                return "the element itself (.) stands only at the beginning of a predicate"
            case "$":
                return f"variables (${self.ahead.text}) are not supported"
            case "(":
                return "parentheses are supported between brackets only"
            case _:
                return None

    def predicates(self) -> Iterator[Expression]:
        while self.accept("["):
            with self:
                yield self.disjunction()
            self.expect("]", self.unsupported_operator() or "expected and, or, or ]")

    def disjunction(self) -> Expression:
        operands = [self.conjunction()]
        while self.accept_word("or"):
            operands.append(self.conjunction())
        return operands[0] if len(operands) == 1 else Or(tuple(operands))

    def conjunction(self) -> Expression:
        operands = [self.condition()]
        while self.accept_word("and"):
            operands.append(self.condition())
        return operands[0] if len(operands) == 1 else And(tuple(operands))

    def condition(self) -> Expression:
        """A path, compared or not, or a condition in parentheses."""
        start = self.token
        if self.accept("("):
            with self:
                inner = self.disjunction()
            self.expect(")", self.unsupported_operator() or "expected and, or, or )")
            if self.token.text in _RELATIONS and self.token.kind is Kind.SYMBOL:
                raise self.error("comparing a condition in parentheses is not supported", start)
            return inner
        literal = self.literal()
        if literal is not None:
            return self.flipped_comparison(start, literal)
        path = self.relative_path()
        relation = self.relation()
        if relation is None:
            return Exists(path)
        value = self.token
        literal = self.literal()
        if literal is None:
            if value.kind is not Kind.NAME and value.text not in ("@", ".", "/", "//", "*"):
                raise self.error(self.why_not_a_name() or "expected a number or a text in quotes")
            self.relative_path()  # a function or an axis is refused by its own name
            raise self.error(
                "comparing two paths is not supported; compare with a number or a text in quotes",
                value,
            )
        return Compares(path, self.comparison(relation, literal, value))

    def flipped_comparison(self, start: Token, literal: Literal) -> Expression:
        """The comparison of `5 < price`, which means `price > 5`."""
        relation = self.relation()
        if relation is None:
            if isinstance(literal, float):
                raise self.error(f"positions ([{start.text}]) are not supported", start)
            raise self.error("a text alone is always true; compare it with a path", start)
        second = self.token
        if self.literal() is not None:
            raise self.error("comparing two literals is not supported", second)
        flipped = dict(_FLIPPED).get(relation, relation)
        return Compares(self.relative_path(), self.comparison(flipped, literal, start))

    def comparison(self, relation: Relation, literal: Literal, place: Token) -> Comparison:
        """A comparison; order is always between numbers."""
        if isinstance(literal, str) and not relation.is_equality:
            literal = number(literal)
            if isnan(literal):
                raise self.error(
                    f"{relation.value} compares numbers and this is none: nothing would match",
                    place,
                )
        return Comparison(relation, literal)

    def relative_path(self) -> Path:
        token = self.token
        if token.kind is Kind.SYMBOL and token.text in _AXES:
            raise self.error(
                "absolute paths in predicates are not supported; write .//a for any depth below"
            )
        if self.accept("."):
            if self.token.kind is Kind.SYMBOL and self.token.text == "[":
                raise self.error("predicates on . are not supported; write them beside it")
            axis = self.axis()
            if axis is None:
                return Path(())
            first = self.step(axis)
        else:
            first = self.step(Axis.CHILD)
        return Path((first, *self.further_steps(first)))

    def literal(self) -> Literal | None:
        """A text or a number, if the next token is one."""
        token = self.token
        negative = token.kind is Kind.SYMBOL and token.text == "-"
        if negative and self.ahead.kind is Kind.NUMBER:
            self.advance()
            return self.finite(-1.0)
        if negative:
            raise self.error("arithmetic (-) is not supported")
        if token.kind is Kind.TEXT:
            self.advance()
            return token.text
        return self.finite(1.0) if token.kind is Kind.NUMBER else None

    def finite(self, sign: float) -> float:
        token = self.token
        value = float(token.text)
        if value == float("inf"):
            raise self.error("this number is too large for a float")
        self.advance()
        return sign * value if value else 0.0

    def relation(self) -> Relation | None:
        token = self.token
        if token.kind is Kind.SYMBOL and token.text in _RELATIONS:
            self.advance()
            return Relation(token.text)
        return None

    def unsupported_operator(self) -> str | None:
        """The reason for an error, if the token is an operator of XPath that is not supported."""
        token = self.token
        if token.kind in (Kind.SYMBOL, Kind.NAME) and token.text in _ARITHMETIC:
            return f"arithmetic ({token.text}) is not supported"
        if token.kind is Kind.SYMBOL and token.text == "|":
            return "unions (|) are not supported; make two subscriptions"
        if token.kind is Kind.SYMBOL and token.text in _RELATIONS:
            return "a comparison has two sides only"
        return None

    def next_is(self, symbol: str) -> bool:
        return self.ahead.kind is Kind.SYMBOL and self.ahead.text == symbol

    def advance(self) -> None:
        self.token = self.ahead
        self.ahead = next(self.tokens, self.ahead)

    def accept(self, symbol: str) -> bool:
        if self.token.kind is Kind.SYMBOL and self.token.text == symbol:
            self.advance()
            return True
        return False

    def accept_word(self, word: str) -> bool:
        if self.token.kind is Kind.NAME and self.token.text == word:
            self.advance()
            return True
        return False

    def expect(self, symbol: str, expectation: str) -> None:
        if not self.accept(symbol):
            raise self.error(expectation)

    def error(self, expectation: str, token: Token | None = None) -> FilterSyntaxError:
        place = self.token if token is None else token
        return FilterSyntaxError(self.text, place.position, expectation)

    def __enter__(self) -> None:
        self.depth += 1
        self.bounds.check_nesting(self.depth)

    def __exit__(self, *_: object) -> None:
        self.depth -= 1
