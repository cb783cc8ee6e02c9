"""CloudEvents SQL 1.0 as record filters.

An event passes if the expression is true and no error is met on the way (section 1.2): an absent
attribute is an error, so is a cast that fails, and operands that `and` and `or` need not evaluate
are not evaluated. So `a = 1 or b = 2` accepts an event without `b`, but not one without `a`.

Types are cast where needed: `sequence = 5` is true of the text `'5'` as well. Attributes are those
of events: texts, booleans and integers. An expression that no filter can represent is refused:
arithmetic on attributes, a comparison of two of them, most functions of one. Constant expressions
are always evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial, reduce
from typing import Final, NamedTuple, TypeAlias

from sapwood.errors import FilterSyntaxError, InputError, LimitError
from sapwood.language.dialects import cesql_values as values
from sapwood.language.dialects import outcomes
from sapwood.language.dialects.cesql_values import CastError, Scalar, Sides
from sapwood.language.dialects.outcomes import Outcome
from sapwood.language.dialects.reader import Reader
from sapwood.language.lexer import Kind, Token
from sapwood.language.rewrites.conditions import compared
from sapwood.language.syntax import And, Constant, Exists, Node, Not, Operator, Or
from sapwood.limits import FILTER_NESTING_MAX
from sapwood.model import constraint as c
from sapwood.model import numbers, strings
from sapwood.model.constraint import Constraint
from sapwood.model.like import Pattern

_KEYWORDS: Final = frozenset(("and", "exists", "false", "in", "like", "not", "or", "true", "xor"))
_SPACES: Final = " \t\r\n"
_TOKEN: Final = re.compile(
    r"""
    [ \t\r\n]*+ (?:
      (?P<name>     [a-zA-Z0-9]*+ [a-zA-Z] [a-zA-Z0-9_]*+ | [a-zA-Z] [a-zA-Z0-9_]*+ )
    | (?P<number>   [0-9]++ )
    | (?P<operator> <= | >= | <> | != | [=<>+*/%-] )
    | (?P<text>     ' (?: \\. | '' | [^'\\] )*+ ' | " (?: \\. | "" | [^"\\] )*+ " )
    | (?P<punctuation> [(),] )
    | (?P<end>      \Z )
    )
    """,
    re.VERBOSE | re.DOTALL,
)
_ORDERS: Final = ("<", "<=", ">", ">=")
_EQUALITIES: Final = ("=", "!=", "<>")
_JOINTS: Final = ("and", "or", "xor")
_ERROR: Final = Outcome(Constant(value=False), Constant(value=False))
"""The condition that is an error for every event."""


class _Literal(NamedTuple):
    """A constant; `None` if its evaluation is an error."""

    value: Scalar | None


class _Attribute(NamedTuple):
    """An attribute, perhaps cast or put into lower case by a function."""

    name: str
    at: Token
    function: str = ""


_Operand: TypeAlias = _Literal | _Attribute | Outcome


def parse(text: str) -> Node:
    """The syntax tree of the records that pass an expression.

    Raises `FilterSyntaxError` at the first token that does not fit or means a condition that no
    filter can represent, and `LimitError` as the parser of filters does.
    """
    return _Expression(Reader(text, _TOKEN, _token, _SPACES.__contains__)).whole()


def _token(text: str, kind: Kind, written: str, position: int) -> Token:
    if kind is Kind.NAME and written.lower() in _KEYWORDS:
        return Token(Kind.KEYWORD, written.lower(), position)
    if kind is Kind.TEXT:
        quote, inner = written[0], written[1:-1]
        if quote * 2 in inner:
            reason = f"within a text write \\{quote}; two quotes are read in two ways"
            raise FilterSyntaxError(text, position, reason)
        return Token(kind, written, position, inner.replace(f"\\{quote}", quote))
    if kind is Kind.NUMBER:
        digits = written.lstrip("0")[:11] or "0"
        if int(digits) > values.INTEGER_MAX + 1:
            raise FilterSyntaxError(text, position, "this integer needs more than 32 bits")
        return Token(kind, written, position, int(digits))
    return Token(kind, written, position)


class _Expression:
    """Recursive descent over the tokens of an expression."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def whole(self) -> Node:
        start = self.reader.token
        found = self.logic()
        if not self.reader.at_end:
            raise self.reader.error("expected an operator, or the end of the expression")
        if isinstance(found, _Attribute):
            if found.function:
                raise self.reader.error("the value of an expression has to be a boolean", found.at)
            return outcomes.accepted(found.name, c.one_of((True,)))
        if isinstance(found, _Literal) and not isinstance(found.value, bool | None):
            raise self.reader.error("the value of an expression has to be a boolean", start)
        return self.condition(found, start).holds

    def logic(self) -> _Operand:
        """Operands joined by one of `and`, `or`, `xor`: all of one precedence."""
        start = self.reader.token
        first = self.comparison()
        if self.reader.token.kind is not Kind.KEYWORD or self.reader.token.text not in _JOINTS:
            return first
        joint = self.reader.token.text
        operands = [self.condition(first, start)]
        while word := self.reader.accept(*_JOINTS):
            if word.text != joint:
                reason = f"{joint} and {word.text} bind alike; put one of them in parentheses"
                raise self.reader.error(reason, word)
            start = self.reader.token
            operands.append(self.condition(self.comparison(), start))
            if len(operands) > FILTER_NESTING_MAX:  # each is inside the one before it
                subject = "the conditions that are joined"
                raise LimitError("FILTER_NESTING_MAX", FILTER_NESTING_MAX, None, subject)
        joined = {"and": _both, "or": _either, "xor": _one_of_two}[joint]
        return reduce(lambda right, left: joined(left, right), reversed(operands))

    def condition(self, operand: _Operand, at: Token) -> Outcome:
        """The operand, cast to a boolean."""
        if isinstance(operand, Outcome):
            return operand
        if isinstance(operand, _Literal):
            if operand.value is None:
                return _ERROR
            try:
                return outcomes.constant(values.to_boolean(operand.value))
            except CastError:
                return _ERROR
        if operand.function:
            raise self.reader.error(f"{operand.function} of an attribute is no condition", at)
        return _decided(operand.name, values.as_boolean())

    def comparison(self) -> _Operand:
        left = self.reckoned(("+", "-"), partial(self.reckoned, ("*", "/", "%"), self.suffixed))
        while sign := self.reader.accept(*_ORDERS, *_EQUALITIES):
            start = self.reader.token
            right = self.reckoned(
                ("+", "-"), partial(self.reckoned, ("*", "/", "%"), self.suffixed)
            )
            left = self.compared(left, sign, right, start)
        return left

    def compared(self, left: _Operand, sign: Token, right: _Operand, at: Token) -> Outcome:
        if _is_error(left) or _is_error(right):
            return _ERROR
        if sign.text in _ORDERS:
            return self.ordered(left, sign, right)
        equal = self.equal(left, sign, right, at)
        return equal if sign.text == "=" else equal.negated()

    def ordered(self, left: _Operand, sign: Token, right: _Operand) -> Outcome:
        """An order of integers, to which both sides are cast."""
        operator = Operator(sign.text)
        if isinstance(left, _Literal) and isinstance(right, _Attribute):
            flipped = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
            left, right, operator = right, left, Operator(flipped[sign.text])
        if not isinstance(right, _Literal) or isinstance(left, Outcome):
            raise self.reader.error("a filter compares attributes with constants only", sign)
        assert right.value is not None, "errors were looked for"
        try:
            wanted = compared(operator, values.to_integer(right.value))
            if isinstance(left, _Literal):
                assert left.value is not None, "errors were looked for"
                return outcomes.constant(wanted.accepts(values.to_integer(left.value)))
        except CastError:
            # The attribute's absence would be an error as well.
            return _ERROR
        self.refuse_function(left, ("INT",))
        return _decided(left.name, values.as_integer(wanted.numbers))

    def equal(self, left: _Operand, sign: Token, right: _Operand, at: Token) -> Outcome:
        """`=`: the right side decides the type that the left side is cast to."""
        if isinstance(right, Outcome):
            return _alike(self.condition(left, at), right)
        if isinstance(right, _Attribute):
            if not isinstance(left, _Literal):
                reason = "a filter compares attributes with constants only"
                raise self.reader.error(reason, sign)
            assert left.value is not None, "errors were looked for"
            if right.function:
                example = {"INT": 0}.get(right.function, "")
                return self.equal_to(right, _cast_or_none(left.value, example))
            return _decided(right.name, _of_types([left.value]))
        assert right.value is not None, "errors were looked for"
        if isinstance(left, _Attribute):
            return self.equal_to(left, right.value)
        if isinstance(left, _Literal):
            assert left.value is not None, "errors were looked for"
            found = _cast_or_none(left.value, right.value)
            return _ERROR if found is None else outcomes.constant(found == right.value)
        return _condition_is(left, right.value)

    def equal_to(self, left: _Attribute, value: Scalar | None) -> Outcome:
        """The condition that an attribute, cast to the type of a constant, is equal to it."""
        if value is None:
            return _ERROR
        if left.function == "LOWER" and isinstance(value, str):
            return _decided(left.name, values.as_lower_text((value,)))
        if isinstance(value, str):
            self.refuse_function(left, ("STRING",))
            return _decided(left.name, values.as_text((value,)))
        if isinstance(value, bool):
            self.refuse_function(left, ())
            found = _decided(left.name, values.as_boolean())
            return found if value else found.negated()
        self.refuse_function(left, ("INT",))
        return _decided(left.name, values.as_integer(numbers.point(value)))

    def refuse_function(self, of: _Attribute, taken: tuple[str, ...]) -> None:
        """Raise unless the function of an attribute, if there is one, changes nothing here."""
        if of.function and of.function not in taken:
            raise self.reader.error(f"a filter cannot compare {of.function} of an attribute", of.at)

    def reckoned(self, signs: tuple[str, ...], operand: Callable[[], _Operand]) -> _Operand:
        left = operand()
        while sign := self.reader.accept(*signs):
            right = operand()
            try:
                ends = [self.number(one, sign) for one in (left, right)]
                left = _Literal(values.reckon(ends[0], sign.text, ends[1]))
            except CastError:
                left = _Literal(None)
        return left

    def number(self, operand: _Operand, sign: Token) -> int:
        """The integer of an operand of arithmetic; raises `CastError`."""
        if not isinstance(operand, _Literal):
            reason = "a filter cannot reckon with attributes; bring the constants to one side"
            raise self.reader.error(reason, sign)
        if operand.value is None:
            raise CastError
        return values.to_integer(operand.value)

    def suffixed(self) -> _Operand:
        """An operand, and `like` or `in` behind it."""
        start = self.reader.token
        left = self.unary()
        while True:
            negated = self.reader.accept("not") is not None
            if self.reader.accept("like"):
                found = self.like(left, start)
            elif self.reader.accept("in"):
                found = self.within(left, start)
            elif negated:
                raise self.reader.error("expected like or in after not")
            else:
                return left
            left = found.negated() if negated else found

    def like(self, left: _Operand, at: Token) -> Outcome:
        token = self.reader.token
        if token.kind is not Kind.TEXT:
            raise self.reader.error("expected a pattern in quotes after like")
        self.reader.advance()
        try:
            pattern = _pattern(str(token.value))
        except InputError as error:
            raise self.reader.error(str(error), token) from None
        if isinstance(left, _Attribute):
            self.refuse_function(left, ("STRING",))
            sides = values.fits(left.name, pattern)
            if sides is None:
                reason = "the digits of integers may fit, and a filter cannot say of which"
                raise self.reader.error(reason, token)
            return _decided(left.name, sides)
        if isinstance(left, Outcome):
            raise self.reader.error("a condition is like nothing", at)
        if left.value is None:
            return _ERROR
        return outcomes.constant(pattern.matches(values.to_text(left.value)))

    def within(self, left: _Operand, at: Token) -> Outcome:
        self.reader.expect("(", "expected ( and a list of values after in")
        members: list[Scalar | None] = []
        while True:
            token = self.reader.token
            member = self.logic()
            if not isinstance(member, _Literal):
                raise self.reader.error("a filter asks for lists of constants only", token)
            members.append(member.value)
            if not self.reader.accept(","):
                break
        self.reader.expect(")", "expected a comma or ) in the list of values")
        given = [one for one in members if one is not None]
        if len(given) < len(members) or _is_error(left):
            return _ERROR
        if isinstance(left, _Attribute):
            if left.function:
                raise self.reader.error("a filter cannot look for that in a list", left.at)
            return _decided(left.name, _of_types(given))
        if isinstance(left, Outcome):
            raise self.reader.error("a condition is in no list", at)
        assert left.value is not None, "errors were looked for"
        found = [_cast_or_none(one, left.value) for one in given]
        return _ERROR if None in found else outcomes.constant(left.value in found)

    def unary(self) -> _Operand:
        token = self.reader.accept("not", "-", "+")
        if token is None:
            return self.primary()
        with self.reader.deeper():
            start = self.reader.token
            operand = self.unary()
            if token.text == "not":
                return self.condition(operand, start).negated()
            try:
                value = 0 if token.text == "-" else None
                if value is None and start.kind is not Kind.NUMBER:
                    raise self.reader.error("expected an operand", token)
                if start.kind is Kind.NUMBER and isinstance(operand, _Literal):
                    return self.signed(token, operand)
                return _Literal(values.reckon(0, "-", self.number(operand, token)))
            except CastError:
                return _Literal(None)

    def signed(self, sign: Token, operand: _Literal) -> _Literal:
        """A literal with its sign."""
        assert isinstance(operand.value, int), "it is a number"
        value = -operand.value if sign.text == "-" else operand.value
        if value > values.INTEGER_MAX:
            raise self.reader.error("this integer needs more than 32 bits", sign)
        return _Literal(value)

    def primary(self) -> _Operand:
        token = self.reader.token
        if token.kind in (Kind.NUMBER, Kind.TEXT):
            self.reader.advance()
            assert token.value is not None, "literals have a value"
            assert not isinstance(token.value, float), "numbers are integers"
            return _Literal(token.value)
        if self.reader.accept("true", "false"):
            return _Literal(token.text == "true")
        if self.reader.accept("exists"):
            name = self.name("expected the name of an attribute after exists")
            return Outcome(Exists(name), Not(Exists(name)))
        if self.reader.accept("("):
            with self.reader.deeper():
                found = self.logic()
            self.reader.expect(")", "expected an operator, or a closing parenthesis")
            return found
        if token.kind is not Kind.NAME:
            raise self.reader.error("expected an attribute, a constant, a function, not or (")
        self.reader.advance()
        if self.reader.accept("("):
            with self.reader.deeper():
                return self.called(token)
        return _Attribute(self.attribute(token), token)

    def name(self, expectation: str) -> str:
        if self.reader.token.kind is not Kind.NAME:
            raise self.reader.error(expectation)
        return self.attribute(self.reader.advance())

    def attribute(self, token: Token) -> str:
        """The name of an attribute, which must be in lower case."""
        if "_" in token.text:
            raise self.reader.error("names of attributes are letters and digits", token)
        return token.text.lower()

    def called(self, name: Token) -> _Operand:
        arguments: list[_Operand] = []
        if not self.reader.accept(")"):
            arguments.append(self.logic())
            while self.reader.accept(","):
                arguments.append(self.logic())
            self.reader.expect(")", "expected a comma or ) after an argument")
        function = values.FUNCTIONS.get(name.text.upper())
        if function is None or not values.takes(function, len(arguments)):
            reason = f"there is no function {name.text.upper()} of {len(arguments)} arguments"
            raise self.reader.error(reason, name)
        if all(isinstance(one, _Literal) for one in arguments):
            return _called(function, arguments)
        return self.called_on_attribute(name, arguments[0])

    def called_on_attribute(self, name: Token, argument: _Operand) -> _Operand:
        function = name.text.upper()
        if function == "BOOL":
            return self.condition(argument, name)
        takes = function in ("INT", "STRING", "LOWER")
        if takes and isinstance(argument, _Attribute) and argument.function in ("", function):
            return argument._replace(function=function)
        raise self.reader.error(f"a filter cannot call {function} of attributes", name)


def _called(function: values.Function, arguments: Iterable[_Operand]) -> _Literal:
    """The value of a function of constants."""
    given = [one.value for one in arguments if isinstance(one, _Literal)]
    known = [one for one in given if one is not None]
    if len(known) < len(given):
        return _Literal(None)
    try:
        return _Literal(values.call(function, known))
    except CastError:
        return _Literal(None)


def _is_error(operand: _Operand) -> bool:
    return isinstance(operand, _Literal) and operand.value is None


def _decided(name: str, sides: Sides) -> Outcome:
    return outcomes.decided(name, *sides)


def _both(left: Outcome, right: Outcome) -> Outcome:
    """`and`, which does not evaluate the right side where the left one fails."""
    return Outcome(And((left.holds, right.holds)), Or((left.fails, And((left.holds, right.fails)))))


def _either(left: Outcome, right: Outcome) -> Outcome:
    """`or`, which does not evaluate the right side where the left one holds."""
    return _both(left.negated(), right.negated()).negated()


def _one_of_two(left: Outcome, right: Outcome) -> Outcome:
    """`xor`."""
    return _alike(left, right).negated()


def _alike(left: Outcome, right: Outcome) -> Outcome:
    """The condition that both sides hold, or both fail."""
    return Outcome(
        Or((And((left.holds, right.holds)), And((left.fails, right.fails)))),
        Or((And((left.holds, right.fails)), And((left.fails, right.holds)))),
    )


def _condition_is(condition: Outcome, value: Scalar) -> Outcome:
    """The condition that a condition, cast to the type of a constant, is equal to it."""
    as_true, as_false = (_cast_or_none(one, value) == value for one in (True, False))
    if as_true == as_false:
        decided = Or((condition.holds, condition.fails))
        always = Outcome(decided, Constant(value=False))
        return always if as_true else always.negated()
    return condition if as_true else condition.negated()


def _cast_or_none(value: Scalar, example: Scalar) -> Scalar | None:
    try:
        return values.cast_like(value, example)
    except CastError:
        return None


def _of_types(given: list[Scalar]) -> Sides:
    """The sides of `in`: each value cast to the attribute's type; an error where it has none."""
    texts = Constraint(strings=strings.of_points(map(values.to_text, given)))
    holds, all_types = [texts], [outcomes.TEXTS]
    for example, of_type in ((0, outcomes.NUMBERS), (True, outcomes.BOOLEANS)):
        cast = [_cast_or_none(one, example) for one in given]
        if None not in cast:
            holds.append(c.one_of(one for one in cast if one is not None))
            all_types.append(of_type)
    (held,), (known,) = c.united(holds), c.united(all_types)
    return Sides(held, known.intersect(outcomes.present_but(held)))


def _pattern(text: str) -> Pattern:
    r"""A pattern of `like`, in which `\%` and `\_` are literal and other backslashes are."""
    escaped = re.sub(r"\\(?![%_])", r"\\\\", text)
    return Pattern.parse(escaped, "\\")
