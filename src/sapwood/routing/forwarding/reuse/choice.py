"""The strategies of lookup reuse by name: never, always, or some keys (Shen 2.3, 2.5, 2.6)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sapwood.errors import InputError
from sapwood.routing.forwarding.reuse.digest import KEYS_MAX, MARK
from sapwood.routing.forwarding.reuse.reuse import Reuse
from sapwood.routing.strategies import ForwardingStrategy, Rule

KEYS_DEFAULT: Final = 20
"""Keys with a publication by default: the fewest that Shen tries (3.3)."""


def _reuse(text: str, summary: str, keys_max: int) -> ForwardingStrategy:
    return replace(
        REUSE,
        name=f"{REUSE.name}:{text}",
        summary=summary,
        make=lambda _, engines, propagation: Reuse(
            engines, keys_max, tells_all=propagation.tells_all
        ),
    )


def reuse_by(text: str) -> ForwardingStrategy:
    """`never`, `always`, or `partial` with the number of keys; raises `InputError`."""
    word, _, number = text.partition(":")
    if text == "never":
        summary = "every router asks by content, side by side, whether a publication is wanted"
        return replace(_reuse(text, summary, 0), mark=None)
    if text == "always":
        summary = "the first router names all subscriptions that it has found; others look them up"
        return replace(_reuse(text, summary, KEYS_MAX), requires=(_ALL_KNOWN,), names_all=True)
    if word == "partial" and number.isascii() and number.isdigit():
        count = int(number)
        if 1 <= count <= KEYS_MAX:
            return _reuse(text, _some(count), count)
    raise InputError(
        f"{REUSE.name}:{text}: behind {REUSE.name} goes never, always, or partial with how many "
        f"keys travel, 1 to {KEYS_MAX}, as in {REUSE.name}:partial:{KEYS_DEFAULT}"
    )


def _some(count: int) -> str:
    return f"routers name up to {count} subscriptions that they have found; others look them up"


_ALL_KNOWN: Final = Rule(
    frozenset({"simple"}),
    "keys of subscriptions that were found at one router are all there are only where every "
    "subscription travels to every router: put it behind simple, or take reuse:partial",
)

REUSE: Final = ForwardingStrategy(
    name="reuse",
    summary=_some(KEYS_DEFAULT),
    make=lambda _, engines, propagation: Reuse(
        engines, KEYS_DEFAULT, tells_all=propagation.tells_all
    ),
    mark=MARK,
    choose=reuse_by,
)
