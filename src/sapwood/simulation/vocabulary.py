"""The small worlds of random scenarios: records with four attributes, tiny documents.

In both, covering, equal and overlapping filters are frequent, and so are publications that several
of them accept.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

from sapwood.model.publication import Publication

RECORD_ATTRIBUTES: Final = "xytb"
_TEXTS: Final = ("ash", "elm", "oak", "oak leaf")
_NUMBERS: Final = range(8)
_NAMES: Final = "abc"
_MARKS: Final = "12"
_FURTHER: Final = ("", "(/*)+", "(/a)+", "(/b|/c)+", "/b", "/*", "/*(/c)+")
_DEPTH_MAX: Final = 4
_CHILDREN_MAX: Final = 3


def draw_filter(generator: Random, attributes: str = RECORD_ATTRIBUTES) -> str:
    """The text of a filter over some of `x`, `y` (small numbers), `t` (text) and `b` (boolean)."""
    count = generator.choice((1, 1, 1, 2, 2, 3))
    parts = [_draw_condition(generator, generator.choice(attributes)) for _ in range(count)]
    return generator.choice((" and ", " and ", " or ")).join(parts)


def draw_chain_filter(generator: Random) -> str:
    """The text of one of the filters of which any two cover each other, one way or both."""
    return f"x >= {generator.choice(_NUMBERS)}"


def draw_record(generator: Random) -> dict[str, Any]:
    """A record over the same attributes; each may be missing."""
    values: dict[str, Any] = {
        "x": generator.choice(_NUMBERS),
        "y": generator.choice((*_NUMBERS, 2.5)),
        "t": generator.choice(_TEXTS),
        "b": generator.random() < 0.5,
    }
    return {name: value for name, value in values.items() if generator.random() < 0.8}


def _draw_condition(generator: Random, name: str) -> str:
    if generator.random() < 0.02:
        return "true"
    if name == "b":
        return generator.choice(("b", "not b"))
    if name == "t":
        text = generator.choice(_TEXTS)
        return generator.choice((f"t = '{text}'", f"t like '{text[0]}%'", f"t >= '{text}'"))
    low, high = sorted((generator.choice(_NUMBERS), generator.choice(_NUMBERS)))
    return generator.choice(
        (
            f"{name} >= {low}",
            f"{name} < {high}",
            f"{name} between {low} and {high}",
            f"{name} = {low}",
            f"exists {name}",
            f"not {name} in ({low}, {high})",
        )
    )


def draw_xpath(generator: Random) -> str:
    """The text of a pattern over elements `a`, `b`, `c` with a mark `@m` and a text, 1 or 2."""
    if generator.random() < 0.03:
        return "/*"
    steps = [_draw_step(generator) for _ in range(generator.choice((1, 1, 2, 2, 3)))]
    return generator.choice(("/", "/", "//")) + generator.choice(("/", "/", "//")).join(steps)


def draw_chain_xpath(generator: Random) -> str:
    """The text of one of the patterns of which any two cover each other, one way or both."""
    return "/" + "/".join(["*"] * generator.randint(1, _DEPTH_MAX))


def draw_paths(generator: Random) -> str:
    """The text of an advertisement of paths over the same elements."""
    return "|".join(
        f"/{generator.choice('abc*')}{generator.choice(_FURTHER)}"
        for _ in range(generator.choice((1, 2, 2, 3)))
    )


def draw_document(generator: Random) -> bytes:
    """A document over the same elements."""
    return _draw_element(generator, 1).encode()


def draw_publication(generator: Random, id_: str, *, documents: bool = False) -> Publication:
    """A publication: a record; with `documents` a record, a document, or both."""
    if not documents:
        return Publication(id_, draw_record(generator))
    carries = generator.choice(("record", "document", "document", "both"))
    record = None if carries == "document" else draw_record(generator)
    document = None if carries == "record" else draw_document(generator)
    return Publication(id_, record, document)


def _draw_step(generator: Random) -> str:
    name = generator.choice(_NAMES + _NAMES + "*")
    if generator.random() < 0.7:
        return name
    other, mark = generator.choice(_NAMES), generator.choice(_MARKS)
    conditions: tuple[str, ...] = (
        other,
        f".//{other}",
        f"@m = {mark}",
        f"@m != '{mark}'",
        f"{other} or @m",
        f"text() > {mark}",
    )
    return f"{name}[{generator.choice(conditions)}]"


def _draw_element(generator: Random, depth: int) -> str:
    name = generator.choice(_NAMES)
    mark = f' m="{generator.choice(_MARKS)}"' if generator.random() < 0.5 else ""
    count = generator.randint(0, _CHILDREN_MAX) if depth < _DEPTH_MAX else 0
    inner = "".join(_draw_element(generator, depth + 1) for _ in range(count))
    text = generator.choice(_MARKS) if generator.random() < 0.3 else ""
    return f"<{name}{mark}>{text}{inner}</{name}>"
