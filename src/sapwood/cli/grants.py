"""`sapwood grants`: the rights of an identity, without a broker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sapwood.cli.groups import CommandGroup
from sapwood.cli.output import ExitStatus, json_option, print_json, print_table
from sapwood.errors import InputError

if TYPE_CHECKING:
    from sapwood.model.interest import Interest
    from sapwood.session.grants import Grant
    from sapwood.session.quotas import Quota


@click.group(cls=CommandGroup)
def command() -> None:
    """Say what identities may do, by the grants in a file of identities."""


@command.command
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--as", "name", required=True, metavar="NAME", help="The identity.")
@click.argument("filter", required=False)
@click.option("--xpath", help="The same for a filter of documents.")
@json_option
@click.pass_context
def check(
    ctx: click.Context,
    *,
    file: Path,
    name: str,
    filter: str | None,
    xpath: str | None,
    as_json: bool,
) -> None:
    """Say what is left of a subscription to FILTER for an identity, or all that it may do.

    Status 0: all of FILTER or a part of it; 1: nothing of it.
    """
    from sapwood.broker.access.identities import read_identities
    from sapwood.language import parse_filter
    from sapwood.language.xpath import parse_xpath
    from sapwood.session.grants import fields_of

    if filter is not None and xpath is not None:
        raise click.UsageError("a FILTER or --xpath, not both")
    found = read_identities(file)
    grant = found.grant_of(name)
    asked: Interest | None = None
    if filter is not None:
        asked = parse_filter(filter)
    elif xpath is not None:
        asked = parse_xpath(xpath)
    if asked is not None:
        said = _left(grant, found.quota_of(name), asked)
        if as_json:
            print_json(said)
        else:
            click.echo("\n".join(f"{key}: {value}" for key, value in said.items()))
        ctx.exit(ExitStatus.REJECTED if "refused" in said else ExitStatus.DONE)
    members: dict[str, object] = {"everything": True} if grant is None else fields_of(grant)
    quota = found.quota_of(name)
    members["quota"] = {} if quota is None else quota.said()
    if as_json:
        print_json(members)
    else:
        print_table((name, ""), [(key.replace("_", " "), _cell(of)) for key, of in members.items()])
    ctx.exit(ExitStatus.DONE)


def _left(grant: Grant | None, quota: Quota | None, asked: Interest) -> dict[str, str]:
    """The rest of a filter under a grant: all, a part, or none and why; and its cost."""
    from sapwood.matching.costs import cost_of, nanoseconds
    from sapwood.session.quotas import Account, Quota, Size, Usage, conjunctions_of

    left = asked
    if grant is not None:
        try:
            left = grant.narrowed(asked)
        except InputError as error:
            return {"refused": str(error)}
    cost = cost_of(left)
    alone = Account(Usage(quota or Quota()))
    refusal = alone.refusal("", Size(conjunctions_of(left), cost))
    if refusal is not None:
        return {"refused": refusal}
    said = {"granted" if left == asked else "narrowed to": str(left)}
    return said | {"cost": f"{nanoseconds(cost.ns)} for each publication"}


def _cell(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {bound:,g}" for name, bound in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return (
        {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)
    )
