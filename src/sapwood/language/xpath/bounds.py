"""The bounds of an XPath expression. Each can be raised, and every error names its bound."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from sapwood.errors import InputError, LimitError
from sapwood.limits import (
    XPATH_DESCENDANTS_MAX,
    XPATH_NESTING_MAX,
    XPATH_PREDICATES_MAX,
    XPATH_STEPS_MAX,
    XPATH_TEXT_CHARS_MAX,
)


@dataclass(frozen=True, slots=True)
class XPathBounds:
    """The bounds of one expression; the defaults are those of `sapwood.limits`.

    `text` in characters and `nesting` in brackets apply to the text (and `text` to the normal form
    as well); `steps`, `predicates` and `descendants` (`//` from the document's root to any leaf) to
    the normal form. Raises `InputError` for a bound below 1.
    """

    text: int = XPATH_TEXT_CHARS_MAX
    steps: int = XPATH_STEPS_MAX
    predicates: int = XPATH_PREDICATES_MAX
    nesting: int = XPATH_NESTING_MAX
    descendants: int = XPATH_DESCENDANTS_MAX

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) < 1:
                raise InputError(f"the bound {field.name} of expressions must be at least 1")

    def check_text(self, length: int, subject: str = "the length of the expression") -> None:
        """Raise `LimitError` for more characters than `text`."""
        if length > self.text:
            raise LimitError("XPATH_TEXT_CHARS_MAX", self.text, length, subject)

    def check_nesting(self, depth: int) -> None:
        """Raise `LimitError` for brackets and parentheses nested deeper than `nesting`."""
        if depth > self.nesting:
            raise LimitError(
                "XPATH_NESTING_MAX", self.nesting, None, "the nesting of the expression"
            )

    def check_path(self, steps: int) -> None:
        """Raise `LimitError` for a path that has more steps than an expression may have."""
        if steps > self.steps:
            raise LimitError("XPATH_STEPS_MAX", self.steps, None, "the number of steps")

    def check_size(self, steps: int, predicates: int, descendants: int) -> None:
        """Raise `LimitError` for more steps, conditions or `//` on one path than the bounds."""
        for name, bound, actual, subject in (
            ("XPATH_STEPS_MAX", self.steps, steps, "the number of steps"),
            ("XPATH_PREDICATES_MAX", self.predicates, predicates, "the number of conditions"),
            ("XPATH_DESCENDANTS_MAX", self.descendants, descendants, "the number of // on a path"),
        ):
            if actual > bound:
                raise LimitError(name, bound, actual, subject)


DEFAULT_BOUNDS: Final = XPathBounds()

UNBOUNDED: Final = XPathBounds(*[2**31] * len(fields(XPathBounds)))
"""For an expression that was within the bounds that applied when it was accepted."""
