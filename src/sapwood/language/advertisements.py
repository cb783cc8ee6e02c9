"""Advertisement text to value: `/a/b(/c/d)+/e`.

::

    advertisement = path { "|" path }
    path          = part { part }
    part          = "/" ( name | "*" ) | "(" advertisement ")" [ "+" ]

As in the XPE dissemination work (section 1.4.1), with `|` for alternatives. A name is a local name
of XML (`sapwood.xml.names`). White space may stand between any two of these.
"""

from __future__ import annotations

import re
from typing import Final

from sapwood.errors import FilterSyntaxError, InputError, LimitError
from sapwood.limits import ADVERTISEMENT_NESTING_MAX, ADVERTISEMENT_TEXT_CHARS_MAX
from sapwood.model.patterns.advertisements import Advertisement, Expression, Step
from sapwood.model.patterns.advertisements.expressions import chain, choice, repeat
from sapwood.xml.names import NCNAME

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_NAME: Final = re.compile(NCNAME)


def parse_advertisement(text: str) -> Advertisement:
    """Read an advertisement of documents, such as `/news/body(/list/item)+/paragraph`.

    Raises `FilterSyntaxError` with the position of the first error, and `LimitError` for a text,
    a number of steps or a nesting beyond `limits.ADVERTISEMENT_...`.
    """
    if not isinstance(text, str):
        raise InputError(f"an advertisement is a text, not {type(text).__name__}")
    if len(text) > ADVERTISEMENT_TEXT_CHARS_MAX:
        raise LimitError(
            "ADVERTISEMENT_TEXT_CHARS_MAX",
            ADVERTISEMENT_TEXT_CHARS_MAX,
            len(text),
            "the length of the advertisement",
        )
    return Advertisement(_Parser(text).whole(), source=text)


class _Parser:
    """Recursive descent; `at` is the next character that is no white space."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.skip()

    def whole(self) -> Expression:
        if self.at == len(self.text):
            raise self.error("an advertisement is empty; write (/*)+ to announce any document")
        found = self.alternatives()
        if self.at < len(self.text):
            raise self.error(self.why_not_the_end())
        return found

    def why_not_the_end(self) -> str:
        if self.sees(")"):
            return "this parenthesis was never opened"
        if self.sees("+"):
            return "a + follows a parenthesis: (/a)+"
        if self.sees("["):
            return "an advertisement has no conditions; only XPath does"
        if self.sees(":"):
            return "names are written without prefix; they compare by their local part"
        return "expected /, (, | or the end of the advertisement"

    def alternatives(self) -> Expression:
        found = [self.path()]
        while self.takes("|"):
            found.append(self.path())
        return choice(found)

    def path(self) -> Expression:
        parts = [self.part()]
        while self.sees("/") or self.sees("("):
            parts.append(self.part())
        return chain(parts)

    def part(self) -> Expression:
        start = self.at
        if self.takes("("):
            return self.group(start)
        if not self.takes("/"):
            raise self.error("expected / and a name; an advertisement begins at the root")
        if self.sees("/"):
            raise self.error("every level is written; for any number of levels write (/*)+")
        if self.takes("*"):
            return Step(None)
        name = _NAME.match(self.text, self.at)
        if name is None:
            hint = "attributes are not advertised" if self.sees("@") else "expected a name or *"
            raise self.error(hint)
        self.at = name.end()
        self.skip()
        return Step(name[0])

    def group(self, start: int) -> Expression:
        self.depth += 1
        if self.depth > ADVERTISEMENT_NESTING_MAX:
            raise LimitError(
                "ADVERTISEMENT_NESTING_MAX",
                ADVERTISEMENT_NESTING_MAX,
                None,
                "the nesting of the advertisement",
            )
        inner = self.alternatives()
        if not self.takes(")"):
            if self.at == len(self.text):
                raise FilterSyntaxError(self.text, start, "this parenthesis is never closed")
            raise self.error(self.why_not_the_end())
        self.depth -= 1
        if self.sees("*") or self.sees("?"):
            raise self.error("only + can follow a parenthesis; write the alternatives with |")
        return repeat(inner) if self.takes("+") else inner

    def sees(self, symbol: str) -> bool:
        return self.text.startswith(symbol, self.at)

    def takes(self, symbol: str) -> bool:
        if not self.sees(symbol):
            return False
        self.at += len(symbol)
        self.skip()
        return True

    def skip(self) -> None:
        """Skip white space."""
        space = _SPACE.match(self.text, self.at)
        assert space is not None, "no white space is white space too"
        self.at = space.end()

    def error(self, reason: str) -> FilterSyntaxError:
        return FilterSyntaxError(self.text, self.at, reason)
