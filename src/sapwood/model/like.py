"""SQL `like` patterns: matching, literal ends, and a sound containment test.

Between two `%` a pattern is a segment of fixed length. Segments are sought from left to right,
each at its first place after the one before, which never has to be taken back; the search for one
segment passes over the text once. Matching is therefore linear in the text whatever the pattern;
no regular expression engine is involved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
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
"""The wildcards among the letters of a pattern; no well-formed text holds surrogates."""

_WILDCARDS: Final[Mapping[str, Wildcard]] = MappingProxyType(
    {_ANY_CHAR_LETTER: Wildcard.ANY_CHAR, _ANY_RUN_LETTER: Wildcard.ANY_RUN}
)


@dataclass(frozen=True, slots=True)
class _Gapped:
    """A segment with gaps of one character between its literal characters.

    `pieces` are the literal parts with their offsets. `places` holds the offsets at which a
    character may stand as a set of bits, and `gaps` those at which any may.
    """

    length: int
    pieces: tuple[tuple[int, str], ...]
    places: Mapping[str, int]
    gaps: int

    @classmethod
    def of(cls, letters: str) -> _Gapped:
        """The segment that these letters, `_` as `_ANY_CHAR_LETTER`, describe."""
        pieces: list[tuple[int, str]] = []
        places: dict[str, int] = {}
        offset = 0
        for piece in letters.split(_ANY_CHAR_LETTER):
            pieces.append((offset, piece))
            offset += len(piece) + 1
        for at, letter in enumerate(letters):
            places[letter] = places.get(letter, 0) | 1 << at
        return cls(len(letters), tuple(pieces), places, places.pop(_ANY_CHAR_LETTER))

    def __len__(self) -> int:
        """The characters of a text that it takes."""
        return self.length

    def stands_in(self, text: str, at: int) -> bool:
        """True if the text holds the segment at this place; no gap stands for a run."""
        return all(text.startswith(piece, at + offset) for offset, piece in self.pieces) and (
            text.find(_ANY_RUN_LETTER, at, at + self.length) < 0
        )

    def find(self, text: str, start: int, end: int) -> int:
        """The first place of the segment in `text[start:end]`, or -1.

        Bit `n` of `state` is set if the last `n + 1` characters fit the first `n + 1` letters (the
        shift-and method of Baeza-Yates and Gonnet, 1992). In long texts, the places of all
        characters at once (`sapwood.model.long_texts`).
        """
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


_Segment: TypeAlias = str | _Gapped
"""The part of a pattern between two `%`: literal characters, or some with gaps between them."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A `like` pattern, in one form for patterns that differ only in spelling.

    `letters` are its characters, with surrogates for the wildcards, which no well-formed text
    holds: patterns come by the hundred thousand, and a text takes an eighth of a tuple. Runs of
    wildcards are ordered (`_` before `%`) and a run holds at most one `%`.
    """

    letters: str
    #: the segments, once a text was compared: those of most patterns no one asks for
    _known: tuple[_Segment, ...] = field(default=(), init=False, compare=False, repr=False)

    @classmethod
    def of(cls, tokens: Iterable[Token]) -> Pattern:
        """The pattern of these tokens, whose wildcards are in order."""
        return cls("".join(map(_letter, tokens)))

    @property
    def _segments(self) -> tuple[_Segment, ...]:
        """The parts before, between and behind the `%`."""
        if not self._known:
            segments = tuple(
                _Gapped.of(part) if _ANY_CHAR_LETTER in part else part
                for part in self.letters.split(_ANY_RUN_LETTER)
            )
            object.__setattr__(self, "_known", segments)
        return self._known

    @property
    def tokens(self) -> tuple[Token, ...]:
        """Its literal characters and wildcards."""
        return tuple(_WILDCARDS.get(letter, letter) for letter in self.letters)

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
        pattern = cls.of(_ordered(tokens))
        gapped = max(map(_gapped_chars, pattern.letters.split(_ANY_RUN_LETTER)))
        if gapped > LIKE_GAPPED_CHARS_MAX:
            subject = "the characters between two % of a like pattern that has _ among them"
            raise LimitError("LIKE_GAPPED_CHARS_MAX", LIKE_GAPPED_CHARS_MAX, gapped, subject)
        return pattern

    @property
    def literal(self) -> str | None:
        """The one text the pattern stands for, if it has no wildcard."""
        prefix = self.prefix
        return prefix if len(prefix) == len(self.letters) else None

    @property
    def is_prefix(self) -> bool:
        """True if the pattern is literal characters and then one `%`: a range of texts."""
        return self.letters.endswith(_ANY_RUN_LETTER) and (
            len(self.prefix) == len(self.letters) - 1
        )

    @property
    def prefix(self) -> str:
        """The literal characters before the first wildcard."""
        return self._runs[0]

    @property
    def suffix(self) -> str:
        """The literal characters after the last wildcard."""
        return self._runs[-1]

    @property
    def is_suffix(self) -> bool:
        """True if the pattern is one `%` and then literal characters."""
        return self.letters.startswith(_ANY_RUN_LETTER) and (
            len(self.suffix) == len(self.letters) - 1
        )

    @property
    def is_infix(self) -> bool:
        """True if the pattern is literal characters between two `%`."""
        first, *middle = self.letters.split(_ANY_RUN_LETTER)
        return (
            len(middle) == 2 and not first and not middle[1] and _ANY_CHAR_LETTER not in middle[0]
        )

    @property
    def literals(self) -> tuple[str, ...]:
        """The runs of literal characters in their order; every text that fits has all of them."""
        return tuple(filter(None, self._runs))

    @property
    def _runs(self) -> list[str]:
        """The literal characters before, between and after wildcards; some are empty."""
        return self.letters.replace(_ANY_CHAR_LETTER, _ANY_RUN_LETTER).split(_ANY_RUN_LETTER)

    def matches(self, text: str) -> bool:
        """True if the whole of `text` fits the pattern."""
        return _fits(self._segments, text)

    def covers(self, other: object) -> bool:
        """True if every text that fits `other` fits this; sound, `False` where unknown.

        The other pattern's tokens are read as a text: its `_` may only stand under this pattern's
        `_` or `%`, its `%` only under `%`.
        """
        return isinstance(other, Pattern) and _fits(self._segments, other.letters)

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


def _gapped_chars(letters: str) -> int:
    """Literal characters of a segment, if there are gaps between them."""
    gaps = letters.count(_ANY_CHAR_LETTER)
    return len(letters) - gaps if gaps else 0


def _letter(token: Token) -> str:
    if isinstance(token, str):
        return token
    return _ANY_CHAR_LETTER if token is Wildcard.ANY_CHAR else _ANY_RUN_LETTER


def _stands_in(segment: _Segment, text: str, at: int) -> bool:
    """True if a text holds a segment at this place."""
    if isinstance(segment, str):
        return text.startswith(segment, at)
    return segment.stands_in(text, at)


def _fits(segments: tuple[_Segment, ...], text: str) -> bool:
    """True if `text` is the segments in their order, with anything between two of them."""
    first, last = segments[0], segments[-1]
    at, end = len(first), len(text) - len(last)
    if len(segments) == 1:
        return end == 0 and _stands_in(first, text, 0)
    if at > end or not _stands_in(first, text, 0) or not _stands_in(last, text, end):
        return False
    for segment in segments[1:-1]:
        if isinstance(segment, str):
            place = text.find(segment, at, end)
        else:
            place = segment.find(text, at, end)
        if place < 0:
            return False
        at = place + len(segment)
    return True
