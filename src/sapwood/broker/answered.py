"""Errors that are answered to a peer, without the frames that they came through.

An error refers to its frames by its traceback, and a frame often to the error: by a task whose
result it is, or by a variable. Such a cycle is freed by the garbage collector, which in a broker
runs late or never (`sapwood.broker.garbage`); until then it keeps the objects of the frames, such
as the body of two megabytes of each request that was refused.
"""

from __future__ import annotations

from typing import TypeVar

E = TypeVar("E", bound=BaseException)


def answered(error: E) -> E:
    """Return the error without its traceback and its context."""
    error.__context__ = None
    return error.with_traceback(None)
