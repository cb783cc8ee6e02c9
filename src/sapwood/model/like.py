"""SQL `like` patterns: matching, literal ends, and a sound containment test.

Between two `%` a pattern is a segment of fixed length. Segments are sought from left to right,
each at its first place after the one before, which never has to be taken back; the search for one
segment passes over the text once. Matching is therefore linear in the text whatever the pattern;
no regular expression engine is involved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias

from sapwood.errors import InputError, LimitError
from sapwood.limits import LIKE_GAPPED_CHARS_MAX


class Wildcard(Enum):
    """The two wildcards of `like`."""

    ANY_CHAR = "_"
    ANY_RUN = "%"


Token: TypeAlias = str | Wildcard
"""One literal character, or a wildcard."""

_LONG_CHARS: Final = 4096
"""Characters from which on looking at all of them at once, in an array, is faster."""

_ANY_CHAR_LETTER: Final = "\udc00"
_ANY_RUN_LETTER: Final = "\udc01"
"""Wildcards of a pattern that is itself read as a text; no well-formed text holds surrogates."""


@dataclass(frozen=True, slots=True)
class _Segment:
    """The part of a pattern between two `%`: literal characters and gaps of one character.

    `pieces` are the literal parts with their offsets. `places` holds, where there are gaps, the
    offsets at which a character may stand as a set of bits, and `gaps` those at which any may.
    """

    length: int
    pieces: tuple[tuple[int, str], ...]
    places: Mapping[str, int] | None
    gaps: int

    @classmethod
    def of(cls, letters: str) -> _Segment:
        """The segment that these letters, `_` as `_ANY_CHAR_LETTER`, describe."""
        if _ANY_CHAR_LETTER not in letters:
            return cls(len(letters), ((0, letters),), None, 0)
        pieces: list[tuple[int, str]] = []
        places: dict[str, int] = {}
        offset = 0
        for piece in letters.split(_ANY_CHAR_LETTER):
            pieces.append((offset, piece))
            offset += len(piece) + 1
        for at, letter in enumerate(letters):
            places[letter] = places.get(letter, 0) | 1 << at
        return cls(len(letters), tuple(pieces), places, places.pop(_ANY_CHAR_LETTER))

    @property
    def gapped_chars(self) -> int:
        """Literal characters, if there are gaps between them."""
        return 0 if self.places is None else sum(len(piece) for _, piece in self.pieces)

    def stands_in(self, text: str, at: int) -> bool:
        """True if the text holds the segment at this place; no gap stands for a run."""
        return all(text.startswith(piece, at + offset) for offset, piece in self.pieces) and (
            self.places is None or text.find(_ANY_RUN_LETTER, at, at + self.length) < 0
        )

    def find(self, text: str, start: int, end: int) -> int:
        """The first place of the segment in `text[start:end]`, or -1.

        With gaps: bit `n` of `state` is set if the last `n + 1` characters fit the first `n + 1`
        letters (the shift-and method of Baeza-Yates and Gonnet, 1992). In long texts, the places
        of all characters at once (`sapwood.model.long_texts`).
        """
        if self.places is None:
            return text.find(self.pieces[0][1], start, end)
        if end - start > _LONG_CHARS and _ANY_RUN_LETTER not in text:
            from sapwood.model.long_texts import find  # late: most texts are short

            return find(text, start, end, self.length, self.pieces)
        state, goal = 0, 1 << (self.length - 1)
        for at in range(start, end):
            char = text[at]
            fitting = self.places.get(char, 0)
            if char != _ANY_RUN_LETTER:
                fitting |= self.gaps
            state = (state << 1 | 1) & fitting
            if state & goal:
                return at - self.length + 1
        return -1


_NO_LETTERS: Final = _Segment.of("")
"""The empty segment before a leading `%`: patterns by the hundred thousand share it."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A `like` pattern as tokens, in one form for patterns that differ only in spelling.

    Runs of wildcards are ordered (`_` before `%`) and a run holds at most one `%`.
    """

    tokens: tuple[Token, ...]
    _segments: tuple[_Segment, ...] = field(init=False, compare=False, repr=False)
    _letters: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        letters = "".join(map(_letter, self.tokens))
        parts = letters.split(_ANY_RUN_LETTER)
        segments = (_Segment.of(part) if part else _NO_LETTERS for part in parts)
        object.__setattr__(self, "_segments", tuple(segments))
        object.__setattr__(self, "_letters", letters)

    @classmethod
    def parse(cls, text: str, escape: str | None = None) -> Pattern:
        """Read SQL's notation: `%` any run, `_` any character, `escape` takes the next literally.

        Raises `InputError` for an escape that is not one character or stands before nothing it
        could escape, `LimitError` beyond `limits.LIKE_GAPPED_CHARS_MAX`.
        """
        if escape is not None and len(escape) != 1:
            raise InputError(f"the escape of a like pattern is one character, not {escape!r}")
        tokens: list[Token] = []
        chars = iter(text)
        for char in chars:
            if char == escape:
                literal = next(chars, None)
                if literal is None or literal not in ("%", "_", escape):
                    raise InputError(
                        f"in the like pattern {text!r} the escape {escape!r} must stand before "
                        "%, _ or itself"
                    )
                tokens.append(literal)
            elif char == "%":
                tokens.append(Wildcard.ANY_RUN)
            elif char == "_":
                tokens.append(Wildcard.ANY_CHAR)
            else:
                tokens.append(char)
        pattern = cls(_ordered(tokens))
        gapped = max(segment.gapped_chars for segment in pattern._segments)
        if gapped > LIKE_GAPPED_CHARS_MAX:
            subject = "the characters between two % of a like pattern that has _ among them"
            raise LimitError("LIKE_GAPPED_CHARS_MAX", LIKE_GAPPED_CHARS_MAX, gapped, subject)
        return pattern

    @property
    def literal(self) -> str | None:
        """The one text the pattern stands for, if it has no wildcard."""
        prefix = self.prefix
        return prefix if len(prefix) == len(self.tokens) else None

    @property
    def is_prefix(self) -> bool:
        """True if the pattern is literal characters and then one `%`: a range of texts."""
        return (
            bool(self.tokens)
            and self.tokens[-1] is Wildcard.ANY_RUN
            and len(self.prefix) == len(self.tokens) - 1
        )

    @property
    def prefix(self) -> str:
        """The literal characters before the first wildcard."""
        return _leading_literals(self.tokens)

    @property
    def suffix(self) -> str:
        """The literal characters after the last wildcard."""
        return _leading_literals(self.tokens[::-1])[::-1]

    @property
    def is_suffix(self) -> bool:
        """True if the pattern is one `%` and then literal characters."""
        return (
            bool(self.tokens)
            and self.tokens[0] is Wildcard.ANY_RUN
            and len(self.suffix) == len(self.tokens) - 1
        )

    @property
    def is_infix(self) -> bool:
        """True if the pattern is literal characters between two `%`."""
        return (
            self.tokens[-1:] == self.tokens[:1] == (Wildcard.ANY_RUN,)
            and len(self._segments) == 3
            and self._segments[1].places is None
        )

    @property
    def literals(self) -> tuple[str, ...]:
        """The runs of literal characters in their order; every text that fits has all of them."""
        runs = self._letters.replace(_ANY_CHAR_LETTER, _ANY_RUN_LETTER).split(_ANY_RUN_LETTER)
        return tuple(run for run in runs if run)

    def matches(self, text: str) -> bool:
        """True if the whole of `text` fits the pattern."""
        return _fits(self._segments, text)

    def covers(self, other: object) -> bool:
        """True if every text that fits `other` fits this; sound, `False` where unknown.

        The other pattern's tokens are read as a text: its `_` may only stand under this pattern's
        `_` or `%`, its `%` only under `%`.
        """
        return isinstance(other, Pattern) and _fits(self._segments, other._letters)

    def excludes(self, other: object) -> bool:
        """True if surely no text fits both patterns: their literal beginnings or ends clash."""
        if not isinstance(other, Pattern):
            return False
        a, b = self.prefix, other.prefix
        if not (a.startswith(b) or b.startswith(a)):
            return True
        a, b = self.suffix, other.suffix
        return not (a.endswith(b) or b.endswith(a))

    def sort_key(self) -> tuple[str, str]:
        """A defined order: by the written form, then by which characters are wildcards."""
        kinds = "".join("l" if isinstance(t, str) else "w" for t in self.tokens)
        return "".join(t if isinstance(t, str) else t.value for t in self.tokens), kinds


def _ordered(tokens: list[Token]) -> tuple[Token, ...]:
    """Within each run of wildcards: all `_` first, then one `%` if there was any."""
    result: list[Token] = []
    run = False
    for token in tokens:
        if token is Wildcard.ANY_RUN:
            run = True
        elif token is Wildcard.ANY_CHAR:
            result.append(token)
        else:
            if run:
                result.append(Wildcard.ANY_RUN)
                run = False
            result.append(token)
    if run:
        result.append(Wildcard.ANY_RUN)
    return tuple(result)


def _leading_literals(tokens: tuple[Token, ...]) -> str:
    literals: list[str] = []
    for token in tokens:
        if not isinstance(token, str):
            break
        literals.append(token)
    return "".join(literals)


def _letter(token: Token) -> str:
    if isinstance(token, str):
        return token
    return _ANY_CHAR_LETTER if token is Wildcard.ANY_CHAR else _ANY_RUN_LETTER


def _fits(segments: tuple[_Segment, ...], text: str) -> bool:
    """True if `text` is the segments in their order, with anything between two of them."""
    first, last = segments[0], segments[-1]
    at, end = first.length, len(text) - last.length
    if len(segments) == 1:
        return end == 0 and first.stands_in(text, 0)
    if at > end or not first.stands_in(text, 0) or not last.stands_in(text, end):
        return False
    for segment in segments[1:-1]:
        place = segment.find(text, at, end)
        if place < 0:
            return False
        at = place + segment.length
    return True
