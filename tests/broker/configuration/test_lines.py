"""On which line a key stands, whatever the file looks like."""

from __future__ import annotations

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from sapwood.broker.configuration.lines import lines_of

FILLERS = st.sampled_from(["", "  ", "# a comment", '# """', "# [x", "\t# ]"])
VALUES = st.sampled_from(
    [
        "1",
        '"a text"  # with a comment',
        "'''one line'''",
        '["a", "b"]',
        '[\n  "a",  # ]\n\n  "]",\n]',
        '"""\nkey = 1\n[table]\n# \'\'\' no\\\n"""',
        "'''\n\"\"\"\nx = '1'\n'''",
        "[[1, 2],\n[3]]",
        "{ a = 1, b = [2,\n3] }",
        "2026-11-23T10:00:00Z",
    ]
)


@given(st.lists(st.tuples(st.lists(FILLERS, max_size=3), VALUES, st.integers(0, 3)), max_size=8))
def test_each_key_is_found_on_the_line_where_its_statement_begins(
    statements: list[tuple[list[str], str, int]],
) -> None:
    lines, expected = [], {}
    for number, (fillers, value, form) in enumerate(statements):
        lines += fillers
        name = f"k{number}"
        expected[name] = sum(one.count("\n") + 1 for one in lines) + 1
        if form == 0:
            lines.append(f"[{name}]")
            lines.append(f"inner = {value}")
            break  # what follows would belong to the table
        key = (name, f'"{name}"', f"{name}.inner")[form - 1]
        lines.append(f"{'  ' * form}{key} = {value}")
    text = "\n".join(lines)
    assert tomllib.loads(text).keys() == expected.keys()
    assert lines_of(text) == expected


def test_keys_of_tables_are_those_of_their_headers() -> None:
    text = "a = 1\n[b]\nc = 1\n\n[[d]]\ne = 1\n[[d]]\n[b.f]\ng = 2\n"
    assert lines_of(text) == {"a": 1, "b": 2, "d": 5}


def test_a_long_array_takes_no_longer_than_it_has_lines() -> None:
    text = "a = [\n" + '  "x",\n' * 5_000 + "]\nb = 1"
    assert lines_of(text) == {"a": 1, "b": 5_003}


def test_what_is_no_toml_has_no_lines_beyond() -> None:
    assert lines_of("a = 1\nb = [") == {"a": 1}
