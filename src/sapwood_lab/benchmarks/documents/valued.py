"""Paths with one value predicate, drawn so that documents meet them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import Final

from sapwood.errors import InputError
from sapwood.xml import Document, read_document

SEED: Final = 20_03
_STEP: Final = re.compile(r"(//?)([^/]+)")
IN_VAIN_MAX: Final = 1000
"""Draws in a row that may give nothing new until there is nothing more to be had."""


def with_values(
    paths: Sequence[str], documents: Sequence[bytes], count: int, seed: int = SEED
) -> Iterator[str]:
    """Distinct expressions: a path and, at one of its steps, an equality of an attribute or text.

    Path and step are drawn evenly. What is compared is drawn from what elements of that name have
    in the documents, and the value from those that attribute or text has anywhere: as YFilter's
    generator does with its values of 1 to 20.
    """
    random = Random(seed)  # noqa: S311 - samples, not secrets
    subjects, values = _contents(documents)
    made: set[str] = set()
    in_vain = 0
    while len(made) < count:
        expression = _drawn(random, random.choice(paths), subjects, values)
        if expression is None or expression in made:
            in_vain += 1
            if in_vain > IN_VAIN_MAX:
                raise InputError(f"the paths and documents give no more than {len(made)} of these")
            continue
        in_vain = 0
        made.add(expression)
        yield expression


def _drawn(
    random: Random,
    path: str,
    subjects: dict[str, tuple[str, ...]],
    values: dict[str, tuple[str, ...]],
) -> str | None:
    """The path with an equality at some step; `None` if elements of that name have nothing."""
    steps = _STEP.findall(path)
    at = random.randrange(len(steps))
    name = steps[at][1]
    if name not in subjects:
        return None
    subject = random.choice(subjects[name])
    parts = [axis + step for axis, step in steps]
    parts[at] += f"[{subject}='{random.choice(values[subject])}']"
    return "".join(parts)


def _contents(
    documents: Sequence[bytes],
) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """The subjects of comparisons that elements of each name have, and the values of each."""
    subjects: dict[str, set[str]] = {}
    values: dict[str, set[str]] = {}
    for data in documents:
        document = read_document(data)
        for element, name in enumerate(document.names):
            for subject, value in _compared(document, element):
                if "'" not in value and value.strip():
                    for key in (name, "*"):
                        subjects.setdefault(key, set()).add(subject)
                    values.setdefault(subject, set()).add(value)
    return (
        {name: tuple(sorted(found)) for name, found in subjects.items()},
        {subject: tuple(sorted(found)) for subject, found in values.items()},
    )


def _compared(document: Document, element: int) -> Iterator[tuple[str, str]]:
    for name, value in document.attributes(element):
        yield f"@{name}", value
    for text in document.texts(element):
        yield "text()", text
