"""The kinds of values of options: the same values from a text and from TOML, and back to TOML.

A text comes from the command line or the environment, a value of TOML from a file. Raises
`InputError` with the accepted values, without the place, which only the reader knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Final, Protocol, TypeAlias, TypeVar

from sapwood.errors import InputError

Value: TypeAlias = str | int | float | bool | tuple[str, ...]
"""The value of an option, from any source."""

_Digits = TypeVar("_Digits", int, float)

_SPOKEN: Final = (("true", "yes", "on", "1"), ("false", "no", "off", "0"))
_ESCAPES: Final = (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r"))
_SHOWN_CHARS: Final = 60


class Kind(Protocol):
    """One kind of value; `takes` describes it in a sentence, `metavar` in a line of help."""

    @property
    def takes(self) -> str:
        """The accepted values, as the end of a sentence."""
        ...

    @property
    def metavar(self) -> str:
        """The placeholder of a value in the help."""
        ...

    def of_text(self, text: str) -> Value:
        """The value of a text."""
        ...

    def of_toml(self, value: object) -> Value:
        """The value of a value in TOML."""
        ...


@dataclass(frozen=True, slots=True)
class Text:
    """Any text that is not empty."""

    metavar: str = "TEXT"
    takes: str = "a text, in quotation marks"

    def of_text(self, text: str) -> str:
        """The text itself."""
        if not text.strip():
            raise InputError(f"an empty text is no value; it takes {self.takes}")
        return text

    def of_toml(self, value: object) -> str:
        """The text itself."""
        if not isinstance(value, str):
            raise _wrong(value, self.takes)
        return self.of_text(value)


@dataclass(frozen=True, slots=True)
class Place:
    """The path of a file or folder; a relative one is relative to the file that names it.

    In a text it stays unchanged: relative to the working directory of the broker.
    """

    metavar: str = "FILE"
    takes: str = "a path, in quotation marks"

    def of_text(self, text: str) -> str:
        """The path, unchanged."""
        if not text.strip() or "\0" in text:
            raise InputError(f"{_shown(text)} is no path; it takes {self.takes}")
        return text

    def of_toml(self, value: object) -> str:
        """The path, unchanged."""
        if not isinstance(value, str):
            raise _wrong(value, self.takes)
        return self.of_text(value)

    def beside(self, path: str, file: Path) -> str:
        """The path, relative to a file that names it."""
        return str(file.parent / path)


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number; its bounds are checked by its user."""

    metavar: str = "N"
    takes: str = "a whole number"

    def of_text(self, text: str) -> int:
        """The number of decimal digits."""
        return _digits(text, int, self.takes)

    def of_toml(self, value: object) -> int:
        """The number."""
        if isinstance(value, bool) or not isinstance(value, int):
            raise _wrong(value, self.takes)
        return value


@dataclass(frozen=True, slots=True)
class Number:
    """A number, with or without a fraction."""

    metavar: str = "NUMBER"
    takes: str = "a number"

    def of_text(self, text: str) -> float:
        """The number of decimal digits, with a point or an exponent."""
        return _digits(text, float, self.takes)

    def of_toml(self, value: object) -> float:
        """The number."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _wrong(value, self.takes)
        try:
            return float(value)
        except OverflowError as error:
            raise _wrong(value, self.takes) from error


@dataclass(frozen=True, slots=True)
class Switch:
    """Yes or no."""

    metavar: str = ""
    takes: str = "true or false"

    def of_text(self, text: str) -> bool:
        """The value of a word: true, yes, on, 1, or the opposite of each."""
        word = text.strip().lower()
        for value, words in zip((True, False), _SPOKEN, strict=True):
            if word in words:
                return value
        raise _wrong(text, self.takes)

    def of_toml(self, value: object) -> bool:
        """The value."""
        if not isinstance(value, bool):
            raise _wrong(value, self.takes)
        return value


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some names."""

    names: tuple[str, ...]

    @property
    def metavar(self) -> str:
        """The names."""
        return f"[{'|'.join(self.names)}]"

    @property
    def takes(self) -> str:
        """The names."""
        return f"{', '.join(self.names[:-1])} or {self.names[-1]}"

    def of_text(self, text: str) -> str:
        """The name."""
        if text not in self.names:
            raise _wrong(text, self.takes)
        return text

    def of_toml(self, value: object) -> str:
        """The name."""
        if not isinstance(value, str):
            raise _wrong(value, self.takes)
        return self.of_text(value)


@dataclass(frozen=True, slots=True)
class Several:
    """Texts without spaces in an order: an array in a file, words between spaces in a variable."""

    metavar: str
    takes: str = "a text, or an array of texts"

    def of_text(self, text: str) -> tuple[str, ...]:
        """The words."""
        words = tuple(text.split())
        if not words:
            raise InputError(f"an empty text is no value; it takes {self.takes}")
        return words

    def of_toml(self, value: object) -> tuple[str, ...]:
        """The texts of an array; a text by itself is one."""
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            raise _wrong(value, self.takes)
        for one in found:
            if not one or one.split() != [one]:
                raise InputError(f"{_shown(one)} is empty or has spaces; it takes {self.takes}")
        return tuple(found)


def near(name: str, known: Iterable[str]) -> str:
    """A hint at a similar known name, as the end of a sentence, or nothing."""
    found = get_close_matches(name, tuple(known), n=1)
    return f"; did you mean {found[0]}?" if found else ""


def written(value: Value) -> str:
    """A value in TOML. Raises `InputError` for a text that is not Unicode."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, str):
        if any("\ud800" <= one <= "\udfff" for one in value):
            raise InputError(f"{value!r} is not Unicode, and a file of TOML has nothing else")
        for sign, escaped in _ESCAPES:
            value = value.replace(sign, escaped)
        plain = "".join(one if one.isprintable() else f"\\U{ord(one):08x}" for one in value)
        return f'"{plain}"'
    return repr(value)


def _digits(text: str, read: Callable[[str], _Digits], takes: str) -> _Digits:
    """The number of a text; digits of other scripts are refused, which Python would accept."""
    try:
        if not text.isascii():
            raise ValueError
        return read(text)
    except ValueError as error:
        raise _wrong(text, takes) from error


def _wrong(value: object, takes: str) -> InputError:
    return InputError(f"{_shown(value)} is not what it takes: {takes}")


def _shown(value: object) -> str:
    """A value of TOML as a person wrote it, or nearly, and not too much of it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "an array"
    if isinstance(value, int) and value.bit_length() > 256:
        return "a number of so many digits"
    said = repr(value) if isinstance(value, str) else str(value)
    return said if len(said) <= _SHOWN_CHARS else f"{said[: _SHOWN_CHARS - 1]}…"
