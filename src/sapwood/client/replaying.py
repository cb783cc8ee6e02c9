"""A reader of a broker's journal: blocking, without a session, for a part of the journal."""

from __future__ import annotations

from collections.abc import Iterator

from sapwood.asking.asker import Asker
from sapwood.errors import FrameError, InputError
from sapwood.model.interest import Interest
from sapwood.wire.interests import to_text
from sapwood.wire.messages import ReplayRefused, ReplayReply, ReplayRequest


class JournalReader(Asker):
    """One connection that reads a broker's journal; a context manager that closes it.

    Raises `ConnectionLostError` where there is no broker, or none any more.
    """

    def bounds(self) -> tuple[int, int]:
        """The offset of the oldest publication that is stored, and the one the next will have.

        Raises `InputError` for a broker without a journal.
        """
        reply = self._ask(ReplayRequest(2**63 - 1, 2**63 - 1))
        return reply.first, reply.end

    def read(self, start: int, end: int, interest: Interest | None = None) -> Iterator[bytes]:
        """The journal's lines from offset `start` up to, and without, `end` or its last.

        With an interest, only the lines that it accepts: the broker sends no others. Raises
        `InputError` for a start that is no longer stored.
        """
        text = None if interest is None else to_text(interest)
        while start < end:
            reply = self._ask(ReplayRequest(start, end, text))
            yield from reply.lines
            if reply.through <= start:
                return
            start = reply.through

    def _ask(self, request: ReplayRequest) -> ReplayReply:
        self._connection.send(request)
        answer = self._answer()
        if isinstance(answer, ReplayRefused):
            raise InputError(f"broker {self._address}: {answer.reason}")
        if not isinstance(answer, ReplayReply):
            raise FrameError(f"{self._address} answers by {type(answer).__name__}")
        return answer
