"""Errors that are answered, without the frames that they came through.

An error refers to its frames by its traceback, and often one of these to the error: a task that has
it as its result, a variable. Such a circle goes when the garbage collector looks at it, which in a
broker is late or never (`sapwood.broker.garbage`), and until then keeps what the frames had: a body
of two megabytes for each one that was refused.
"""

from __future__ import annotations

from typing import TypeVar

E = TypeVar("E", bound=BaseException)


def answered(error: E) -> E:
    """An error whose traceback nobody will read."""
    error.__context__ = None
    return error.with_traceback(None)
