"""A comparison of a broker's tables with those of its neighbors, from outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from sapwood.asking.asker import Asker
from sapwood.errors import FrameError, InputError
from sapwood.wire.messages import CheckReply, CheckRequest, EdgeState

Edges: TypeAlias = dict[tuple[str, str], EdgeState]
"""Edges by sender and holder."""


class Checker(Asker):
    """One connection that requests comparisons from a broker; a context manager that closes it.

    Raises `ConnectionLostError` where there is no broker, or none any more.
    """

    def compared(self, within_s: float, time: Callable[[], float]) -> tuple[Edges, list[str]]:
        """Compare all edges of the broker; return them, and those that did not answer.

        `time` returns seconds, and lets a short time pass. Raises `InputError` for a broker whose
        tables cannot be compared edge by edge.
        """
        before = self._edges(compare=True)
        until = time() + within_s
        while True:
            now = self._edges(compare=False)
            late = [
                f"{sender} -> {holder}"
                for (sender, holder), state in before.items()
                if (sender, holder) in now and now[sender, holder].rounds <= state.rounds
            ]
            if not late or time() > until:
                return now, late

    def _edges(self, *, compare: bool) -> Edges:
        self._connection.send(CheckRequest(compare))
        reply = self._answer()
        if not isinstance(reply, CheckReply):
            raise FrameError(f"{self._address} answers by {type(reply).__name__}")
        if reply.edges is None:
            raise InputError(
                f"broker {reply.broker} runs {reply.routing}, whose tables cannot be compared edge "
                "by edge: it routes on many trees, or tells neighbors counts of subscriptions; "
                "check brokers that are linked as one tree, under another word for what travels"
            )
        return {(edge.sender, edge.holder): edge for edge in reply.edges}
