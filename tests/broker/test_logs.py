"""The broker's log."""

from __future__ import annotations

import io
import json
import logging

import pytest

from sapwood.broker.configuration.options import LOG_LEVELS
from sapwood.broker.logs import Level, make_log
from sapwood.limits import REASON_CHARS_MAX


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_log_line_is_one_json_object_without_control_characters() -> None:
    stream = io.StringIO()
    make_log("info", stream).warning("peer at fault", reason="evil\n\x1b[31mred")
    (line,) = stream.getvalue().splitlines()
    entry = json.loads(line)
    assert entry["event"] == "peer at fault"
    assert entry["level"] == "warning"
    assert entry["reason"] == "evil\n\x1b[31mred"
    assert line.isprintable()


def test_a_long_text_is_cut() -> None:
    stream = io.StringIO()
    make_log("info", stream).info("x", reason="y" * 10_000, count=3)
    entry = json.loads(stream.getvalue())
    assert entry["reason"] == "y" * (REASON_CHARS_MAX - 1) + "…"
    assert entry["count"] == 3


@pytest.mark.parametrize("level", LOG_LEVELS)
def test_a_log_has_its_level_and_those_above(level: str) -> None:
    stream = io.StringIO()
    log = make_log(level, stream)
    for name in LOG_LEVELS:
        getattr(log, name)("said")
    written = [json.loads(line)["level"] for line in stream.getvalue().splitlines()]
    assert written == list(LOG_LEVELS[LOG_LEVELS.index(level) :])


def test_a_level_changes_while_the_log_is_written() -> None:
    stream, level = io.StringIO(), Level("error")
    log = make_log(level, stream)
    bound = log.bind(peer="a")
    bound.info("one")
    assert not log.is_enabled_for(logging.INFO)
    level.set("info")
    bound.info("two")
    bound.debug("three")
    assert log.is_enabled_for(logging.INFO)
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == ["two"]


def test_a_log_on_a_terminal_is_for_reading() -> None:
    stream = Terminal()
    make_log("info", stream).info("link up", neighbor="r2", reason="\x1b[2Jgone")
    assert "link up" in stream.getvalue()
    assert "\\x1b[2Jgone" in stream.getvalue()
    assert "\x1b[2J" not in stream.getvalue()
    with pytest.raises(json.JSONDecodeError):
        json.loads(stream.getvalue())


def test_a_log_on_a_terminal_without_colors_holds_no_escape_codes() -> None:
    for colors in (False, True):
        stream = Terminal()
        make_log("info", stream, colors=colors).info("link up")
        assert ("\x1b" in stream.getvalue()) is colors


def test_a_log_goes_to_standard_error_unless_told_otherwise(
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_log().error("said")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "said" in captured.err
