"""The broker's log: structured lines on standard error, bounded, without payloads."""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO, TypeAlias

import structlog

from sapwood.limits import REASON_CHARS_MAX

Log: TypeAlias = structlog.typing.FilteringBoundLogger


def make_log(level: str = "warning", stream: TextIO | None = None, *, colors: bool = True) -> Log:
    """A log that writes to `stream` (standard error).

    On a terminal lines are for reading, and may have `colors`; otherwise each is a JSON object. No
    control character of a text survives in either. `level` is one of `LOG_LEVELS`.
    """
    stream = sys.stderr if stream is None else stream
    render: tuple[structlog.typing.Processor, ...] = (structlog.processors.JSONRenderer(),)
    if stream.isatty():
        render = (_printable, structlog.dev.ConsoleRenderer(colors=colors))
    log: Log = structlog.wrap_logger(
        structlog.PrintLogger(stream),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _bounded,
            *render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level.upper())),
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
    """Escape what could move a terminal's cursor or change its colors."""
    for key, value in event.items():
        if isinstance(value, str) and not value.isprintable():
            event[key] = repr(value)
    return event
