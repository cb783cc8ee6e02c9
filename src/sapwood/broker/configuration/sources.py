"""Reads a broker's configuration: command line before environment, file and default.

All errors are found in one pass, each with its place. `Configuration.located` adds the place to
errors that are found later, when options are put together.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from sapwood.broker.configuration.kinds import Kind, Place, Value, near
from sapwood.broker.configuration.lines import lines_of
from sapwood.broker.configuration.options import OPTIONS, PREFIX, TOKEN_VARIABLE
from sapwood.errors import ConfigurationError, InputError
from sapwood.limits import CONFIGURATION_BYTES_MAX

FILE_VARIABLE: Final = f"{PREFIX}CONFIG"
"""The variable that names the file."""

COMMAND_LINE: Final = "the command line"
_DEFAULT: Final = "default"
_FLAG: Final = re.compile(r"--[a-z][a-z-]*[a-z]")
_LINE: Final = re.compile(r"^(.*) \(at (?:line (\d+), column (\d+)|end of document)\)$", re.DOTALL)
_SERVICE: Final = re.compile(r"_(?:SERVICE_HOST|SERVICE_PORT\w*|PORT|PORT_\w+)$")
"""The endings of variables that Kubernetes sets for a service of the name sapwood-broker."""


@dataclass(frozen=True, slots=True)
class Given:
    """The value of an option and the place where it was given; `called` is its spelling there."""

    value: Value
    place: str
    called: str


@dataclass(frozen=True, slots=True)
class Configuration:
    """The configuration of a broker: the options that are given, and defaults of all others.

    `file` is the one that was read, `token` the one in the environment, `warnings` name variables
    without a meaning.
    """

    given: Mapping[str, Given] = field(default_factory=dict)
    file: Path | None = None
    token: str | None = None
    warnings: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Any:
        """The value of an option; `None` where it has none."""
        found = self.given.get(name)
        return OPTIONS[name].default if found is None else found.value

    def place(self, name: str) -> str:
        """The place that the value of an option comes from."""
        found = self.given.get(name)
        return _DEFAULT if found is None else found.place

    def differences(self, other: Configuration) -> list[str]:
        """The options with other values in `other`, in the order of the table."""
        return [
            name
            for name in OPTIONS
            if self[name] != other[name] or (name == "token_file" and self.token != other.token)
        ]

    def taking(self, other: Configuration, names: list[str]) -> Configuration:
        """The same configuration, with the named options as in `other`."""
        given = {name: one for name, one in self.given.items() if name not in names}
        given |= {name: one for name, one in other.given.items() if name in names}
        token = other.token if "token_file" in names else self.token
        return replace(self, given=given, token=token)

    def located(self, error: InputError) -> InputError:
        """An error about options, in the words of the place where the first of them was given."""
        if isinstance(error, ConfigurationError):
            return error
        text = str(error)
        named = (self._given(flag) for flag in _FLAG.findall(text))
        first = next((one for one in named if one is not None), None)
        if first is None or first.place == COMMAND_LINE:
            return error

        def spelled(flag: re.Match[str]) -> str:
            one = self._given(flag.group())
            return flag.group() if one is None or one.place == COMMAND_LINE else one.called

        return ConfigurationError((f"{first.place}: {_FLAG.sub(spelled, text)}",))

    def _given(self, flag: str) -> Given | None:
        """An option that is given, by its name on the command line."""
        return self.given.get(flag.removeprefix("--").replace("-", "_"))


def read_configuration(
    command_line: Mapping[str, Value],
    environment: Mapping[str, str],
    path: Path | None = None,
) -> Configuration:
    """The configuration of command line, environment and file.

    `path` is that of the file; without it the environment may name one. Raises
    `ConfigurationError`, which has all errors.
    """
    problems: list[str] = []
    if path is None and environment.get(FILE_VARIABLE):
        path = Path(environment[FILE_VARIABLE])
    given = {} if path is None else _of_file(path, problems)
    token = environment.get(TOKEN_VARIABLE) or None
    of_environment, warnings = _of_environment(environment, problems)
    given |= of_environment
    given |= {name: Given(value, COMMAND_LINE, name) for name, value in command_line.items()}
    if token is not None and "token_file" in given:
        if "token_file" in command_line or "token_file" in of_environment:
            token = None  # a variable of the broker's own counts more than one of all commands
        else:
            del given["token_file"]
    if problems:
        raise ConfigurationError(tuple(problems))
    return Configuration(given, path, token, tuple(warnings))


def _of_environment(
    environment: Mapping[str, str], problems: list[str]
) -> tuple[dict[str, Given], list[str]]:
    """The options in variables; an empty variable is not set."""
    found: dict[str, Given] = {}
    for option in OPTIONS.values():
        for variable in option.variables:
            text = environment.get(variable)
            if text:
                try:
                    value = option.kind.of_text(text)
                except InputError as error:
                    problems.append(f"{variable}: {error}")
                else:
                    found[option.name] = Given(value, "the environment", variable)
                break
    known = {FILE_VARIABLE, *(option.variable for option in OPTIONS.values())}
    warnings = [
        f"{name}: is no option of a broker{near(name, known)}"
        for name in sorted(environment)
        if name.startswith(PREFIX) and name not in known and not _SERVICE.search(name)
    ]
    return found, warnings


def _of_file(path: Path, problems: list[str]) -> dict[str, Given]:
    text = _text_of(path)
    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise ConfigurationError((f"{path}: values are nested too deeply",)) from None
    except ValueError as error:
        raise ConfigurationError((_no_toml(path, text, error),)) from error
    lines = lines_of(text)
    found: dict[str, Given] = {}
    for name, value in values.items():
        place = f"{path}, line {lines[name]}" if name in lines else str(path)
        option = OPTIONS.get(name)
        if option is None:
            problems.append(f"{place}: {_unknown(name, value)}")
            continue
        try:
            found[name] = Given(_beside(option.kind, option.kind.of_toml(value), path), place, name)
        except InputError as error:
            problems.append(f"{place}: {name}: {error}")
    return found


def _beside(kind: Kind, value: Value, path: Path) -> Value:
    return kind.beside(str(value), path) if isinstance(kind, Place) else value


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(CONFIGURATION_BYTES_MAX + 1)
        text = content.decode()
    except OSError as error:
        remedy = f"`sapwood broker --write-config {path}` writes one"
        reason = f"{path}: cannot be read: {error.strerror or error}; {remedy}"
        raise ConfigurationError((reason,)) from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigurationError((f"{path}, line {line}: is not UTF-8",)) from error
    if len(content) > CONFIGURATION_BYTES_MAX:
        raise ConfigurationError((f"{path}: has more than {CONFIGURATION_BYTES_MAX} bytes",))
    return text.replace("\r\n", "\n")


def _no_toml(path: Path, text: str, error: ValueError) -> str:
    """The error of `tomllib`, with the place first."""
    found = _LINE.match(str(error))
    if found is None:
        return f"{path}: is no TOML: {error}"
    reason, line, column = found.groups()
    if line is None:
        return f"{path}, line {text.count(chr(10)) + 1}: is no TOML: {reason}, at its end"
    return (
        f"{path}, line {line}, column {column}: is no TOML: {reason}; a line is `name = value`, "
        "with texts in quotation marks"
    )


def _unknown(name: str, value: object) -> str:
    """The error for an unknown option, with a hint at a similar one."""
    shown = name if len(name) <= 60 else f"{name[:59]}…"
    if isinstance(value, dict) or (
        isinstance(value, list) and any(isinstance(one, dict) for one in value)
    ):
        return f"[{shown}]: there are no tables here; options stand by themselves, `name = value`"
    asked = name.lstrip("-").replace("-", "_").lower()
    hint = f"; did you mean {asked}?" if asked in OPTIONS else near(asked, OPTIONS)
    return f"{shown} is no option of a broker{hint or '; `sapwood broker --write-config` has all'}"
