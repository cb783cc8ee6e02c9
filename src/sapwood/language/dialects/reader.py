"""The reader of a dialect that is written as an expression: tokens with their places.

It has the common part of the dialects, and no more: each brings its own tokens and its own grammar.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from sapwood.errors import FilterSyntaxError, LimitError
from sapwood.language.lexer import Kind, Token
from sapwood.limits import FILTER_NESTING_MAX, FILTER_TEXT_CHARS_MAX

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class Reader:
    """The tokens of a text, one at a time; `depth` bounds the recursion of the parser.

    `pattern` matches a token or the end, in groups that have the names of kinds in lower case,
    after spaces. `make` makes a token of a match, or raises `FilterSyntaxError`.
    """

    def __init__(
        self,
        text: str,
        pattern: re.Pattern[str],
        make: Callable[[str, Kind, str, int], Token],
        is_space: Callable[[str], bool] = str.isspace,
    ) -> None:
        if len(text) > FILTER_TEXT_CHARS_MAX:
            subject = "the length of the filter"
            raise LimitError("FILTER_TEXT_CHARS_MAX", FILTER_TEXT_CHARS_MAX, len(text), subject)
        broken = _SURROGATE.search(text)
        if broken is not None:
            shown = _SURROGATE.sub("\ufffd", text)
            raise FilterSyntaxError(
                shown, broken.start(), "half of a surrogate pair is no character"
            )
        self.text = text
        self.depth = 0
        self._is_space = is_space
        self._tokens = self._tokenized(pattern, make)
        self.token = next(self._tokens)

    def _tokenized(
        self, pattern: re.Pattern[str], make: Callable[[str, Kind, str, int], Token]
    ) -> Iterator[Token]:
        position = 0
        while True:
            match = pattern.match(self.text, position)
            if match is None:
                while self._is_space(self.text[position]):
                    position += 1
                reason = f"the character {self.text[position]!r} has no meaning here"
                if self.text[position] in "'\"":
                    reason = "this text is never closed"
                raise FilterSyntaxError(self.text, position, reason)
            group = match.lastgroup
            assert group is not None, "every alternative has a name"
            yield make(self.text, Kind[group.upper()], match[group], match.start(group))
            position = match.end()

    @property
    def at_end(self) -> bool:
        """True if no token is left."""
        return self.token.kind is Kind.END

    def advance(self) -> Token:
        """Return the token, and go on to the next."""
        token = self.token
        self.token = next(self._tokens)
        return token

    def accept(self, *texts: str) -> Token | None:
        """Return the token if it is one of these keywords, operators or marks, and go on."""
        if self.token.kind in (Kind.NAME, Kind.TEXT, Kind.NUMBER) or self.token.text not in texts:
            return None
        return self.advance()

    def expect(self, text: str, expectation: str) -> Token:
        """Return the token, which must be `text`, and go on; raises `FilterSyntaxError`."""
        token = self.accept(text)
        if token is None:
            raise self.error(expectation)
        return token

    def error(self, reason: str, at: Token | None = None) -> FilterSyntaxError:
        """The error at a token, the next one if none is given."""
        return FilterSyntaxError(self.text, (at or self.token).position, reason)

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """Enter one level further in; raises `LimitError` beyond `limits.FILTER_NESTING_MAX`."""
        self.depth += 1
        if self.depth > FILTER_NESTING_MAX:
            subject = "the nesting of the filter"
            raise LimitError("FILTER_NESTING_MAX", FILTER_NESTING_MAX, None, subject)
        yield
        self.depth -= 1
