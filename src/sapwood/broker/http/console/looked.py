"""The broker as the console uses it."""

from __future__ import annotations

from typing import Protocol

from sapwood.broker.access.doorkeeper import Doorkeeper
from sapwood.broker.effect_runner import EffectRunner
from sapwood.broker.http.gateway import Visited
from sapwood.broker.status import Asked
from sapwood.limits.console import CONSOLE_TEXT_CHARS
from sapwood.wire.address import Address


class Looked(Asked, Visited, Protocol):
    """The broker, as the console uses it."""

    address: Address
    doorkeeper: Doorkeeper
    effect_runner: EffectRunner


def cut(text: str) -> str:
    """A text in the form for a row of a table."""
    return text if len(text) <= CONSOLE_TEXT_CHARS else f"{text[: CONSOLE_TEXT_CHARS - 1]}…"
