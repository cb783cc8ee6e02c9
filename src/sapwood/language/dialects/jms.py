"""Message selectors of Jakarta Messaging 3.1 (JMS), section 3.8, as record filters.

A selector has three values: a comparison with an absent attribute is *unknown*, and so is its
negation; one between values of types that cannot be compared is *false*, and its negation true. In
that second rule the language of the house differs (`not price > 10` is true here of a price that is
a text), so conditions are kept as outcomes (`dialects.outcomes`).

A condition that no filter can represent is refused: arithmetic with attributes, and a comparison of
two of them. Names may be dotted, for the members of nested records, which selectors do not know.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from sapwood.errors import FilterSyntaxError, InputError
from sapwood.language.dialects import outcomes
from sapwood.language.dialects.outcomes import Outcome
from sapwood.language.dialects.reader import Reader
from sapwood.language.lexer import Kind, Token
from sapwood.language.rewrites.conditions import compared
from sapwood.language.syntax import Exists, Node, Not, Operator
from sapwood.limits import INTEGER_MAX, INTEGER_MIN
from sapwood.model import constraint as c
from sapwood.model.like import Pattern
from sapwood.model.publication import Value

_KEYWORDS: Final = frozenset(
    ("and", "between", "escape", "false", "in", "is", "like", "not", "null", "or", "true")
)
_TOKEN: Final = re.compile(
    r"""
    \s*+ (?:
      (?P<name>     [^\W\d][\w$]*+ (?: \.[^\W\d][\w$]*+ )*+ | \$[\w$]*+ )
    | (?P<number>   (?: [0-9]++ (?:\.[0-9]*+)? | \.[0-9]++ ) (?:[eE][+-]?[0-9]++)? [\w.]*+ )
    | (?P<operator> <= | >= | <> | [=<>+*/-] )
    | (?P<text>     ' (?: [^']++ | '' )*+ ' )
    | (?P<punctuation> [(),] )
    | (?P<end>      \Z )
    )
    """,
    re.VERBOSE,
)
_COMPARISONS: Final = tuple(operator.value for operator in Operator)
_EQUALITIES: Final = ("=", "<>")
_FLIPPED: Final[Mapping[str, str]] = MappingProxyType({"<": ">", "<=": ">=", ">": "<", ">=": "<="})

_CANNOT_RECKON: Final = "a filter cannot reckon with attributes; bring the constants to one side"


class _Literal(NamedTuple):
    """A constant, or the result of arithmetic on constants."""

    value: Value
    at: Token


class _Name(NamedTuple):
    """An attribute."""

    name: str
    at: Token


_Operand: TypeAlias = _Literal | _Name


def parse(text: str) -> Node:
    """The syntax tree of the records that a selector selects.

    Raises `FilterSyntaxError` at the first token that does not fit or means a condition that no
    filter can represent, and `LimitError` as the parser of filters does.
    """
    return _Selector(Reader(text, _TOKEN, _token)).whole().holds


def _token(text: str, kind: Kind, written: str, position: int) -> Token:
    if kind is Kind.NAME and written.lower() in _KEYWORDS:
        return Token(Kind.KEYWORD, written.lower(), position)
    if kind is Kind.TEXT:
        return Token(kind, written, position, written[1:-1].replace("''", "'"))
    if kind is Kind.NUMBER:
        return Token(kind, written, position, _number(text, written, position))
    return Token(kind, written, position)


def _number(text: str, written: str, position: int) -> int | float:
    """A literal of Java: integers of 64 bits, decimal or hexadecimal, and floats."""
    plain = written.rstrip("lL")
    value: int | float
    if re.fullmatch(r"0[xX][0-9a-fA-F]+", plain):
        value = int(plain, 16)
    elif re.fullmatch(r"0[0-9]+", plain):
        reason = "a number that begins with 0 is octal in Java; write it in decimal, without the 0"
        raise FilterSyntaxError(text, position, reason)
    elif re.fullmatch("[0-9]+", plain):
        value = int(plain) if len(plain) < 32 else INTEGER_MAX + 1
    else:
        try:
            value = float(written.rstrip("fFdD"))
        except ValueError:
            raise FilterSyntaxError(text, position, "this is not a number") from None
    if value > INTEGER_MAX and isinstance(value, int):
        raise FilterSyntaxError(text, position, "this integer needs more than 64 bits")
    if value == math.inf:
        raise FilterSyntaxError(text, position, "this number is too large for a float")
    return value


class _Selector:
    """Recursive descent over the tokens of a selector."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def whole(self) -> Outcome:
        if self.reader.at_end:
            reason = "this selector is empty; leave the dialect out and write true for everything"
            raise self.reader.error(reason)
        found = self.condition(self.disjunction())
        if not self.reader.at_end:
            raise self.reader.error("expected and, or, or the end of the selector")
        return found

    def disjunction(self) -> Outcome | _Operand:
        return self.joined("or", self.conjunction, outcomes.any_of)

    def conjunction(self) -> Outcome | _Operand:
        return self.joined("and", self.negation, outcomes.all_of)

    def joined(
        self,
        word: str,
        operand: Callable[[], Outcome | _Operand],
        join: Callable[[list[Outcome]], Outcome],
    ) -> Outcome | _Operand:
        first = operand()
        if self.reader.token.text != word or self.reader.token.kind is not Kind.KEYWORD:
            return first
        operands = [self.condition(first)]
        while self.reader.accept(word):
            operands.append(self.condition(operand()))
        return join(operands)

    def negation(self) -> Outcome | _Operand:
        if self.reader.accept("not"):
            with self.reader.deeper():
                return self.condition(self.negation()).negated()
        return self.predicate()

    def condition(self, found: Outcome | _Operand) -> Outcome:
        """An operand as a condition: an attribute alone holds where it is true."""
        if isinstance(found, Outcome):
            return found
        if isinstance(found, _Name):
            return outcomes.equal(found.name, value=True)
        if isinstance(found.value, bool):
            return outcomes.constant(found.value)
        raise self.reader.error("a condition is needed here, such as price > 10", found.at)

    def predicate(self) -> Outcome | _Operand:
        left = self.sum()
        if isinstance(left, Outcome):
            return left
        operator = self.reader.accept(*_COMPARISONS)
        if operator is not None:
            return self.comparison(left, operator, self.value("expected a value to compare with"))
        if self.reader.accept("is"):
            name = self.name(left, "is null asks of an attribute")
            is_present = self.reader.accept("not") is not None
            self.reader.expect("null", "expected null or not null after is")
            outcome = Outcome(Exists(name), Not(Exists(name)))
            return outcome if is_present else outcome.negated()
        if self.reader.accept("not"):
            return self.worded(left, required=True, negated=True)
        return self.worded(left, required=False, negated=False)

    def worded(self, left: _Operand, *, required: bool, negated: bool) -> Outcome | _Operand:
        """`between`, `in` or `like`, or else the operand alone."""
        if self.reader.accept("between"):
            return self.between(left, negated=negated)
        found: Outcome
        if self.reader.accept("in"):
            texts = c.one_of(self.texts())
            found = outcomes.one_way(self.name(left, "in asks of an attribute"), texts)
        elif self.reader.accept("like"):
            found = self.like(self.name(left, "like asks of an attribute"))
        elif required:
            raise self.reader.error("expected between, in or like after not")
        else:
            return left
        return found.negated() if negated else found

    def between(self, left: _Operand, *, negated: bool) -> Outcome:
        """Two comparisons, as in the specification: `not between` is not the negation."""
        low = self.value("expected the lower end")
        word = self.reader.expect("and", "expected and between the two ends")
        high = self.value("expected the upper end")
        signs, join = (("<", ">"), outcomes.any_of) if negated else ((">=", "<="), outcomes.all_of)
        ends = zip(signs, (low, high), strict=True)
        return join([self.comparison(left, word._replace(text=sign), end) for sign, end in ends])

    def comparison(self, left: _Operand, operator: Token, right: _Operand) -> Outcome:
        sign = operator.text
        if isinstance(left, _Literal) and isinstance(right, _Name):
            left, right, sign = right, left, _FLIPPED.get(sign, sign)
        if isinstance(right, _Name):
            raise self.reader.error("a filter compares attributes with constants only", right.at)
        value = right.value
        if sign not in _EQUALITIES and isinstance(value, str | bool):
            raise self.reader.error("texts and booleans have no order here; use = or <>", operator)
        if isinstance(left, _Name):
            return outcomes.one_way(left.name, compared(Operator(sign), value))
        if sign not in _EQUALITIES and isinstance(left.value, str | bool):
            raise self.reader.error("texts and booleans have no order here; use = or <>", operator)
        return outcomes.constant(compared(Operator(sign), value).accepts(left.value))

    def texts(self) -> list[str]:
        self.reader.expect("(", "expected ( and a list of texts after in")
        found = [self.text("expected a text; in takes texts only")]
        while self.reader.accept(","):
            found.append(self.text("expected a text; in takes texts only"))
        self.reader.expect(")", "expected a comma or ) in the list of texts")
        return found

    def like(self, name: str) -> Outcome:
        start = self.reader.token
        pattern, escape = self.text("expected a pattern in single quotes after like"), None
        if self.reader.accept("escape"):
            escape = self.text("expected one character in single quotes after escape")
        try:
            return outcomes.like(name, Pattern.parse(pattern, escape))
        except InputError as error:
            raise self.reader.error(str(error), start) from None

    def text(self, expectation: str) -> str:
        if self.reader.token.kind is not Kind.TEXT:
            raise self.reader.error(expectation)
        return str(self.reader.advance().value)

    def name(self, operand: _Operand, expectation: str) -> str:
        if isinstance(operand, _Literal):
            raise self.reader.error(f"{expectation}, not of a constant", operand.at)
        return operand.name

    def value(self, expectation: str) -> _Operand:
        start = self.reader.token
        found = self.sum()
        if isinstance(found, Outcome):
            raise self.reader.error(expectation, start)
        return found

    def sum(self) -> Outcome | _Operand:
        return self.reckoned(("+", "-"), self.product)

    def product(self) -> Outcome | _Operand:
        return self.reckoned(("*", "/"), self.signed)

    def reckoned(
        self, signs: tuple[str, ...], operand: Callable[[], Outcome | _Operand]
    ) -> Outcome | _Operand:
        left = operand()
        while sign := self.reader.accept(*signs):
            one, other = self.number(left, sign), self.number(operand(), sign)
            left = _Literal(self.result(one, sign, other), sign)
        return left

    def signed(self) -> Outcome | _Operand:
        sign = self.reader.accept("+", "-")
        if sign is None:
            return self.primary()
        with self.reader.deeper():
            value = self.number(self.signed(), sign)
            return _Literal(-value if sign.text == "-" else value, sign)

    def number(self, operand: Outcome | _Operand, sign: Token) -> int | float:
        """The number of an operand of arithmetic."""
        if isinstance(operand, _Name):
            raise self.reader.error(_CANNOT_RECKON, operand.at)
        if isinstance(operand, Outcome) or isinstance(operand.value, str | bool):
            raise self.reader.error("only numbers can be reckoned with", sign)
        return operand.value

    def result(self, one: int | float, sign: Token, other: int | float) -> int | float:
        """The result of Java for two constants: integers stay integers, and division cuts off."""
        try:
            found = _reckon(one, sign.text, other)
        except (ZeroDivisionError, OverflowError):
            raise self.reader.error("this has no finite value", sign) from None
        if isinstance(found, int) and not INTEGER_MIN <= found <= INTEGER_MAX:
            raise self.reader.error("this passes 64 bits", sign)
        if isinstance(found, float) and not math.isfinite(found):
            raise self.reader.error("this has no finite value", sign)
        return found

    def primary(self) -> Outcome | _Operand:
        token = self.reader.token
        if token.kind in (Kind.NUMBER, Kind.TEXT):
            assert token.value is not None, "literals have a value"
            return _Literal(token.value, self.reader.advance())
        if token.kind is Kind.NAME:
            return _Name(token.text, self.reader.advance())
        if self.reader.accept("true", "false"):
            return _Literal(token.text == "true", token)
        if self.reader.accept("("):
            with self.reader.deeper():
                found = self.disjunction()
            self.reader.expect(")", "expected and, or, or a closing parenthesis")
            return found
        if token.kind is Kind.KEYWORD and token.text == "null":
            raise self.reader.error("nothing compares with null; write is null or is not null")
        raise self.reader.error("expected an attribute, a constant, not or (")


def _reckon(one: int | float, sign: str, other: int | float) -> int | float:
    if sign == "+":
        return one + other
    if sign == "-":
        return one - other
    if sign == "*":
        return one * other
    if isinstance(one, int) and isinstance(other, int):
        cut = abs(one) // abs(other)
        return cut if (one < 0) == (other < 0) else -cut
    return one / other
