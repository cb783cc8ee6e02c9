"""The event loop of processes."""

from __future__ import annotations

import asyncio
import sys

import pytest

from sapwood.server.loop import run


async def loop_module() -> str:
    return type(asyncio.get_running_loop()).__module__


def test_run_uses_uvloop_where_it_is_installed() -> None:
    pytest.importorskip("uvloop")
    assert run(loop_module()).startswith("uvloop")


def test_run_uses_asyncio_where_uvloop_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert run(loop_module()).startswith("asyncio")


def test_run_raises_what_the_coroutine_raises() -> None:
    async def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        run(fail())
