"""Files of an operator: the broker's TOML, identities, declared schemas, and its environment."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final

from sapwood.broker.access.identities import read_identities
from sapwood.broker.configuration.options import OPTIONS
from sapwood.broker.configuration.sources import read_configuration
from sapwood.broker.configuration.template import template
from sapwood.cli.broker_settings import settings_of
from sapwood.files.declared import read_declared
from sapwood_lab.fuzz.driver import Target
from sapwood_lab.fuzz.mutation import mutated, mutated_text, pick

_VALUES: Final = (
    *("1", "0", "-1", "1.5", "true", "false", '"a"', '""', "[]", '["a", "b"]'),
    *(
        '"127.0.0.1:7000"',
        '"udp://127.0.0.1:1"',
        "1e400",
        "nan",
        "9" * 30,
        '"covering"',
        '"mesh:2+covering"',
        '"10MiB"',
    ),
    *(
        '"1h"',
        '"fsync"',
        '"interval:10"',
        "1979-05-27",
        "{}",
        "{ a = 1 }",
        '"\\ud800"',
        "0x1F",
        "'''",
    ),
    *(
        '"columnar"',
        '"*"',
        '"http://x"',
        '"phi:8"',
        "[1, 2]",
        '[["a"]]',
        '"/dev/null"',
        '"\\u0000"',
    ),
)

_IDENTITIES: Final = (
    b'[[identity]]\nname = "ann"\npassword = "$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$aGFzaA"\n',
    b'[[identity]]\nname = "b"\nrole = "broker"\ntoken = "sha256:' + b"0" * 64 + b'"\n',
    b'[[identity]]\nname = "c"\ncertificates = ["CN=c"]\n',
    b'[[grant]]\nto = ["c*"]\nsubscribe = "a = 1"\n',
    b'[[grant]]\nto = ["a", "*"]\npublish = "a > 1"\nsubscribe_xpath = ["//a"]\noperate = true\n',
    b'[[quota]]\nto = ["a-*"]\nsubscriptions = 10\nconjunctions = 5\nbytes_per_s = 1e6\n',
    b'[[issuer]]\nname = "login"\nkey = "missing.pem"\naudience = "sapwood"\n',
)
_SCHEMAS: Final = (
    b'[[records]]\nname = "f"\n[records.attributes]\na = "text"\nb = "number?"\n"c.d" = "any"\n',
    b'[[records]]\nname = "g"\n[records.attributes]\ns = ["x", "y", 1, true]\nz = "boolean"\n',
    b'[[documents]]\nname = "n"\ndtd = "missing.dtd"\nroot = "a"\n',
)


class _Folder:
    """A folder for the file that is read, made when it is first needed."""

    def __init__(self, name: str, read: Callable[[Path], Any]) -> None:
        self._name = name
        self._read = read
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def read(self, data: bytes) -> Any:
        """The content of a file with these bytes."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="sapwood-fuzz-")
        path = Path(self._folder.name) / self._name
        path.write_bytes(data)
        return repr(self._read(path))

    def close(self) -> None:
        """Remove it."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def _lines(random: Random) -> bytes:
    text = "".join(
        pick(random, _TEMPLATE)
        if random.random() < 0.6
        else f"{pick(random, _NAMES)} = {pick(random, _VALUES)}\n"
        for _ in range(1 + int(random.random() * 3))
    )
    if random.random() < 0.3:
        text = mutated_text(random, text, _VALUES)
    data = text.encode(errors="replace")
    return mutated(random, data, _IDENTITIES) if random.random() < 0.2 else data


_NAMES: Final = tuple(OPTIONS)
_TEMPLATE: Final = tuple(
    line.removeprefix("#").strip() + "\n"
    for line in template().splitlines()
    if line.removeprefix("#").strip().partition(" = ")[0] in OPTIONS
)


def _settings(path: Path) -> Any:
    """The given settings, of which settings of a broker are made without an error."""
    told = read_configuration({}, {}, path)
    settings_of(told)
    return told.given


def _environment(random: Random) -> dict[str, str]:
    names = [option.variable for option in OPTIONS.values()]
    return {
        pick(random, names): mutated_text(random, pick(random, _VALUES).strip('"'), _VALUES)
        for _ in range(1 + int(random.random() * 3))
    }


def _toml(seeds: tuple[bytes, ...]) -> Callable[[Random], bytes]:
    def draw(random: Random) -> bytes:
        data = pick(random, seeds)
        if random.random() < 0.5:
            data += pick(random, seeds)
        return mutated(random, data, seeds) if random.random() < 0.7 else data

    return draw


def targets() -> list[Target]:
    """The targets of this module."""
    configuration = _Folder("sapwood.toml", _settings)
    identities = _Folder("identities.toml", read_identities)
    schema = _Folder("schema.toml", read_declared)
    return [
        Target("configuration", 4, _lines, configuration.read, close=configuration.close),
        Target("environment", 8, _environment, lambda told: repr(read_configuration({}, told))),
        Target("identities", 4, _toml(_IDENTITIES), identities.read, close=identities.close),
        Target("declared schemas", 4, _toml(_SCHEMAS), schema.read, close=schema.close),
    ]
