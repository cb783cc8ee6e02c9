"""The broker's log: structured lines on standard error, bounded, without payloads."""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Any, TextIO, TypeAlias

import structlog

from sapwood.limits import REASON_CHARS_MAX

Log: TypeAlias = structlog.typing.FilteringBoundLogger


class _Lines(structlog.PrintLogger):
    """Writes lines to a stream, and drops those that it does not accept.

    The disk that a log is written to may be full, or its reader gone. The code that logs a line has
    to go on.
    """

    def msg(self, message: str) -> None:
        """Write one line."""
        with suppress(OSError):
            super().msg(message)

    log = debug = info = warn = warning = msg
    fatal = failure = err = error = critical = exception = msg


class Level:
    """The least level of a log's lines, which can change while it is written."""

    __slots__ = ("_number",)

    def __init__(self, name: str) -> None:
        self.set(name)

    def set(self, name: str) -> None:
        """Set the level to one of `LOG_LEVELS`."""
        self._number: int = getattr(logging, name.upper())

    def has(self, number: int) -> bool:
        """True if the log has lines of this level."""
        return number >= self._number

    def __call__(
        self, _logger: object, method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        """Drop a line below the level, as a processor of structlog."""
        if not self.has(getattr(logging, method.upper())):
            raise structlog.DropEvent
        return event


def make_log(
    level: str | Level = "warning",
    stream: TextIO | None = None,
    *,
    colors: bool = True,
    form: str = "auto",
) -> Log:
    """A log that writes to `stream` (standard error).

    On a terminal lines are for reading, and may have `colors`; otherwise each is a JSON object; a
    `form` of `LOG_FORMATS` makes all lines the one or the other. No control character of a text
    survives in either. A line that the stream does not accept is dropped. `level` is one of
    `LOG_LEVELS`, or a `Level` that changes.
    """
    stream = sys.stderr if stream is None else stream
    render: tuple[structlog.typing.Processor, ...] = (structlog.processors.JSONRenderer(),)
    if form == "text" or (form == "auto" and stream.isatty()):
        colors = colors and stream.isatty()
        render = (_printable, structlog.dev.ConsoleRenderer(colors=colors))
    leaves_out = level if isinstance(level, Level) else Level(level)

    class Leveled(structlog.make_filtering_bound_logger(logging.DEBUG)):  # type: ignore[misc]
        """A logger whose level changes."""

        def is_enabled_for(self, number: int) -> bool:
            return leaves_out.has(number)

    log: Log = structlog.wrap_logger(
        _Lines(stream),
        processors=[
            leaves_out,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _bounded,
            *render,
        ],
        wrapper_class=Leveled,
    )
    return log


def _bounded(
    _logger: object, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Cut long texts: some come from peers."""
    for key, value in event.items():
        if isinstance(value, str) and len(value) > REASON_CHARS_MAX:
            event[key] = value[: REASON_CHARS_MAX - 1] + "…"
    return event


def _printable(
    _logger: object, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Escape characters that could move a terminal's cursor or change its colors."""
    for key, value in event.items():
        if isinstance(value, str) and not value.isprintable():
            event[key] = repr(value)
    return event
