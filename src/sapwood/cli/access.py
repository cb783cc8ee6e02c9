"""Options by which a command proves its identity, and checks that of its peer.

Secrets are read from files or from the environment: a command line is visible to all users of the
machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from sapwood.cli.broker_settings import first_line

if TYPE_CHECKING:
    from sapwood.session.settings import ConnectionSettings, TlsFiles

F = TypeVar("F", bound=Callable[..., Any])

_META: Final = "sapwood.access"

SECRETS: Final[Mapping[str, str]] = MappingProxyType(
    {"password_file": "SAPWOOD_PASSWORD", "token_file": "SAPWOOD_TOKEN"}
)
"""Options for files with a secret, and the variables that may hold it in their place."""

_FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)


def _kept(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
    assert parameter.name is not None
    ctx.meta.setdefault(_META, {})[parameter.name] = value


def _option(name: str, text: str, **more: Any) -> Callable[[F], F]:
    return click.option(name, help=text, callback=_kept, expose_value=False, **more)


_CREDENTIALS: Final = (
    _option(
        "--token-file",
        "File with the token that says who connects.  [else: SAPWOOD_TOKEN]",
        type=_FILE,
        metavar="FILE",
    ),
)

_TLS: Final = (
    _option(
        "--tls-ca",
        "Certificates (PEM) of authorities that may have signed the other side's.  "
        "[default: what the system trusts]",
        type=_FILE,
        metavar="FILE",
        envvar="SAPWOOD_TLS_CA",
    ),
    _option(
        "--tls-cert",
        "The own certificate (PEM).",
        type=_FILE,
        metavar="FILE",
        envvar="SAPWOOD_TLS_CERT",
    ),
    _option("--tls-key", "Its key.", type=_FILE, metavar="FILE", envvar="SAPWOOD_TLS_KEY"),
)

_USER: Final = (
    _option("--user", "Who connects, with a password.", metavar="NAME", envvar="SAPWOOD_USER"),
    _option(
        "--password-file",
        "File with the password of --user.  [else: SAPWOOD_PASSWORD]",
        type=_FILE,
        metavar="FILE",
    ),
)


def client_access(command: F) -> F:
    """The options of a command that connects to a broker as a client."""
    return _with(command, (*_USER, *_CREDENTIALS, *_TLS))


def connection_settings() -> ConnectionSettings:
    """Settings of a connection by the options of the command that runs.

    Raises `InputError` for options that do not go together, or an empty file.
    """
    from sapwood.session.settings import ConnectionSettings, with_access

    return with_access(
        ConnectionSettings(),
        _given("user"),
        _secret("password_file"),
        _secret("token_file"),
        tls_files(),
    )


def tls_files() -> TlsFiles:
    """The files of TLS that the options name."""
    from sapwood.session.settings import TlsFiles

    paths = (_given(name) for name in ("tls_ca", "tls_cert", "tls_key"))
    return TlsFiles(*(None if path is None else str(path) for path in paths))


def _with(command: F, options: tuple[Callable[[F], F], ...]) -> F:
    for option in reversed(options):
        command = option(command)
    return command


def _given(name: str) -> Any:
    return click.get_current_context().meta.get(_META, {}).get(name)


def _secret(name: str) -> str | None:
    """The first line of the file of an option, or what its variable holds."""
    path: Path | None = _given(name)
    if path is None:
        return os.environ.get(SECRETS[name])
    return first_line(f"--{name.replace('_', '-')}", path)
