"""`sapwood explain`: why a publication matches a subscription, or does not."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

import click

from sapwood.cli.access import client_access, connection_settings
from sapwood.cli.explain_filter import about_filter, check_journal, filter_members, filter_text
from sapwood.cli.output import (
    ExitStatus,
    dialect_option,
    id_member_option,
    input_file,
    json_option,
    print_json,
    say,
)
from sapwood.cli.subscribe import read_bindings
from sapwood.errors import InputError
from sapwood.files import STANDARD_INPUT, read_publications, read_subscriptions
from sapwood.language.explanation_words import explanation_members, way_lines
from sapwood.language.explanations import explain
from sapwood.language.written import Language, Written, read_interest
from sapwood.model.amounts import amount
from sapwood.model.explanation import Explanation
from sapwood.model.interest import Interest
from sapwood.model.json_objects import check_members, decode_object
from sapwood.model.publication import Publication
from sapwood.model.subscription import Subscription
from sapwood.xml.encodings import encode_text

if TYPE_CHECKING:
    from sapwood.asking.answers import Asked

_GIVEN: Final = "given"
"""The id of a publication or a subscription that is given as an argument."""


class _Named(Protocol):
    """A value with an id."""

    @property
    def id(self) -> str:
        """The id."""


N = TypeVar("N", bound=_Named)


class _Unusable:
    """The lines of a file that cannot be used, of which only the first is shown."""

    def __init__(self) -> None:
        self.first: str | None = None
        self.count = 0

    def reject(self, path: str, line: int, reason: str, text: str) -> None:  # noqa: ARG002
        """Keep the first."""
        self.count += 1
        self.first = self.first or f"line {line} cannot be used: {reason}"


@click.command
@click.option(
    "--publication",
    metavar="P",
    help="A record as JSON or a document as XML; with --publications, an id in that file.",
)
@click.option(
    "--subscription",
    metavar="S",
    help="A filter, or with --xpath an XPath; with --subscriptions, an id in that file.",
)
@click.option(
    "--filter",
    "filter_",
    metavar="F",
    help="Alone: what covers the filter (or with --xpath the XPath F) among --subscriptions, or at "
    "a --broker, what it costs, and how often it has matched what a --journal keeps.",
)
@click.option("--publications", type=input_file, help="JSON Lines file, or -.")
@click.option("--subscriptions", type=input_file, help="JSON Lines file, or -.")
@click.option("--xpath", "as_xpath", is_flag=True, help="S is an XPath, for documents.")
@click.option(
    "--namespace",
    "namespaces",
    multiple=True,
    metavar="PREFIX=NAMESPACE",
    help="A prefix of the XPath; with one, names compare expanded. May be given several times.",
)
@id_member_option
@click.option(
    "--journal",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="With --filter: the --data folder of a broker, or a journal.",
)
@click.option(
    "--broker",
    "brokers",
    multiple=True,
    metavar="HOST:PORT",
    help="Ask this broker for its tables: hop by hop, whether P would come to the subscriptions to "
    "S of clients. May be given several times; P is published at the first, unless --from says "
    "otherwise. Without P: what each broker has told the next one.",
)
@click.option("--from", "source", metavar="NAME", help="The broker at which P is published.")
@click.option("--client", default="", metavar="NAME", help="The client that has subscribed.")
@click.option("--durable", default="", metavar="NAME", help="The name of a durable subscription.")
@click.option(
    "--follow",
    is_flag=True,
    help="Ask their neighbors, too, and the neighbors of these, at the addresses at which they say "
    "that they listen. They get the credentials of this command, too.",
)
@client_access
@dialect_option
@json_option
def command(
    *,
    publication: str | None,
    subscription: str | None,
    filter_: str | None,
    publications: str | None,
    subscriptions: str | None,
    as_xpath: bool,
    namespaces: tuple[str, ...],
    id_member: str | None,
    journal: Path | None,
    brokers: tuple[str, ...],
    source: str | None,
    client: str,
    durable: str,
    follow: bool,
    dialect: str | None,
    as_json: bool,
) -> None:
    """Say why a publication matches a subscription, or what of the filter it fails.

    Each predicate that does not hold is named, with the value that was there. A filter with `or`
    can be met in several ways: the closest is first. With --broker, running brokers say what they
    know of the subscription, who was told of it and what stands for it, and where a publication
    would end that is published now. With --filter, no publication is looked at.
    """
    if filter_ is not None:
        others = (publication, subscription, publications, id_member, source, client, durable)
        if any(others) or follow or len(brokers) > 1 or (brokers and subscriptions):
            raise click.UsageError(
                "--filter goes with --xpath, --journal, and one of --subscriptions and --broker"
            )
        spelling = _Spelling.of(namespaces, dialect, as_xpath=as_xpath)
        options = (subscriptions, brokers[0] if brokers else None, journal)
        _filter(filter_, spelling, *options, as_json=as_json)
        return
    if journal is not None:
        raise click.UsageError("--journal is for a --filter")
    if publications == subscriptions == STANDARD_INPUT:
        raise click.UsageError("only one of the two files can be standard input")
    if subscriptions is not None and (as_xpath or namespaces):
        raise click.UsageError("--xpath and --namespace are for an XPath given as --subscription")
    if id_member is not None and publications is None:
        raise click.UsageError("--id names a member in the lines of a file; add --publications")
    spelling = _Spelling.of(namespaces, dialect, as_xpath=as_xpath)
    wanted = None
    if subscription is not None:
        wanted = _subscription(subscription, subscriptions, spelling)
    given = None if publication is None else _publication(publication, publications, id_member)
    if brokers:
        interest = None if wanted is None else wanted.filter
        if interest is None and not client and not durable:
            raise click.UsageError("name what to look for: --subscription, --client or --durable")
        from sapwood.asking.answers import Asked

        _overlay(brokers, Asked(interest, client, durable, given, source), follow, as_json=as_json)
        return
    if source or client or durable or follow:
        raise click.UsageError("--from, --client, --durable and --follow ask brokers: add --broker")
    if wanted is None or given is None:
        raise click.UsageError("give both --publication and --subscription, or ask a --broker")
    found = explain(wanted.filter, given)
    if as_json:
        print_json(_members(wanted, given, found))
    else:
        click.echo(_text(wanted, given, found))


class _Spelling(NamedTuple):
    """The notation of the filter on the command line; its `dialect` goes for files as well."""

    language: Language
    bindings: tuple[tuple[str, str], ...] | None
    dialect: str | None

    @classmethod
    def of(cls, namespaces: tuple[str, ...], dialect: str | None, *, as_xpath: bool) -> _Spelling:
        """The notation given by options. Raises `UsageError` where they do not go together."""
        if namespaces and not as_xpath:
            raise click.UsageError("only XPaths have namespaces; add --xpath")
        if dialect is not None and as_xpath:
            raise click.UsageError("only filters have a dialect; leave --dialect out")
        return cls("xpath" if as_xpath else "filter", read_bindings(namespaces), dialect)


def _filter(
    text: str,
    spelling: _Spelling,
    subscriptions: str | None,
    broker: str | None,
    journal: Path | None,
    *,
    as_json: bool,
) -> None:
    """Print the properties of one filter."""
    if journal is not None:
        check_journal(journal)
    interest = _interest(text, spelling, "--filter")
    named, unusable = None, _Unusable()
    if subscriptions is not None:
        lines = read_subscriptions(subscriptions, unusable, dialect=spelling.dialect)
        named = ((line.id, line.filter) for line in lines)
    found = about_filter(
        interest,
        named=named,
        source=subscriptions,
        broker=broker,
        settings=connection_settings(),
        journal=journal,
    )
    if as_json:
        print_json(filter_members(found))
    else:
        click.echo(filter_text(found))
    if unusable.count:
        say(f"{subscriptions}: {amount(unusable.count, 'line')} left out: {unusable.first}")
        click.get_current_context().exit(ExitStatus.REJECTED)


def _interest(text: str, spelling: _Spelling, option: str) -> Interest:
    """Read an option; a syntax error names it."""
    try:
        return read_interest(Written(spelling.language, text, spelling.bindings, spelling.dialect))
    except InputError as error:
        raise click.BadParameter(str(error), param_hint=f"'{option}'") from None


def _overlay(brokers: tuple[str, ...], asked: Asked, follow: bool, *, as_json: bool) -> None:  # noqa: FBT001 - the option
    """Ask running brokers, and print their answers."""
    from sapwood.asking.answers import ask_overlay, overlay_members, overlay_text

    found = ask_overlay(brokers, asked, connection_settings(), follow=follow)
    if as_json:
        print_json(overlay_members(found))
    else:
        click.echo(overlay_text(found))


def _subscription(given: str, file: str | None, spelling: _Spelling) -> Subscription:
    """The subscription of this id in a file, or one to the filter that was given."""
    if file is not None:
        unusable = _Unusable()
        return _named(
            given, read_subscriptions(file, unusable, dialect=spelling.dialect), file, unusable
        )
    return Subscription(_GIVEN, _interest(given, spelling, "--subscription"))


def _publication(given: str, file: str | None, id_member: str | None) -> Publication:
    """The publication of this id in a file, or one of the record or the document given."""
    if file is not None:
        unusable = _Unusable()
        lines = read_publications(file, unusable, id_member=id_member)
        return _named(given, (line.publication for line in lines), file, unusable)
    try:
        if given.lstrip().startswith("<"):
            made = Publication(_GIVEN, document=encode_text(given))
            made.read_document()
            return made
        line = given.encode(errors="surrogateescape")  # bytes that are no UTF-8 are refused
        members = decode_object(line, "record")
        check_members(line, members)
        return Publication(_GIVEN, members)
    except InputError as error:
        raise click.BadParameter(str(error), param_hint="'--publication'") from None


def _named(id: str, values: Iterable[N], file: str, unusable: _Unusable) -> N:
    """The value of this id; raises `InputError` if no line that can be used has it."""
    for value in values:
        if value.id == id:
            return value
    aside = "" if unusable.first is None else f" ({unusable.first})"
    raise InputError(f"{file}: no line has the id {id!r}{aside}; give one that is there")


def _text(asked: Subscription, published: Publication, found: Explanation) -> str:
    """The explanation for people."""
    verb = "matches" if found.matches else "does not match"
    one, other = (_noun("publication", published.id), _noun("subscription", asked.id))
    return "\n".join([f"{one} {verb} {other}", *way_lines(found)])


def _noun(noun: str, id: str) -> str:
    return f"the {noun}" if id == _GIVEN else f"{noun} {id}"


def _members(asked: Subscription, published: Publication, found: Explanation) -> dict[str, object]:
    """The explanation for programs."""
    return {
        "publication": published.id,
        "subscription": asked.id,
        "filter": str(asked.filter),
        **explanation_members(found),
    }
