"""The commented file of a broker's configuration: every option, its purpose, its default."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sapwood.broker.configuration.kinds import Place, written
from sapwood.broker.configuration.options import GROUPS, PREFIX, Changes, Option
from sapwood.broker.configuration.sources import Configuration

WIDTH: Final = 100

_HEAD: Final = f"""\
# The configuration of a broker: sapwood broker --config FILE
#
# Each option has one name: keep_bytes here, --keep-bytes on the command line, and in the
# environment {PREFIX}KEEP_BYTES. The command line counts before the environment, that before
# this file, and this file before the default. An option without # is set; with # stands its
# default, or for those that are off, an example. Paths that are relative stand beside this file.
#
# What is wrong here: sapwood broker --config FILE --check
# Read again on SIGHUP: each option says whether it changes then. [{Changes.NOW.value}],
# [{Changes.NEW.value}] (those that are up stay as they are), or [{Changes.RESTART.value}].
"""


def template(configuration: Configuration | None = None) -> str:
    """The file: given options are set, all others are comments.

    Raises `InputError` for a given text that TOML cannot represent.
    """
    told = Configuration() if configuration is None else configuration
    return "\n".join((_HEAD, *_groups(told)))


def _groups(told: Configuration) -> Iterator[str]:
    for title, options in GROUPS.items():
        yield f"# {title} {'-' * (WIDTH - len(title) - 3)}\n"
        for option in options:
            yield _entry(option, told)


def _entry(option: Option, told: Configuration) -> str:
    given = told.given.get(option.name)
    text = option.text
    if option.default is None:
        text += f" Default: {option.without}."
    lines = textwrap.wrap(
        f"{text} [{option.changes.value}]",
        WIDTH,
        initial_indent="# ",
        subsequent_indent="# ",
        break_on_hyphens=False,
        break_long_words=False,
    )
    if given is None:
        shown = option.example if option.default is None else option.default
        assert shown is not None, f"{option.name} has neither a default nor an example"
        lines.append(f"#{option.name} = {written(shown)}")
    else:
        value = given.value
        if isinstance(option.kind, Place):
            value = str(Path(str(value)).absolute())
        lines.append(f"{option.name} = {written(value)}")
    return "\n".join((*lines, ""))
