"""The options of the format `sapwood`, checked; an error names the option."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from sapwood.errors import FilterSyntaxError, InputError
from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath
from sapwood.limits.pipeline import JOURNAL_ROWS_PER_TASK, RECORDS_PER_MATCH_MAX
from sapwood.model.interest import Interest

EARLIEST: Final = "earliest"

PUBLISHER_CHARS_MAX: Final = 100
"""The tasks of a publisher put their numbers behind its name, and a name has a bound."""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The options of the format `sapwood`.

    ==================  ========================================================================
    option              meaning
    ==================  ========================================================================
    `broker`            `host:port` of a broker with a journal; several, with commas, to read
    `path`              folder of a journal, where executors see it; several with commas
    `filter`, `xpath`   only publications that it accepts; evaluated at the journal
    `start`, `end`      offsets: `earliest` (default), a number, or JSON {journal: offset}
    `maxRowsPerTrigger` how much one batch of a stream may take
    `lines`             `true`: the journal's lines as they are
    `publisher`         whose ids are written; by default those of the checkpoint, or of this write
    ==================  ========================================================================
    """

    journals: tuple[str, ...]
    interest: Interest | None = None
    starts: tuple[tuple[str, int], ...] | int | None = None
    ends: tuple[tuple[str, int], ...] | int | None = None
    rows_per_trigger: int | None = None
    as_lines: bool = False
    rows_per_task: int = JOURNAL_ROWS_PER_TASK
    rows_per_batch: int = RECORDS_PER_MATCH_MAX
    publisher: str = ""

    @classmethod
    def read(cls, options: Mapping[str, str]) -> SourceOptions:
        """The options of a reader or writer. Raises `InputError`."""
        names = f"{options.get('broker', '')},{options.get('path', '')}"
        found = tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
        if not found:
            raise InputError('name a broker, as in .option("broker", "host:7411"), or a path')
        return cls(
            journals=found,
            interest=_interest(options),
            starts=_offsets("start", options.get("start", EARLIEST)),
            ends=_offsets("end", options.get("end", EARLIEST)),
            rows_per_trigger=_count("maxRowsPerTrigger", options.get("maxRowsPerTrigger")),
            as_lines=options.get("lines", "false").lower() == "true",
            publisher=_publisher(options),
        )

    @property
    def broker(self) -> str:
        """The broker to publish at. Raises `InputError` where there are several."""
        if len(self.journals) > 1:
            raise InputError("publish through one broker; it knows the way to the others")
        return self.journals[0]

    def start_of(self, journal: str, first: int) -> int:
        """The offset to begin with, in a journal that begins with `first`."""
        return _chosen(self.starts, journal, first)

    def end_of(self, journal: str, end: int) -> int:
        """The offset to end before, in a journal that ends before `end`."""
        return _chosen(self.ends, journal, end)


def _publisher(options: Mapping[str, str]) -> str:
    """The publisher of the ids to write, which is the same when a batch is written again."""
    given = options.get("publisher", "")
    if "/" in given or len(given) > PUBLISHER_CHARS_MAX:
        raise InputError(
            f"the option publisher is a name without a slash, of {PUBLISHER_CHARS_MAX} characters "
            f"at most, not {given!r}"
        )
    checkpoint = options.get("checkpointLocation", "")
    if given or not checkpoint:
        return given or f"spark-{secrets.token_hex(8)}"
    return f"spark-{hashlib.blake2b(checkpoint.encode(), digest_size=8).hexdigest()}"


def _chosen(given: tuple[tuple[str, int], ...] | int | None, journal: str, default: int) -> int:
    if given is None or isinstance(given, int):
        return default if given is None else given
    return dict(given).get(journal, default)


def _interest(options: Mapping[str, str]) -> Interest | None:
    filter_, xpath = options.get("filter"), options.get("xpath")
    if filter_ is not None and xpath is not None:
        raise InputError("give a filter or an xpath, not both")
    try:
        if xpath is not None:
            return parse_xpath(xpath)
        return None if filter_ is None else parse_filter(filter_)
    except FilterSyntaxError as error:
        option = "filter" if xpath is None else "xpath"
        reason = f"option {option}: {error.reason}"
        raise FilterSyntaxError(error.text, error.position, reason) from None


def _offsets(option: str, text: str) -> tuple[tuple[str, int], ...] | int | None:
    if text == EARLIEST:
        return None
    if text.isascii() and text.isdecimal():
        return int(text)
    try:
        found = msgspec.json.decode(text, type=dict[str, int])
    except msgspec.DecodeError:
        raise InputError(
            f"option {option} is {text!r}; it takes {EARLIEST}, a number, or JSON with an offset "
            'for each journal, such as {"host:7411": 12}'
        ) from None
    return tuple(sorted(found.items()))


def _count(option: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise InputError(f"option {option} is {text!r}; it takes a number from 1 on")
    return int(text)
