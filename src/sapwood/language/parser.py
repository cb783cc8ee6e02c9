"""Tokens to syntax tree: recursive descent by precedence `or < and < not < condition`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from sapwood.errors import FilterSyntaxError, InputError, LimitError
from sapwood.language.hints import about_call, about_text, about_word
from sapwood.language.lexer import Kind, Token, tokenize
from sapwood.language.readings import readable
from sapwood.language.syntax import (
    And,
    Between,
    Comparison,
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
from sapwood.limits import FILTER_NESTING_MAX
from sapwood.model.like import Pattern
from sapwood.model.publication import Value
from sapwood.model.readings import FUNCTIONS

_ORDERING: Final = frozenset((Operator.LESS, Operator.AT_MOST, Operator.GREATER, Operator.AT_LEAST))


def parse(text: str) -> Node:
    """The syntax tree of a filter's text.

    Raises `FilterSyntaxError` with the position of the first token that does not fit, `LimitError`
    beyond `limits.FILTER_TEXT_CHARS_MAX` or `limits.FILTER_NESTING_MAX`.
    """
    if not isinstance(text, str):
        raise InputError(f"a filter is a text, not {type(text).__name__}")
    return _Parser(text).whole()


class _Parser:
    """One token of look-ahead over the text; `depth` bounds the recursion."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: Iterator[Token] = tokenize(text)
        self.token = next(self.tokens)
        self.depth = 0

    def whole(self) -> Node:
        if self.at_end():
            raise self.error("a filter is empty; write true to accept everything")
        node = self.disjunction()
        if not self.at_end():
            raise self.error("expected and, or, or the end of the filter")
        return node

    def disjunction(self) -> Node:
        return self.sequence("or", self.conjunction, Or)

    def conjunction(self) -> Node:
        return self.sequence("and", self.negation, And)

    def sequence(self, word: str, operand: Callable[[], Node], node: type[And] | type[Or]) -> Node:
        operands = [operand()]
        while self.accept(Kind.KEYWORD, word):
            operands.append(operand())
        return operands[0] if len(operands) == 1 else node(tuple(operands))

    def negation(self) -> Node:
        if self.token.kind is Kind.KEYWORD and self.token.text == "not":
            with self:
                self.advance()
                return Not(self.negation())
        return self.primary()

    def primary(self) -> Node:
        token = self.token
        if token.kind is Kind.NAME:  # most begin with a name
            attribute = self.attribute("expected an attribute name")
            if self.begins_parenthesis() and token.text.lower() in FUNCTIONS:
                return self.reading(token)
            return self.condition(attribute)
        if self.accept(Kind.PUNCTUATION, "("):
            with self:
                node = self.disjunction()
            self.expect(Kind.PUNCTUATION, ")", "expected and, or, or a closing parenthesis")
            return node
        if self.accept(Kind.KEYWORD, "exists"):
            expected = "expected an attribute name after exists"
            if self.begins_parenthesis():
                expected += ", without parentheses: exists price"
            token = self.token
            attribute = self.attribute(expected)
            if self.begins_parenthesis() and token.text.lower() in FUNCTIONS:
                return Read(token.text.lower(), Exists(self.read_attribute()))
            return Exists(attribute)
        if token.kind is Kind.KEYWORD and token.text in ("true", "false"):
            self.advance()
            return Constant(token.text == "true")
        if token.kind in (Kind.NUMBER, Kind.TEXT):
            raise self.error(
                "a condition begins with an attribute name; write price > 10, not 10 < price, "
                'and put names that are no words in double quotes ("unit price")'
            )
        return self.condition(self.attribute("expected an attribute name, not, exists or ("))

    def condition(self, attribute: str) -> Node:
        token = self.token
        if token.kind is Kind.OPERATOR:
            return self.comparison(attribute)
        if self.accept(Kind.KEYWORD, "is"):
            present = self.accept(Kind.KEYWORD, "not")
            self.expect(Kind.KEYWORD, "null", "expected null or not null after is")
            return Exists(attribute) if present else Not(Exists(attribute))
        if self.accept(Kind.KEYWORD, "not"):
            return Not(self.word_condition(attribute, required=True))
        return self.word_condition(attribute, required=False)

    def read_attribute(self) -> str:
        """The attribute in parentheses after the name of a function."""
        self.expect(Kind.PUNCTUATION, "(", "expected (")
        attribute = self.attribute("expected the name of an attribute whose text is to be read")
        self.expect(Kind.PUNCTUATION, ")", "expected ) after the name of the attribute")
        return attribute

    def reading(self, function: Token) -> Node:
        """A condition on a reading of an attribute's text."""
        name = function.text.lower()
        attribute = self.read_attribute()
        operators = (Kind.OPERATOR, Kind.KEYWORD)
        if self.token.kind not in operators or self.token.text in ("and", "or"):
            raise self.error(f"expected a comparison of {name}({attribute})")
        start = self.token.position
        node = self.condition(attribute)
        leaf = node.operand if isinstance(node, Not) else node
        assert isinstance(leaf, Comparison | Between | In | Like | Exists), "it is one condition"
        try:
            read = Read(name, readable(name, leaf))
        except InputError as error:
            raise FilterSyntaxError(self.text, start, str(error)) from None
        return Not(read) if isinstance(node, Not) else read

    def comparison(self, attribute: str) -> Node:
        operator = Operator(self.token.text)
        self.advance()
        start = self.token
        value = self.value()
        if isinstance(value, bool) and operator in _ORDERING:
            raise FilterSyntaxError(
                self.text, start.position, "booleans have no order; use = or <>"
            )
        return Comparison(attribute, operator, value)

    def word_condition(self, attribute: str, *, required: bool) -> Node:
        """`between`, `in` or `like`; without any of them a bare boolean attribute."""
        if self.accept(Kind.KEYWORD, "between"):
            return self.between(attribute)
        if self.accept(Kind.KEYWORD, "in"):
            return In(attribute, self.value_list())
        if self.accept(Kind.KEYWORD, "like"):
            return self.like(attribute)
        if required:
            raise self.error("expected between, in or like after not")
        self.refuse_foreign(attribute)
        return Comparison(attribute, Operator.EQUAL, value=True)

    def refuse_foreign(self, attribute: str) -> None:
        """Raise, with the right form, for a construct that other languages have after a name."""
        if self.begins_parenthesis():
            raise self.error(about_call(attribute))
        token = self.token
        if token.kind is Kind.NAME or (token.kind is Kind.KEYWORD and token.text == "exists"):
            hint = about_word(attribute, token)
            if hint is not None:
                raise self.error(hint)

    def begins_parenthesis(self) -> bool:
        return self.token.kind is Kind.PUNCTUATION and self.token.text == "("

    def between(self, attribute: str) -> Node:
        start = self.token
        low = self.value()
        self.expect(Kind.KEYWORD, "and", "expected and between the two ends")
        high = self.value()
        if isinstance(low, bool) or isinstance(high, bool):
            raise FilterSyntaxError(self.text, start.position, "booleans have no order; use =")
        return Between(attribute, low, high)

    def like(self, attribute: str) -> Node:
        start = self.token
        pattern = self.string("expected a pattern in single quotes after like")
        escape = None
        if self.accept(Kind.KEYWORD, "escape"):
            written = self.token
            escape = self.string("expected one character in single quotes after escape")
            start = start if len(escape) == 1 else written
        try:
            Pattern.parse(pattern, escape)
        except InputError as error:
            raise FilterSyntaxError(self.text, start.position, str(error)) from None
        return Like(attribute, pattern, escape)

    def value_list(self) -> tuple[Value, ...]:
        self.expect(Kind.PUNCTUATION, "(", "expected ( and a list of values after in")
        values = [self.value()]
        while self.accept(Kind.PUNCTUATION, ","):
            values.append(self.value())
        self.expect(Kind.PUNCTUATION, ")", "expected a comma or ) in the list of values")
        return tuple(values)

    def attribute(self, expectation: str) -> str:
        token = self.token
        if token.kind is not Kind.NAME:
            if token.kind is Kind.KEYWORD:
                expectation += (
                    f'; {token.text} is a keyword, as a name it needs quotes: "{token.text}"'
                )
            raise self.error(expectation)
        if not token.value:
            raise self.error("an attribute name is never empty")
        self.advance()
        return str(token.value)

    def value(self) -> Value:
        token = self.token
        if token.kind in (Kind.NUMBER, Kind.TEXT):
            assert token.value is not None, "literals carry their value"
            self.advance()
            return token.value
        if token.kind is Kind.KEYWORD and token.text in ("true", "false"):
            self.advance()
            return token.text == "true"
        if token.kind is Kind.KEYWORD and token.text == "null":
            raise self.error("nothing compares with null; write is null or is not null")
        if token.kind is Kind.NAME and token.text.lower() in ("nan", "inf", "infinity"):
            raise self.error(f"{token.text} is no value; numbers are finite")
        expected = "expected a number, a text in single quotes, true or false"
        raise self.error(expected + about_text(token))

    def string(self, expectation: str) -> str:
        token = self.token
        if token.kind is not Kind.TEXT:
            raise self.error(expectation + about_text(token))
        self.advance()
        return str(token.value)

    def at_end(self) -> bool:
        return self.token.kind is Kind.END

    def advance(self) -> None:
        self.token = next(self.tokens)

    def accept(self, kind: Kind, text: str) -> bool:
        if self.token.kind is kind and self.token.text == text:
            self.advance()
            return True
        return False

    def expect(self, kind: Kind, text: str, expectation: str) -> None:
        if not self.accept(kind, text):
            raise self.error(expectation)

    def error(self, expectation: str) -> FilterSyntaxError:
        return FilterSyntaxError(self.text, self.token.position, expectation)

    def __enter__(self) -> None:
        self.depth += 1
        if self.depth > FILTER_NESTING_MAX:
            raise LimitError(
                "FILTER_NESTING_MAX", FILTER_NESTING_MAX, None, "the nesting of the filter"
            )

    def __exit__(self, *_: object) -> None:
        self.depth -= 1
