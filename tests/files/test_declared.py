"""The file that declares what is published, and filters held against it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood import parse_filter, parse_xpath
from sapwood.errors import InputError
from sapwood.files.declared import read_declared
from sapwood.language.declared import Declared

FILE = """
[[records]]
name = "flight"
[records.attributes]
carrier = "text"
dep_delay = "number?"
state = ["up", "down", 7]
"origin.city" = "text"
detail = "any"

[[records]]
name = "gate"
attributes = { gate = "number", open = "boolean" }

[[documents]]
name = "news"
dtd = "news.dtd"
"""

DTD = b"<!ELEMENT news (title, body?)><!ELEMENT title (#PCDATA)><!ELEMENT body (#PCDATA)>"


@pytest.fixture
def declared(tmp_path: Path) -> Declared:
    (tmp_path / "news.dtd").write_bytes(DTD)
    (tmp_path / "schema.toml").write_text(FILE, "utf-8")
    return read_declared(tmp_path / "schema.toml")


@pytest.mark.parametrize(
    "text",
    [
        "carrier = 'AA' and dep_delay > 60",
        "dep_delay is null and state = 7",
        "gate = 3 or carrier = 'AA'",
        "gate > 3 and open",
        "carrier = 3 or gate = 3",
        "origin.city like 'N%' and detail.whatever = 'x' and detail is null",
        "gate is null and carrier = 'AA'",
        "true",
        "carrier in ('AA', 3)",
    ],
)
def test_what_one_kind_can_match_is_no_mistake(declared: Declared, text: str) -> None:
    assert declared.why_never(parse_filter(text)) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("carier = 'AA'", "flight has no attribute 'carier'; did you mean 'carrier'?"),
        ("gate = 'A1'", "attribute 'gate' of gate is a number, and is compared with a text"),
        ("carrier = 'AA' and gate = 3", "flight has no attribute 'gate'"),
        ("state = 'gone'", "no flight meets state = 'gone'"),
        ("carrier is null and state = 7", "is always there"),
        ("carrier = 3 or gate = 'x'", "of gate is a number, and is compared with a text"),
    ],
)
def test_what_no_kind_can_match_is_said_of_the_nearest(
    declared: Declared, text: str, why: str
) -> None:
    found = declared.why_never(parse_filter(text))
    assert found is not None
    assert found.startswith("no record that is declared can match it: ")
    assert why in found


def test_an_xpath_is_held_against_the_dtds(declared: Declared) -> None:
    assert declared.why_never(parse_xpath("/news/body")) is None
    assert declared.why_never(parse_xpath("/news/bod")) == (
        "no document that is declared (news) can match it"
    )


def test_what_is_not_declared_is_not_judged(declared: Declared) -> None:
    assert Declared(declared.records).why_never(parse_xpath("/x")) is None
    assert Declared((), declared.documents).why_never(parse_filter("x = 1")) is None


def test_many_alternatives_are_not_held_against_it(declared: Declared) -> None:
    few, many = (" or ".join(f"x > {n} and y < {n}" for n in range(count)) for count in (64, 65))
    assert declared.why_never(parse_filter(few)) is not None
    assert declared.why_never(parse_filter(many)) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "declares 0 kinds"),
        ("[[record]]\nname = 'x'", "is no file of declared schemas"),
        (
            "[[records]]\nname = 'x'\nattributes = { a = 'int' }",
            "'x', 'a': 'int' is no type",
        ),
        ("[[records]]\nname = 'x'\nattributes = { a = [] }", "there is no value"),
        ("[[records]]\nname='x'\nattributes={}\n" * 2, "'x' is declared twice"),
        ("[[documents]]\nname = 'x'\ndtd = 'y.dtd'", "y.dtd: cannot be read"),
        ("[[documents]]\nname = 'x'\ndtd = 'schema.toml'", "schema.toml: "),
        ("[[records]]\nname='x{}'\nattributes={{}}\n", "SCHEMA_KINDS_MAX"),
        ("x = '\\xff'", "is no file of declared schemas"),
    ],
)
def test_what_declares_nothing_is_refused_with_the_place(
    tmp_path: Path, text: str, reason: str
) -> None:
    if "{}" in text and "SCHEMA" in reason:
        text = "".join(text.format(number) for number in range(65))
    file = tmp_path / "schema.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(InputError, match=r"schema\.toml|y\.dtd") as refused:
        read_declared(file)
    assert reason in str(refused.value)


def test_a_file_that_is_not_there_or_too_long_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_declared(tmp_path / "none.toml")
    (tmp_path / "long.toml").write_bytes(b"#" * (2**20 + 1))
    with pytest.raises(InputError, match="bytes of declared schemas"):
        read_declared(tmp_path / "long.toml")
