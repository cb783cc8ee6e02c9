"""The arrays that docs/matching.md prints: lines of the form `name [numbers]`."""

from __future__ import annotations

import json
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "matching.md"


def printed(chapter: int) -> dict[str, list[float]]:
    """The arrays of a chapter by name, each printed once."""
    text = PAGE.read_text(encoding="utf-8")
    own = text.split(f"\n## {chapter}. ")[1].split("\n## ")[0]
    pairs = re.findall(r"^([a-z_.]+) (\[.*\])$", own, re.MULTILINE)
    arrays = {name: json.loads(numbers) for name, numbers in pairs}
    assert len(arrays) == len(pairs), "an array is printed twice"
    return arrays


def patterns(chapter: int) -> list[str]:
    """The second column of a chapter's first table with slots, by slot."""
    text = PAGE.read_text(encoding="utf-8").split(f"\n## {chapter}. ")[1]
    return re.findall(
        r"^\| \d \| `([^`]+)` \|", text.split("\n## ")[0].split("\n### ")[0], re.MULTILINE
    )
