"""A file of subscriptions for `sapwood subscribe --file`, and the lines that are rejected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from sapwood.cli.idle import say_idle
from sapwood.cli.output import (
    progress,
    say,
)
from sapwood.model.amounts import amount

if TYPE_CHECKING:
    from sapwood.client import Client, SubscriptionGroup
    from sapwood.files import Line, Reading
    from sapwood.files.lines import SubscriptionText
    from sapwood.language.written import Written

STANDARD_INPUT_NAME: Final = "subscriptions.jsonl"
"""The name for standard input in the names of files in the working folder."""


class SubscriptionFile:
    """The subscriptions in a file, requested together; used as a context manager.

    Lines that are none are rejected here, lines whose filter the broker refuses when it has: with
    their numbers and the reasons, in a file of rejected lines, or with `strict` by the first.

    #: lines are there as long as the broker has not answered
    """

    def __init__(self, path: str, *, strict: bool, dialect: str | None = None) -> None:
        from sapwood.files import (
            REJECTED_SUFFIX,
            RejectedFile,
            Rejections,
            StrictRejections,
            read_subscription_texts,
        )

        is_input = path == "-"
        beside = (STANDARD_INPUT_NAME if is_input else path) + REJECTED_SUFFIX
        self._aside = RejectedFile(beside, new=is_input)
        self._stack = ExitStack()
        rejections: Rejections = StrictRejections() if strict else self._aside
        self._reading: Reading[SubscriptionText] = read_subscription_texts(
            path, rejections, dialect=dialect
        )
        self._strict = strict
        self._lines: dict[str, Line[SubscriptionText]] = {}
        self._refused = 0

    def __enter__(self) -> SubscriptionFile:
        if not self._strict:
            self._stack.enter_context(self._aside)
        return self

    def __exit__(self, *raised: object) -> None:
        self._stack.__exit__(*raised)  # type: ignore[arg-type]

    @property
    def rejected(self) -> int:
        """Lines that were rejected so far."""
        return self._reading.counts.rejected + self._refused

    async def subscribe(self, client: Client, broker: str) -> SubscriptionGroup:
        """Subscribe to all of the file; report when all accepted subscriptions are in force."""
        answered = 0
        with progress("subscribing", "subscriptions") as advance:

            def more(count: int) -> None:
                nonlocal answered
                advance(count - answered)
                answered = count

            group = await client.subscribe_many(self._texts(), progress=more)
        for id_, reason in group.refused.items():
            line = self._lines[id_]
            self._refused += 1
            self._reading.reject(line.number, f"refused by the broker: {reason}", line.text)
        if self._strict:
            self._refuse_idle(group)
        said = f"subscribed to {amount(len(group.ids), 'filter')} at {broker}"
        if self.rejected:
            said += f"; {amount(self.rejected, 'line')} rejected: see {self._aside.path}"
        say(said)
        say_idle([(self._lines[id_].number, why) for id_, why in group.never_match.items()])
        self._lines.clear()
        return group

    def _refuse_idle(self, group: SubscriptionGroup) -> None:
        """Fail by the first filter that can never match."""
        for id_, why in group.never_match.items():
            line = self._lines[id_]
            self._reading.reject(line.number, f"can never match: {why}", line.text)

    def _texts(self) -> Iterator[tuple[str, Written]]:
        for line in self._reading.lines():
            self._lines[line.value.id] = line
            yield line.value.id, line.value.interest
