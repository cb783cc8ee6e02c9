"""Reading decoded TOML and JSON: one table at a time, with errors that name the place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sapwood.errors import InputError


class Fields:
    """The fields of one table, each read with the type it must have.

    `place` is what messages call the table. A key that is not `known` is refused, because most
    such keys are a misspelled one that means something.
    """

    __slots__ = ("_table", "place")

    def __init__(self, place: str, table: object, known: tuple[str, ...]) -> None:
        if not isinstance(table, Mapping):
            raise InputError(f"{place} is a table of named fields, not {table!r}")
        for key in table:
            if key not in known:
                raise InputError(f"{place} has no field {key!r}; it has {', '.join(known)}")
        self.place = place
        self._table: Mapping[str, Any] = table

    def __contains__(self, key: str) -> bool:
        return self._table.get(key) is not None

    def text(self, key: str, default: str | None = None) -> str:
        """A non-empty text."""
        value = self._get(key, default)
        if not isinstance(value, str) or not value:
            raise self.error(key, "a non-empty text", value)
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of non-empty texts."""
        value = self._get(key)
        if not isinstance(value, list) or not all(isinstance(v, str) and v for v in value):
            raise self.error(key, "a list of non-empty texts", value)
        return tuple(value)

    def pair(self, key: str) -> tuple[str, str]:
        """A list of two texts."""
        match self._get(key):
            case [str(a), str(b)]:
                return a, b
            case value:
                raise self.error(key, 'a list of two names, as in ["r1", "r2"]', value)

    def number(
        self, key: str, default: float | None = None, *, what: str = "a number of seconds"
    ) -> float:
        """A finite number, zero or more."""
        value = self._get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e18:
            raise self.error(key, f"{what}, zero or more", value)
        return float(value)

    def integer(self, key: str, default: int | None = None) -> int:
        """A whole number."""
        value = self._get(key, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(key, "a whole number", value)
        return value

    def flag(self, key: str) -> bool:
        """The value of a boolean field; false where it is left out."""
        value = self._get(key, default=False)
        if not isinstance(value, bool):
            raise self.error(key, "true or false", value)
        return value

    def is_text(self, key: str, text: str) -> bool:
        """True if a field that may be of another type has this text."""
        return self._table.get(key) == text

    def mapping(self, key: str) -> Mapping[str, Any]:
        """A table."""
        value = self._get(key)
        if not isinstance(value, Mapping):
            raise self.error(key, "a table of named fields", value)
        return value

    def tables(self, key: str) -> list[object]:
        """A list, of tables as a rule (TOML's `[[key]]`); empty where the key is not there."""
        value = self._get(key, [])
        if not isinstance(value, list):
            raise self.error(key, f"a list of tables, each under its own [[{key}]]", value)
        return value

    def error(self, key: str, expected: str, value: object) -> InputError:
        """The error of a field."""
        found = "it is missing" if value is None else f"not {value!r}"
        return InputError(f"{self.place}: `{key}` must be {expected}; {found}")

    def _get(self, key: str, default: object = None) -> object:
        """The field's value; a null counts as left out."""
        value = self._table.get(key)
        return default if value is None else value
