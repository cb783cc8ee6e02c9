"""`sapwood publish`: a file of publications to a broker."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sapwood.cli.access import client_access, connection_settings
from sapwood.cli.output import (
    Advance,
    ExitStatus,
    id_member_option,
    input_file,
    json_option,
    print_json,
    progress,
    say,
    strict_option,
)
from sapwood.limits import UNACKNOWLEDGED_MAX
from sapwood.model.amounts import amount

if TYPE_CHECKING:
    from sapwood.client import Client, PublishBatch, Published
    from sapwood.files import Counts, Line, PublicationLine, Reading
    from sapwood.model.advertised_content import AdvertisedContent

STANDARD_INPUT_NAME: Final = "publications.jsonl"
"""The name for standard input in the names of files in the working folder."""

STANDARD_INPUT_DEVICE: Final = "/dev/stdin"

REFUSALS_SHOWN: Final = 10


@click.command
@click.argument("file", type=input_file, default="-")
@click.option(
    "--broker", default="127.0.0.1:7411", show_default=True, metavar="HOST:PORT", help="Where to."
)
@click.option("--name", help="Unique among the broker's clients.  [default: a random name]")
@click.option(
    "--advertise",
    "advertised",
    multiple=True,
    metavar="FILTER",
    help="Advertise what will be published, and wait until that is in force; can be repeated.",
)
@click.option(
    "--advertise-xpath",
    "advertised_xpaths",
    multiple=True,
    metavar="XPATH",
    help="The same for documents.",
)
@click.option(
    "--advertise-dtd",
    "advertised_dtds",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The same for documents with the paths of a DTD.",
)
@click.option(
    "--rejected",
    help="File for lines that are not accepted.  [default: the name of FILE with .rejected added; "
    f"for standard input a new file, {STANDARD_INPUT_NAME}.rejected or that with a number]",
)
@click.option(
    "--reconnect-s",
    default=30.0,
    show_default=True,
    type=click.FloatRange(min=0),
    help="How long to try to connect again when the connection is lost.",
)
@click.option(
    "--state",
    type=click.Path(dir_okay=False),
    help="File of what this client has published: killed and started again with it and the same "
    "FILE, it goes on where it was, and publishes nothing twice.",
)
@click.option(
    "--payload-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Bytes that subscribers get with each publication of FILE; no broker looks into them.",
)
@click.option(
    "--blind",
    is_flag=True,
    help="Let no broker but this one see more of a publication than its payload.",
)
@click.option(
    "--ttl",
    type=float,
    metavar="SECONDS",
    help="Time to live: deliver what may be older than that to nobody.",
)
@client_access
@id_member_option
@json_option
@strict_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    file: str,
    broker: str,
    name: str | None,
    advertised: tuple[str, ...],
    advertised_xpaths: tuple[str, ...],
    advertised_dtds: tuple[Path, ...],
    rejected: str | None,
    reconnect_s: float,
    state: str | None,
    payload_file: Path | None,
    blind: bool,
    ttl: float | None,
    id_member: str | None,
    as_json: bool,
    strict: bool,
) -> None:
    """Publish a file of publications (JSON Lines; - is standard input).

    Lines are published in their order, as they come, and each is acknowledged; when the connection
    is lost, what is unacknowledged is sent again, and nothing is published twice. A bad line does
    not stop the run, nor does one that the broker refuses: it is counted, and written with its line
    number and the reason to a file of rejected lines.

    A line may have its own payload, in base64: {"id": "p1", "attributes": {...}, "payload": "..."},
    and be blind: "blind": true. It may have its own time to live, in seconds: "ttl": 2.5.

    Under a protocol that routes by advertisements, a client has to advertise before it publishes;
    under any other it may. What none of its advertisements accepts, the broker refuses.
    """
    import asyncio

    from sapwood.client import connect
    from sapwood.files import REJECTED_SUFFIX, RejectedFile, Rejections, StrictRejections
    from sapwood.language import parse_filter
    from sapwood.language.xpath import parse_xpath
    from sapwood.model.patterns.advertisements import advertisement_of
    from sapwood.xml.dtd import read_dtd

    contents: tuple[AdvertisedContent, ...] = (
        *map(parse_filter, advertised),
        *map(parse_xpath, advertised_xpaths),
        *(advertisement_of(read_dtd(file.read_bytes()).paths) for file in advertised_dtds),
    )
    is_input = file == "-"
    beside = (STANDARD_INPUT_NAME if is_input else file) + REJECTED_SUFFIX
    aside = RejectedFile(rejected or beside, new=is_input and not rejected)
    with ExitStack() as stack:
        rejections: Rejections = StrictRejections()
        if not strict:
            rejections = stack.enter_context(aside)
        payload = None if payload_file is None else payload_file.read_bytes()
        lines = _read(file, rejections, id_member, payload, is_blind=blind, ttl=ttl)
        advance = stack.enter_context(progress("publishing", "publications"))
        client = connect(
            broker, name, reconnect_s=reconnect_s, state=state, settings=connection_settings()
        )
        published = asyncio.run(_publish(client, contents, lines, advance))
    summary = Summary(lines.counts, published, aside.path)
    if as_json:
        print_json(summary.members())
    else:
        say(summary.text(first_rejected=aside.first))
    ctx.exit(ExitStatus.REJECTED if summary.incomplete else ExitStatus.DONE)


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary of a run, for a person and for a program."""

    lines: Counts
    published: Published
    rejected_file: str

    @property
    def incomplete(self) -> bool:
        """True if a line that was read was not published."""
        return bool(self.lines.rejected or self.published.refused)

    def members(self) -> dict[str, Any]:
        """The summary as a JSON object."""
        return {
            "read": self.lines.read,
            "good": self.lines.good,
            "rejected": self.lines.rejected,
            "accepted": self.published.accepted,
            "refused": [{"id": one.id, "reason": one.reason} for one in self.published.refused],
            "rejected_file": self.rejected_file if self.incomplete else None,
        }

    def text(self, *, first_rejected: str | None = None) -> str:
        """The summary in a few lines."""
        lines = [f"{amount(self.published.accepted, 'publication')} accepted"]
        refused = self.published.refused
        lines += [f"{one.id!r} refused by the broker: {one.reason}" for one in refused][
            :REFUSALS_SHOWN
        ]
        if len(refused) > REFUSALS_SHOWN:
            lines.append(f"{len(refused) - REFUSALS_SHOWN:,} more refused by the broker")
        if self.incomplete:
            aside = amount(self.lines.rejected + len(refused), "line")
            lines.append(f"{aside} rejected: see {self.rejected_file}")
        if first_rejected is not None:
            lines.append(f"rejected first: {first_rejected}")
        return "\n".join(lines)


def _read(
    file: str,
    rejections: Any,
    id_member: str | None,
    payload: bytes | None,
    *,
    is_blind: bool,
    ttl: float | None,
) -> Reading[PublicationLine]:
    """The publications of the file that can travel; a line that cannot is a bad line.

    A payload goes with each that has none of its own, and so does a time to live.
    """
    from dataclasses import replace

    from sapwood.files import Reading, decode_publication, decode_record
    from sapwood.model.envelope import enveloped
    from sapwood.model.publication import Publication
    from sapwood.wire.publications import encode_publication

    envelope = enveloped(ttl)

    def decode(line: bytes) -> PublicationLine:
        decoded = decode_publication(line) if id_member is None else decode_record(line, id_member)
        if payload is not None or is_blind or envelope is not None:
            decoded = replace(decoded, publication=carrying(decoded.publication))
        encode_publication(decoded.publication)
        return decoded

    def carrying(given: Publication) -> Publication:
        own = payload if given.payload is None else given.payload
        content = (given.id, given.attributes, given.document, own)
        blind = is_blind or given.is_blind
        return Publication(*content, is_blind=blind, envelope=given.envelope or envelope)

    return Reading(_live(file), rejections, decode, lambda value: value.publication.id)


def _live(file: str) -> str:
    """The name under which lines of standard input come as soon as they are written.

    Under `-` it is read in large pieces; under its device's name (where the system has one, and
    standard input is nothing that only a test has) a line at a time.
    """
    if file != "-":
        return file
    try:
        sys.stdin.fileno()
        Path(STANDARD_INPUT_DEVICE).open("rb").close()
    except (OSError, ValueError):
        return file
    return STANDARD_INPUT_DEVICE


async def _publish(
    client: Client,
    advertised: tuple[AdvertisedContent, ...],
    lines: Reading[PublicationLine],
    advance: Advance,
) -> Published:
    from sapwood.client.feeding import from_thread

    async with client:
        for content in advertised:
            await client.advertise(content)
        batch = client.batch()
        refusals = _Refusals(lines, batch)
        done = client.published
        if done:
            say(f"{amount(done, 'publication')} published by earlier runs, as {client.name} knows")
        async for some in from_thread(lines.lines()):
            for line in some:
                if done:
                    done -= 1
                    continue
                refusals.sending(line)
                await batch.publish((line.value.publication,))
            advance(len(some))
        published = await batch.finish()
        refusals.set_aside()
        return published


class _Refusals:
    """Sets lines aside that the broker refuses.

    The client waits while `limits.UNACKNOWLEDGED_MAX` publications are unanswered, so of all that
    were sent only the last `UNACKNOWLEDGED_MAX` can still be refused, and only their lines are
    held.

    #: _lines holds, by id and in the order they were sent, at most UNACKNOWLEDGED_MAX + 1 lines,
    #: every one among them whose answer has not come
    """

    def __init__(self, reading: Reading[PublicationLine], batch: PublishBatch) -> None:
        self._reading = reading
        self._batch = batch
        self._lines: dict[str, Line[PublicationLine]] = {}
        self._set_aside = 0

    def sending(self, line: Line[PublicationLine]) -> None:
        """Keep the line that is sent next; reject the lines that were refused meanwhile."""
        self.set_aside()
        if len(self._lines) > UNACKNOWLEDGED_MAX:
            del self._lines[next(iter(self._lines))]
        self._lines[line.value.publication.id] = line

    def set_aside(self) -> None:
        """Set aside the publications refused since the last time."""
        while self._set_aside < len(self._batch.refused):
            refused = self._batch.refused[self._set_aside]
            self._set_aside += 1
            line = self._lines.pop(refused.id)
            self._reading.reject(line.number, f"refused by the broker: {refused.reason}", line.text)
