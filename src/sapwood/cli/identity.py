"""`sapwood identity`: entries of a file of identities, and a look at one."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path
from typing import Final

import click

from sapwood.cli.groups import CommandGroup
from sapwood.cli.output import ExitStatus, json_option, print_json, print_table, say
from sapwood.errors import InputError

TOKEN_BYTES: Final = 32
"""Random bytes of a token."""


@click.group(cls=CommandGroup)
def command() -> None:
    """Make and check entries of a file of identities: who may connect.

    `sapwood broker --identities FILE` takes the file. It names who may connect, one [[identity]]
    each, with the hash of a password or token, or the names in a certificate.
    """


@command.command
@click.argument("name")
@click.pass_context
def password(ctx: click.Context, *, name: str) -> None:
    """Ask for a password, and print the entry of NAME that knows it.

    Where standard input is no terminal, its first line is the password.
    """
    from sapwood.broker.access.passwords import hashed, library
    from sapwood.wire.names import check_name

    check_name("identity", name)
    library()  # before a person types a password for nothing
    if sys.stdin.isatty():
        given = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    else:
        given = sys.stdin.readline().rstrip("\r\n")
    if not given:
        raise InputError("an empty password protects nothing")
    sys.stdout.write(f'[[identity]]\nname = "{name}"\npassword = "{hashed(given)}"\n')
    ctx.exit(ExitStatus.DONE)


@command.command
@click.argument("name")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--broker", "is_broker", is_flag=True, help="NAME is a broker, not a client.")
@click.pass_context
def token(ctx: click.Context, *, name: str, file: Path, is_broker: bool) -> None:
    """Write a new random token to FILE (which only its owner can read), and print NAME's entry."""
    from sapwood.broker.access.identities import token_digest
    from sapwood.wire.names import check_name

    check_name("identity", name)
    text = secrets.token_urlsafe(TOKEN_BYTES)
    try:
        file.touch(mode=0o600, exist_ok=False)
        file.write_text(f"{text}\n")
    except FileExistsError:
        raise InputError(f"{file} is there already; a new token goes to a new file") from None
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror}") from error
    role = 'role = "broker"\n' if is_broker else ""
    digest = token_digest(text).hex()
    sys.stdout.write(f'[[identity]]\nname = "{name}"\n{role}token = "sha256:{digest}"\n')
    ctx.exit(ExitStatus.DONE)


@command.command
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
@click.pass_context
def check(ctx: click.Context, *, file: Path, as_json: bool) -> None:
    """Read a file of identities as a broker would, and print who may connect, and by what."""
    from sapwood.broker.access.identities import read_identities
    from sapwood.wire.greetings import Role

    found = read_identities(file)
    rows, quotas = [], list[dict[str, float]]()
    for one in found.by_name.values():
        shown = [kind for kind in ("password", "token") if getattr(one, kind) is not None]
        rows.append((one.name, one.role.value, ", ".join((*shown, *one.certificates))))
        quota = found.quota_of(one.name) if one.role is Role.CLIENT else None
        quotas.append({} if quota is None else quota.said())
    if as_json:
        print_json(
            {
                "identities": [
                    dict(zip(("name", "role", "by"), row, strict=True)) | {"quota": quota}
                    for row, quota in zip(rows, quotas, strict=True)
                ],
                "issuers": list(found.issuers),
            }
        )
    else:
        if not found.quotas:
            print_table(("identity", "role", "known by"), rows)
        else:
            bounds = [", ".join(f"{name} {of:,g}" for name, of in one.items()) for one in quotas]
            cells = [(*row, one or "none") for row, one in zip(rows, bounds, strict=True)]
            print_table(("identity", "role", "known by", "quota"), cells)
        for issuer in found.issuers:
            say(f"and clients whose tokens {issuer} has signed")
    ctx.exit(ExitStatus.DONE)
