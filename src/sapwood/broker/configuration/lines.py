"""The line of a TOML file on which each key is set.

`tomllib` does not report the places of values, and of the well-kept libraries for Python none does
(tomlkit keeps the layout of a file, without places). So a text that `tomllib` has parsed is cut
into its statements, each of which it can parse by itself: a statement is a line, and the lines
after it until the value is complete.
"""

from __future__ import annotations

import tomllib
from typing import Final

_ENDS: Final = ("]", "}", '"""', "'''")
"""The last line of a value with several lines ends with one of these."""


def lines_of(text: str) -> dict[str, int]:
    """The line, from 1, of each top-level key of a text that is TOML: where it is set first."""
    found: dict[str, int] = {}
    lines = text.split("\n")
    start, table = 0, ""
    while start < len(lines):
        end = start + 1
        while (statement := _read(lines[start:end])) is None:
            end += 1
            while end < len(lines) and not any(one in lines[end - 1] for one in _ENDS):
                end += 1
            if end > len(lines):
                return found
        if lines[start].lstrip().startswith("["):
            (table,) = statement
        for key in statement:
            found.setdefault(table or key, start + 1)
        start = end
    return found


def _read(lines: list[str]) -> dict[str, object] | None:
    """The values of lines by themselves; `None` where a value is not complete."""
    try:
        return tomllib.loads("\n".join(lines))
    except (ValueError, RecursionError):
        return None
