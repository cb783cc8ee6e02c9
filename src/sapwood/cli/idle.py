"""Filters that no publication can match, as commands report them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sapwood.cli.output import (
    say,
)
from sapwood.model.amounts import amount

_SHOWN_MAX: Final = 3


def say_idle(lines: Sequence[tuple[int, str]]) -> None:
    """Report the lines of a file of subscriptions that can never match, and why.

    Of many, the first few are shown.
    """
    if not lines:
        return
    say(f"{amount(len(lines), 'subscription')} can never match:")
    for number, why in lines[:_SHOWN_MAX]:
        say(f"  line {number}: {why}")
    if len(lines) > _SHOWN_MAX:
        say(f"  and {len(lines) - _SHOWN_MAX:,} more")
