"""On which line of a file of TOML each key is set.

`tomllib` does not say where a value came from, and of the well-kept libraries for Python none does
(tomlkit keeps how a file is written, without places). So a text that `tomllib` has read is cut into
its statements, each of which it can read by itself: a statement is a line, and those that follow
as long as the value is not complete.
"""

from __future__ import annotations

import tomllib
from typing import Final

_ENDS: Final = ("]", "}", '"""', "'''")
"""With one of these ends the last line of a value that has several."""


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
    """What some lines say by themselves; `None` where a value is not complete."""
    try:
        return tomllib.loads("\n".join(lines))
    except (ValueError, RecursionError):
        return None
