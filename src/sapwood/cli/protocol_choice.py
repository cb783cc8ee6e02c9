"""The protocol of a command's options, with the paths of documents that a DTD gives."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sapwood.errors import InputError

if TYPE_CHECKING:
    from sapwood.routing.strategies import Protocol


def chosen_protocol(name: str, dtd: str | None) -> Protocol:
    """The protocol of that name, with the paths of the DTD in a file.

    Raises `UnknownNameError` for the name, `InputError` for a file that holds no DTD.
    """
    from sapwood.covering.merging import PathUniverse
    from sapwood.routing.protocols import protocol
    from sapwood.xml.dtd import read_dtd

    if dtd is None:
        return protocol(name)
    return protocol(name, PathUniverse(read_dtd(Path(dtd).read_bytes()).paths))


def kept_protocol(name: str, dtd: str | None) -> Protocol:
    """The protocol of a broker with a store: it recovers, unless the name decides otherwise.

    That is, unless it names an upkeep, or something that does not go with `recover`. Errors as
    `chosen_protocol`.
    """
    from sapwood.routing.protocols import UPKEEPS

    words = {part.partition(":")[0] for part in name.split("+")}
    if words.isdisjoint(UPKEEPS):
        with suppress(InputError):
            return chosen_protocol(f"recover+{name}", dtd)
    return chosen_protocol(name, dtd)
