"""The broker's log."""

from __future__ import annotations

import ast
import errno
import io
import json
import logging
import re
from pathlib import Path

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


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_a_log_looks_as_it_is_told_to_wherever_it_goes(stream: io.StringIO) -> None:
    make_log("info", stream, form="json").info("link up", neighbor="r2")
    assert json.loads(stream.getvalue())["neighbor"] == "r2"
    stream.seek(0)
    stream.truncate()
    make_log("info", stream, form="text").info("link up", neighbor="\x1b[2J")
    assert "link up" in stream.getvalue()
    assert "\x1b[2J" not in stream.getvalue()
    assert ("\x1b" in stream.getvalue()) is stream.isatty()


def test_every_line_of_the_log_is_documented_and_no_other() -> None:
    root = Path(__file__).parents[2]
    page = (root / "docs" / "logs.md").read_text("utf-8")
    documented = {
        (levels, event): set(re.findall(r"`(\w+)`", members))
        for event, levels, members in re.findall(
            r"^\| `([^`]+)` \| ([a-z, ]+) \|([^|]*)\|", page, re.MULTILINE
        )
    }
    sources = root / "src" / "sapwood"
    written = _written([*(sources / "broker").rglob("*.py"), sources / "cli" / "broker.py"])
    assert {event for _, event in documented} == written.keys()
    for (levels, event), members in documented.items():
        assert (set(levels.split(", ")), members) == written[event], event


def _written(sources: list[Path]) -> dict[str, tuple[set[str], set[str]]]:
    """The events in some sources, with the levels and the members of each."""
    found: dict[str, tuple[set[str], set[str]]] = {}
    for path in sources:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(
                node.func, ast.Attribute | ast.Name
            ):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            on = ast.unparse(node.func).rpartition(".")[0]
            if not (name == "log" or (name in LOG_LEVELS and on.endswith("log"))):
                continue
            if not node.args or not isinstance(node.args[0], ast.Constant):
                continue
            levels, members = found.setdefault(str(node.args[0].value), (set(), set()))
            levels |= {"debug", "warning"} if name == "log" else {name}
            members |= {one.arg for one in node.keywords if one.arg is not None}
    return found


def test_a_log_goes_to_standard_error_unless_told_otherwise(
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_log().error("said")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "said" in captured.err


class FullDisk(io.StringIO):
    """A stream that takes nothing."""

    def write(self, _: str) -> int:
        raise OSError(errno.ENOSPC, "no space left on device")


def test_what_a_full_disk_does_not_take_is_left_out_and_whoever_said_it_goes_on() -> None:
    log = make_log("info", FullDisk())
    log.info("one")
    log.warning("two", neighbor="b")
    log.error("three")
