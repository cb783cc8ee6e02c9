"""Output that all commands share: tables, colors, lines of JSON, amounts, progress."""

from __future__ import annotations

import io
import shutil
import sys

import pytest
from click.testing import CliRunner

from sapwood.cli.main import main
from sapwood.cli.output import (
    print_json,
    print_table,
    progress,
    say,
)
from sapwood.model.amounts import amount


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


ROWS = [("covering", "subscriptions travel unless covered"), ("flooding", "")]


def test_print_table_aligns_columns(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("NAME", "SUMMARY"), ROWS)
    assert capsys.readouterr().out == (
        "NAME      SUMMARY\ncovering  subscriptions travel unless covered\nflooding\n"
    )


def test_print_table_prints_headings_alone(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("NAME", "SUMMARY"), [])
    assert capsys.readouterr().out == "NAME  SUMMARY\n"


@pytest.mark.parametrize(
    ("columns", "lines"),
    [
        (36, ["covering  subscriptions travel", "          unless covered", "flooding"]),
        (30, ["covering  subscriptions travel unless covered", "flooding"]),
    ],
)
def test_print_table_wraps_the_last_column_on_a_terminal_that_is_wide_enough(
    monkeypatch: pytest.MonkeyPatch, columns: int, lines: list[str]
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", str(columns))
    assert shutil.get_terminal_size().columns == columns
    print_table(("NAME", "SUMMARY"), ROWS)
    assert terminal.getvalue().splitlines()[1:] == lines


def test_color_is_for_terminals_and_not_where_no_color_is_set() -> None:
    runner = CliRunner()
    assert "\x1b[" not in runner.invoke(main, ["protocols"]).stdout
    assert "\x1b[" in runner.invoke(main, ["protocols"], color=True).stdout
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b[" not in runner.invoke(main, ["protocols"], color=True, env=env).stdout


def test_say_speaks_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    say("done")
    assert capsys.readouterr() == ("", "done\n")


def test_print_json_prints_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"é": [1, True, None]})
    print_json([], err=True)
    assert capsys.readouterr() == ('{"é":[1,true,null]}\n', "[]\n")


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 lines"), (1, "1 line"), (2, "2 lines"), (12345, "12,345 lines")]
)
def test_amount_counts_with_the_noun_in_the_right_number(count: int, said: str) -> None:
    assert amount(count, "line") == said


def test_amount_takes_an_irregular_plural() -> None:
    assert amount(2, "delivery", "deliveries") == "2 deliveries"


def test_progress_is_silent_where_no_one_is_looking(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("matching", "publications") as advance:
        advance(7)
    assert capsys.readouterr() == ("", "")


def test_progress_shows_how_many_are_done_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress("matching", "publications") as advance:
        advance(1000)
        advance(234)
    assert "1,234 publications" in terminal.getvalue()
